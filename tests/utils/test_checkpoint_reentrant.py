"""`checkpoint(use_reentrant=True)`: the same gradients as without, and a refusal where the design cannot give them."""

import warnings

import pytest

import pullback as pb
from pullback.testing import assert_close
from pullback.utils.checkpoint import checkpoint, checkpoint_sequential, set_checkpoint_debug_enabled


def leaf(values=(0.5, 1.0)):
    return pb.tensor(list(values), requires_grad=True)


weight = pb.tensor([2.0, 3.0], requires_grad=True)
FUNCTIONS = {
    "sin": pb.sin,
    "captured leaf": lambda x: pb.sin(x) * weight,
    "tuple": lambda x: (x * 2, pb.exp(x), 5),
    "view": lambda x: x.reshape((2, 1)),
    "in place": lambda x: (x * 1).mul_(x),
    "random": lambda x: x * pb.random.normal(size=2),
    "nested": lambda x: checkpoint(pb.sin, x * 2, use_reentrant=True) * 3,
    "other inside": lambda x: checkpoint(pb.sin, x * 2) * 3,
    "unused": lambda x: (pb.exp(x), x.detach() * 2),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_gradients_are_those_of_the_plain_call(function):
    found = []
    for call in (function, lambda x: checkpoint(function, x, use_reentrant=True)):
        weight.grad, x = None, leaf()
        pb.random.manual_seed(3)
        out = call(x)
        outs = [each for each in (out if isinstance(out, tuple) else (out,)) if isinstance(each, pb.Tensor)]
        sum(each.sum() for each in outs).backward()
        found.append((x.grad, weight.grad, *outs))
    for plain, again in zip(*found, strict=True):
        assert (plain is None) == (again is None)
        if plain is not None:
            assert_close(again, plain)


def test_several_arguments_and_those_that_are_no_tensors():
    x, y = leaf(), leaf((3.0, 4.0))
    checkpoint(lambda x, n, y, c: x * n + y * c, x, 2.0, y, pb.tensor([1.0, 5.0]), use_reentrant=True).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and y.grad.tolist() == [1.0, 5.0]


def test_arguments_without_gradient_are_warned_about():
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        out = checkpoint(lambda x: x * weight, pb.ones(2), use_reentrant=True)
    assert not out.requires_grad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint(pb.sin, leaf(), use_reentrant=True)


def test_what_the_design_can_not_do_is_refused():
    x = leaf()
    out = checkpoint(pb.sin, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad\(\) or passing an `inputs` parameter"):
        pb.autograd.grad(out, x, retain_graph=True)
    with pytest.raises(RuntimeError, match="inputs"):
        out.backward(inputs=[x], retain_graph=True)
    out.backward(create_graph=True)
    with pytest.raises(pb.AutogradError, match="ONCE_DIFFERENTIABLE"):
        x.grad.sum().backward()
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        checkpoint(lambda x: x.detach(), x, use_reentrant=True).sum().backward()
    with pytest.raises(ValueError, match="Unexpected keyword arguments: axis"):
        checkpoint(pb.sum, x, axis=0, use_reentrant=True)
    for option in ({"debug": True}, {"context_fn": lambda: (None, None)}):
        with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
            checkpoint(pb.sin, x, use_reentrant=True, **option)


def test_it_runs_in_sequence_without_recording_and_compiled():
    x = leaf()
    checkpoint_sequential([pb.sin, pb.cos, pb.exp], 2, x, use_reentrant=True).sum().backward()
    y = leaf()
    pb.exp(pb.cos(pb.sin(y))).sum().backward()
    assert_close(x.grad, y.grad)
    with pb.no_grad():
        assert not checkpoint(pb.sin, x, use_reentrant=True).requires_grad
    z = leaf()
    pb.compile(lambda z: checkpoint(pb.sin, z, use_reentrant=True).sum(), backend="numpy")(z).backward()
    assert_close(z.grad, pb.cos(z))


@pytest.mark.parametrize("outer", [None, False, True])
@pytest.mark.parametrize("debug", [False, True])
def test_the_debug_switch_decides_whatever_the_argument_says(outer, debug):
    calls = []

    def unsteady(x):
        calls.append(x)
        return pb.sin(x) if len(calls) == 1 else pb.sin(x.sum())

    with set_checkpoint_debug_enabled(outer):
        out = checkpoint(unsteady, leaf(), debug=debug).sum()
    with pytest.raises(pb.utils.checkpoint.CheckpointError) as caught:
        out.backward()
    is_on = debug if outer is None else outer
    assert ("debug=True lists the operators" in str(caught.value)) is not is_on
