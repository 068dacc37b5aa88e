"""Messages of errors: people who know torch find its sentence in ours."""

import copy
import pickle
import warnings
from pathlib import Path

import pytest

import pullback as pb
from pullback._phrases import BY_CODE, torch_phrase


def second_pass():
    loss = (pb.ones(2, requires_grad=True) ** 2).sum()
    loss.backward()
    loss.backward()


def overwritten():
    y = pb.ones(2, requires_grad=True) * 1
    loss = (y * y).sum()
    with pb.autograd.overwrite_policy("raise"):
        y.add_(1)
    loss.backward()


LEAF = pb.ones(2, requires_grad=True)


def leaf():
    return LEAF


class Passed(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g


class Wrong(Passed):
    @staticmethod
    def backward(ctx, g):
        return pb.ones(7)


def not_a_number():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pb.autograd.detect_anomaly():
            pb.sqrt(pb.zeros(1, requires_grad=True) * 0).sum().backward()


MISTAKES = {
    "a leaf Variable that requires grad is being used in an in-place operation": (
        lambda: pb.ones(2, requires_grad=True).add_(1)
    ),
    "grad can be implicitly created only for scalar outputs": lambda: (pb.ones(2, requires_grad=True) * 2).backward(),
    "does not require grad and does not have a grad_fn": lambda: pb.ones(1).backward(),
    "Trying to backward through the graph a second time": second_pass,
    "needed for gradient computation has been modified by an inplace operation": overwritten,
    "support the deepcopy protocol": lambda: copy.deepcopy(pb.ones(2, requires_grad=True) * 2),
    "Can't call numpy() on Tensor that requires grad": lambda: pb.ones(2, requires_grad=True).numpy(),
    "appears to not have been used in the graph": lambda: pb.autograd.grad(
        pb.ones((), requires_grad=True) * 2, pb.ones(2, requires_grad=True)
    ),
    "If `is_grads_batched=True`, we interpret the first": (
        lambda: pb.autograd.grad(leaf() * 2, LEAF, pb.ones(2), is_grads_batched=True)
    ),
    "Specify retain_graph=True": second_pass,
    "Trying to set a forward gradient that has a different size": (
        lambda: pb.func.jvp(pb.sin, (pb.ones(2),), (pb.ones(3),))
    ),
    "does not have vmap support": lambda: pb.func.vmap(Passed.apply)(pb.ones(2)),
    "returned nan values in its 0th output.": not_a_number,
    "expected shape compatible with": lambda: Wrong.apply(leaf()).sum().backward(),
    "should return a single Tensor": lambda: pb.autograd.functional.hessian(lambda x: (x.sum(), x.sum()), pb.ones(2)),
    "should contain a single element": lambda: pb.autograd.functional.hvp(lambda x: x, pb.ones(2), pb.ones(2)),
    "The given v should contain a single Tensor.": (
        lambda: pb.autograd.functional.vjp(pb.sin, pb.ones(2), (pb.ones(2), pb.ones(2)))
    ),
    "The output of the user-provided function is independent of input 0": (
        lambda: pb.autograd.functional.vjp(lambda x: pb.ones(()), pb.ones(2), strict=True)
    ),
    "output of function f should be a tuple": lambda: pb.func.grad(pb.sum, has_aux=True)(pb.ones(2)),
    "Expected f to be a function that has non-empty output": lambda: pb.func.vjp(lambda x: None, pb.ones(2)),
    "to return only tensors": lambda: pb.func.vjp(lambda x: 1.0, pb.ones(2)),
    "Expected pytree structure": lambda: pb.func.vjp(pb.sin, pb.ones(2))[1]((pb.ones(2), pb.ones(2))),
    "but only 1 positional inputs": lambda: pb.func.grad(pb.sum, argnums=2)(pb.ones(2)),
    "accessing `data` under vmap transform": lambda: pb.func.vmap(lambda x: x.data)(pb.ones(2)),
}


@pytest.mark.parametrize("sentence, mistake", MISTAKES.items(), ids=MISTAKES.keys())
def test_a_mistake_is_also_told_in_the_words_of_torch(sentence, mistake):
    with pytest.raises(RuntimeError) as caught:
        mistake()
    assert sentence in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_every_code_with_words_of_torch_is_raised_somewhere():
    source = "".join(path.read_text() for path in Path(pb.__file__).parent.rglob("*.py") if path.name != "errors.py")
    assert [code for code in BY_CODE if f'"{code}"' not in source] == []


def test_torchs_sentence_never_hides_the_error_itself():
    assert torch_phrase("", "nn.cross_entropy: targets of shape (3,) do not fit scores of shape ()") == ""
    assert torch_phrase("LEAF_INPLACE", "") == BY_CODE["LEAF_INPLACE"]
