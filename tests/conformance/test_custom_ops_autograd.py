"""Conformance cases 69 to 85: `register_autograd`."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close
from tests.conformance.custom_ops import T3, P, bare, cube, op, save_input, sq


def test_069_without_formula_backward_raises():
    out = bare()(P())
    assert out.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula"):
        out.sum().backward()


def test_070_a_formula():
    runs = []

    def setup(ctx, inputs, output):
        runs.append(output.requires_grad)
        ctx.save_for_backward(*inputs)

    made = bare()
    made.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g, setup_context=setup)
    leaf = P()
    with pb.no_grad():
        made(leaf)
    assert runs == []
    out = made(leaf)
    out.sum().backward()
    assert_close(leaf.grad, [2.0] * 3)
    assert runs == [False]
    assert out.grad_fn is None or out.grad_fn.name() == f"GeneratedBackwardFor_case_{made.name}_defaultBackward"


def many(x: np.ndarray, n: int = 2, y: np.ndarray | None = None, s: str = "q") -> np.ndarray:
    return x * n


def with_gradients(count):
    seen = {}

    def setup(ctx, inputs, output):
        seen.update(inputs=inputs, needs=ctx.needs_input_grad)

    def backward(ctx, g):
        seen["later"] = ctx.needs_input_grad
        return (2 * g, None, None, None, None)[:count] if count != 1 else 2 * g

    made = op(many)
    made.register_autograd(backward, setup_context=setup)
    return made, seen


def test_071_formulas_see_every_argument():
    made, seen = with_gradients(4)
    made(P()).sum().backward()
    assert len(seen["inputs"]) == 4 and seen["inputs"][1:] == (2, None, "q")
    assert seen["needs"] == seen["later"] == (True, False, False, False)


def test_072_the_number_of_gradients():
    for count in (1, 4):
        leaf = P()
        with_gradients(count)[0](leaf).sum().backward()
        assert_close(leaf.grad, [2.0] * 3)
    with pytest.raises(RuntimeError, match=r"expected 1 or 4, got 3"):
        with_gradients(3)[0](P()).sum().backward()
    with pytest.raises(RuntimeError, match=r"got 5"):
        with_gradients(5)[0](P()).sum().backward()


def test_073_074_gradients_for_what_is_no_tensor():
    made = op(many)
    made.register_autograd(lambda ctx, g: (g, None, g, None))
    with pytest.raises(RuntimeError, match="was not passed"):
        made(P()).sum().backward()
    made.register_autograd(lambda ctx, g: (g, 1.0, None, None))
    with pytest.raises(RuntimeError, match="different than None at position"):
        made(P(), 3).sum().backward()


def test_075_keyword_only_arguments():
    def f(x: np.ndarray, *, n: int = 2, s: str = "a") -> np.ndarray:
        return x * n

    seen = []
    made = op(f)
    made.register_autograd(
        lambda ctx, g: g * ctx.n,
        setup_context=lambda ctx, inputs, keywords, output: (seen.append(keywords), setattr(ctx, "n", keywords["n"])),
    )
    leaf = P()
    made(leaf).sum().backward()
    assert seen == [{"n": 2, "s": "a"}]
    assert_close(leaf.grad, [2.0] * 3)


def test_076_setup_context_has_the_right_arity():
    with pytest.raises(TypeError):
        bare().register_autograd(lambda ctx, g: g, setup_context=lambda ctx, inputs: None)


def listed(xs: list[np.ndarray], y: np.ndarray, n: int) -> np.ndarray:
    return xs[0] * 2 + xs[1] * 3 + y * n


@pytest.mark.parametrize("container", [list, tuple])
def test_077_gradients_of_a_list(container):
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return container((2 * g, 3 * g)), g * 5, None

    made = op(listed)
    made.register_autograd(backward)
    x, y = P(), P()
    made([x, T3()], y, 5).sum().backward()
    assert seen == [([True, False], True, False)]
    assert_close(x.grad, [2.0] * 3)
    assert_close(y.grad, [5.0] * 3)
    made.register_autograd(lambda ctx, g: ([g], g, None))
    with pytest.raises(RuntimeError, match="same structure"):
        made([x, T3()], y, 5).sum().backward()


def test_078_a_list_with_none_in_it_is_tracked():
    def f(xs: list[pb.Tensor | None]) -> pb.Tensor:
        return xs[0] * 2

    made = op(f)
    made.register_autograd(lambda ctx, g: [2 * g, None])
    leaf = P()
    out = made([leaf, None])
    assert out.requires_grad
    out.sum().backward()
    assert_close(leaf.grad, [2.0] * 3)


@pytest.mark.parametrize("materialize", [True, False])
def test_079_outputs_that_nobody_used(materialize):
    def f(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x * 2, x * 3

    seen = []

    def backward(ctx, g, h):
        seen.append(h)
        return 2 * g

    made = op(f)
    made.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(materialize))
    made(P())[0].sum().backward()
    if materialize:
        assert_close(seen[0], [0.0] * 3)
    else:
        assert seen == [None]


def test_080_gradients_of_integers_and_numbers():
    def f(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        return x * 2, np.arange(3), 5

    seen = []

    def backward(ctx, *gs):
        seen.extend(gs)
        return 2 * gs[0]

    made = op(f)
    made.register_autograd(backward)
    first, second, third = made(P())
    assert first.requires_grad and not second.requires_grad and third == 5
    first.sum().backward()
    assert seen[1].dtype == np.int64 and seen[1].tolist() == [0, 0, 0] and seen[2] is None


@pytest.mark.parametrize(
    "gradient, expected",
    [
        (lambda: pb.ones((2, 3)), [2.0] * 3),
        (lambda: pb.ones(1), RuntimeError),
        (lambda: pb.ones(3, dtype=pb.float64), [1.0] * 3),
        (lambda: pb.ones(3, dtype=pb.complex128), RuntimeError),
    ],
)
def test_081_gradients_are_validated(gradient, expected):
    made = bare()
    made.register_autograd(lambda ctx, g: gradient())
    leaf = pb.ones(3, dtype=pb.float32).requires_grad_()
    if expected is RuntimeError:
        with pytest.raises(RuntimeError):
            made(leaf).sum().backward()
    else:
        made(leaf).sum().backward()
        assert_close(leaf.grad, np.array(expected, np.float32))
        assert leaf.grad.dtype == pb.float32


def test_082_a_graph_keeps_the_formula_it_was_recorded_with():
    made, leaf = sq(), P()
    out = made(leaf)
    made.register_autograd(lambda ctx, g: 100 * g)
    out.sum().backward()
    assert_close(leaf.grad, [2.0] * 3)
    leaf.grad = None
    made(leaf).sum().backward()
    assert_close(leaf.grad, [100.0] * 3)


def test_083_operators_that_have_no_derivative():
    def writes(x: np.ndarray) -> None: ...

    with pytest.raises(RuntimeError, match="non-functional"):
        op(writes, ("x",)).register_autograd(lambda ctx: None)
    with pytest.raises(RuntimeError, match="non-functional"):
        op(writes).register_autograd(lambda ctx: None)


def test_084_second_order_and_saved_intermediates():
    made = cube()
    x = pb.tensor(2.0, requires_grad=True)
    (first,) = pb.autograd.grad(made(x), x, create_graph=True)
    (second,) = pb.autograd.grad(first, x)
    assert_close(second, 12.0)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(3 * inputs[0] ** 2)

    made.register_autograd(lambda ctx, g: ctx.saved_tensors[0] * g, setup_context=setup)
    (first,) = pb.autograd.grad(made(x) * x, x, create_graph=True)
    assert_close(first, 32.0)
    with pytest.raises(RuntimeError, match="saved intermediate"):
        pb.autograd.grad(first, x)
    for transform in (pb.func.hessian, lambda f: pb.func.jacfwd(pb.func.jacfwd(f))):
        with pytest.raises(RuntimeError, match="saved intermediate"):
            transform(lambda v: made(v) * v)(x.detach())
    assert_close(pb.func.jvp(made, (x.detach(),), (pb.tensor(1.0),))[1], 12.0)


def test_084_a_constant_may_be_saved():
    def setup(ctx, inputs, output):
        two = pb.tensor(2.0)
        ctx.save_for_backward(inputs[0], two)
        ctx.mark_saved_constant(two)

    made = bare()
    made.register_autograd(lambda ctx, g: ctx.saved_tensors[0] * ctx.saved_tensors[1] * g, setup_context=setup)
    x = pb.tensor(3.0, requires_grad=True)
    (first,) = pb.autograd.grad(made(x) * x, x, create_graph=True)
    assert_close(pb.autograd.grad(first, x)[0], 18.0)


@pytest.mark.parametrize("detach", [True, False])
def test_085_formulas_that_leave_pullback(detach):
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        if detach:
            return pb.asarray(2 * x.detach().numpy() * g.detach().numpy())
        return pb.asarray(2 * x.numpy()) * g

    made = bare()
    made.register_autograd(backward, setup_context=save_input)
    x = P()
    if detach:
        made(x).sum().backward()
        assert_close(x.grad, [2.0] * 3)
    with pytest.raises(NotImplementedError, match="second custom op"):
        pb.autograd.grad(made(x).sum(), x, create_graph=True)


def test_a_linear_formula_has_no_history_and_is_fine():
    made = bare()
    made.register_autograd(lambda ctx, g: 2 * g)
    x = P()
    (gradient,) = pb.autograd.grad(made(x).sum(), x, create_graph=True)
    assert not gradient.requires_grad
