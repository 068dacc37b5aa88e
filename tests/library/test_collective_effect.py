"""An operator with the effect "collective" keeps its place in graphs, and may be batched and repeated."""

import numpy as np
import pytest

import pullback as pb


@pytest.fixture
def noted():
    seen = []

    @pb.library.custom_op("tests_effect::noted", mutates_args=())
    def noted(x: np.ndarray) -> np.ndarray:
        seen.append(x.shape)
        return 2 * x

    noted.register_fake(lambda x: x.new_empty(x.shape))
    noted.register_autograd(lambda ctx, g: noted(g))
    noted.register_vmap(lambda info, dims, x: (noted(x), 0))
    noted.register_effect("collective")
    yield noted, seen
    noted._destroy()


def test_another_word_is_refused(noted):
    with pytest.raises(ValueError, match="collective"):
        noted[0].register_effect("sometimes")


def test_it_is_batched_by_its_own_rule_in_one_call(noted):
    operator, seen = noted
    assert pb.func.vmap(operator)(pb.ones((3, 2))).tolist() == [[2, 2]] * 3
    assert seen == [(3, 2)]


def test_compiled_calls_neither_drop_nor_merge_it(noted):
    operator, seen = noted

    def f(x):
        operator(x * 3)
        return operator(x) + operator(x)

    assert pb.compile(f)(pb.ones(2)).tolist() == [4, 4]
    assert len(seen) == 3


def test_a_checkpoint_repeats_it(noted):
    operator, seen = noted
    x = pb.ones(2, requires_grad=True)
    pb.checkpoint(lambda z: pb.sin(operator(z)), x, use_reentrant=False).sum().backward()
    assert len(seen) == 3
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos([2.0, 2.0]))


def test_second_derivatives_of_a_compiled_call_repeat_it(noted):
    operator, _ = noted
    x = pb.tensor([0.5], requires_grad=True)
    (g,) = pb.autograd.grad(pb.compile(lambda z: pb.sin(operator(z)))(x).sum(), x, create_graph=True)
    (h,) = pb.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.item(), -4 * np.sin(1.0))
