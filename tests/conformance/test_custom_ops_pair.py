"""Conformance cases 50 to 68: registering, and the pair of save and backward."""

import collections
import types

import numpy as np
import pytest

import pullback as pb
from pullback import library
from pullback.library import define
from pullback.testing import assert_close
from tests.conformance.custom_ops import T3, P, name, op, sq


def paired(fn, save=None, backward=None, **options):
    """An operator with both halves of the pair, which save and return nothing of use unless given."""
    made = op(fn)
    made.impl_save_for_backward(save or (lambda inputs, output: {}))
    if backward is not None:
        made.impl_backward(backward, **options)
    return made


def unary(x: np.ndarray) -> np.ndarray:
    return x * 2


def test_050_what_registrations_take():
    with pytest.raises(ValueError, match="unexpected type for op"):
        library.register_autograd(3, lambda ctx, g: g)
    with pytest.raises(ValueError, match="unexpected type for op"):
        sq()
        library.register_fake(pb.ops.case, lambda x: x)
    with pytest.raises(LookupError):
        library.register_autograd("case::never_defined", lambda ctx, g: g)
    with pytest.raises(TypeError):
        sq().register_autograd(3)


def test_051_a_defined_operator_without_formula_raises_at_the_call():
    made = define(name(), "(Tensor x) -> Tensor")
    made.register_kernel("cpu", lambda x: x * 2)
    with pytest.raises(RuntimeError, match="Autograd has not been implemented"):
        made(P())
    several = define(name(), "(Tensor[] xs) -> Tensor")
    several.register_kernel("cpu", lambda xs: xs[0] + xs[1])
    with pytest.raises(RuntimeError, match="Autograd has not been implemented"):
        several([T3(), P()])
    with pb.no_grad():
        assert made(P()).tolist() == several([T3(), P()]).tolist() == [2.0] * 3
    with pytest.raises(NotImplementedError, match="cpu impl registered"):
        define(name(), "(Tensor x) -> Tensor")(T3())


def test_052_one_half_is_not_enough():
    made = op(unary)
    made.impl_backward(lambda ctx, saved, g: {"x": g})
    for x in (T3(), P()):
        with pytest.raises(RuntimeError, match=r"unable to find a 'save_for_backward'.*test_custom_ops_pair.py:\d+"):
            made(x)
    made = op(unary)
    made.impl_save_for_backward(lambda inputs, output: None)
    with pytest.raises(RuntimeError, match="unable to find a 'backward'"):
        made(T3())


def test_053_a_half_is_registered_once():
    made = paired(unary, None, lambda ctx, saved, g: {"x": g})
    with pytest.raises(RuntimeError, match=r"already has a backward impl registered.*test_custom_ops_pair.py:\d+"):
        made.impl_backward(lambda ctx, saved, g: {"x": g})
    with pytest.raises(RuntimeError, match="already has a save_for_backward impl registered"):
        made.impl_save_for_backward(lambda inputs, output: None)


def test_054_inputs_are_a_named_tuple():
    def f(x: np.ndarray, n: int = 2, *, s: str = "q") -> np.ndarray:
        return x * n

    seen = []
    leaf = P()
    made = paired(f, lambda inputs, output: seen.append(inputs), lambda ctx, saved, g: {"x": 2 * g})
    made(leaf).sum().backward()
    assert seen[0]._fields == ("x", "n", "s") and (seen[0].n, seen[0].s) == (2, "q") and seen[0].x is leaf
    assert type(seen[0]).__name__ == f"{made.name}_args"
    assert_close(leaf.grad, [2.0] * 3)


def test_055_save_runs_when_a_call_is_recorded():
    count = []
    made = paired(unary, lambda inputs, output: count.append(pb.is_grad_enabled()), lambda ctx, saved, g: {"x": g})
    made(T3())
    with pb.no_grad():
        made(P())
    assert count == []
    made(P())
    assert count == [False]


def test_056_the_tree_arrives_as_it_was():
    leaf = P()
    seen = []

    def backward(ctx, saved, g):
        seen.append(saved)
        return {"x": g * saved["a"][1]}

    made = paired(unary, lambda inputs, output: {"a": [inputs.x, 3, "s", None], "o": output}, backward)
    out = made(leaf)
    assert out.grad_fn.name() == f"{made.name}_customopBackward"
    out.sum().backward(retain_graph=True)
    saved = seen[0]
    assert saved["a"][0] is leaf and saved["a"][1:] == [3, "s", None]
    assert_close(saved["o"], [2.0] * 3)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        out.sum().backward()


@pytest.mark.parametrize("given", [True, (True, False), [1, 0], [True]])
def test_057_output_differentiability_is_a_list_of_bools(given):
    def f(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x + 1, x + 2

    with pytest.raises(RuntimeError, match="output_differentiability"):
        op(f).impl_backward(output_differentiability=given)


def test_058_an_output_without_gradient():
    def f(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x * 2, x * 3

    seen = []

    def backward(ctx, saved, g, h):
        seen.append(h)
        return {"x": 2 * g}

    made = paired(f, None, backward, output_differentiability=[True, False])
    leaf = P()
    first, second = made(leaf)
    assert first.requires_grad and not second.requires_grad
    first.sum().backward()
    assert_close(seen[0], [0.0] * 3)
    assert_close(leaf.grad, [2.0] * 3)


def test_059_a_list_of_outputs_without_gradient():
    def f(x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        return [x + 1, x + 2], x * 3

    made = paired(f, None, lambda ctx, saved, gs, g: {"x": 3 * g}, output_differentiability=[False, True])
    (first, second), third = made(P())
    assert not first.requires_grad and not second.requires_grad and third.requires_grad


def test_060_a_number_has_no_gradient():
    def f(x: np.ndarray) -> tuple[np.ndarray, int]:
        return x + 1, 2

    made = paired(f, None, lambda ctx, saved, g, _: {"x": g}, output_differentiability=[True, True])
    with pytest.raises(RuntimeError, match="is not a Tensor"):
        made(T3())


@pytest.mark.parametrize("returned", [lambda g: g, lambda g: None, lambda g: types.MappingProxyType({"x": g})])
def test_061_backward_returns_a_dict(returned):
    made = paired(unary, None, lambda ctx, saved, g: returned(g))
    with pytest.raises(RuntimeError, match="to be a dict"):
        made(P()).sum().backward()


def test_061_a_subclass_of_dict_is_fine():
    leaf = P()
    paired(unary, None, lambda ctx, saved, g: collections.OrderedDict(x=g))(leaf).sum().backward()
    assert_close(leaf.grad, [1.0] * 3)


def optional(x: np.ndarray, n: int, y: np.ndarray | None = None) -> np.ndarray:
    return x * n


@pytest.mark.parametrize("keys", [("x", "y", "z"), ("y",), ("x", "n", "y"), ("x",)])
def test_062_the_keys_are_the_tensor_arguments(keys):
    made = paired(optional, None, lambda ctx, saved, g: dict.fromkeys(keys))
    with pytest.raises(RuntimeError, match="to have keys"):
        made(P(), 2).sum().backward()


def test_063_an_optional_argument_that_was_none():
    leaf = P()
    with pytest.raises(RuntimeError, match="expected None as the gradient"):
        paired(optional, None, lambda ctx, saved, g: {"x": g, "y": g})(leaf, 2).sum().backward()
    paired(optional, None, lambda ctx, saved, g: {"x": g, "y": None})(leaf, 2).sum().backward()
    assert_close(leaf.grad, [1.0] * 3)


@pytest.mark.parametrize("gradient", [2.0, np.ones(3), (1,)])
def test_064_a_gradient_is_a_tensor(gradient):
    with pytest.raises(RuntimeError, match="either None or a Tensor"):
        paired(unary, None, lambda ctx, saved, g: {"x": gradient})(P()).sum().backward()


def three(xs: list[np.ndarray]) -> np.ndarray:
    return xs[0] + xs[1] + xs[2]


@pytest.mark.parametrize(
    "gradients, message",
    [
        (lambda g: g, "list of gradients"),
        (lambda g: None, "list of gradients"),
        (lambda g: [g, g], "3 gradients but got 2"),
        (lambda g: [g, 2.0, g], "None or Tensor"),
    ],
)
def test_065_gradients_of_a_list(gradients, message):
    with pytest.raises(RuntimeError, match=message):
        paired(three, None, lambda ctx, saved, g: {"xs": gradients(g)})([P(), P(), P()]).sum().backward()


def test_065_a_tuple_is_fine():
    leaf = P()
    paired(three, None, lambda ctx, saved, g: {"xs": (g, None, 2 * g)})([leaf, T3(), leaf]).sum().backward()
    assert_close(leaf.grad, [3.0] * 3)


def test_066_gradients_find_their_arguments():
    def f(x: np.ndarray, n: list[int], y: np.ndarray) -> np.ndarray:
        return x * n[0] + y * n[2]

    made = paired(f, lambda inputs, output: inputs.n, lambda ctx, n, g: {"x": n[0] * g, "y": n[2] * g})
    x, y = P(), P()
    made(x, [2, 3, 4], y).sum().backward()
    assert_close(x.grad, [2.0] * 3)
    assert_close(y.grad, [4.0] * 3)


@pytest.mark.parametrize(
    "schema, message",
    [
        ("(Tensor(a!) x) -> Tensor", "non-functional"),
        ("(Tensor(a) x) -> Tensor(a)", "returns views"),
        ("(Tensor x) -> ()", "no returns"),
        ("(Tensor x) -> Tensor?", "operator with return not in"),
        ("(Tensor x) -> int[]", "operator with return not in"),
    ],
)
def test_067_operators_that_the_pair_does_not_take(schema, message):
    made = define(name(), schema)
    with pytest.raises(RuntimeError, match=message):
        made.impl_save_for_backward(lambda inputs, output: None)
    with pytest.raises(RuntimeError, match=message):
        made.impl_backward(lambda ctx, saved, g: {})


def test_068_the_pair_and_other_formulas_exclude_each_other():
    made = paired(unary, None, lambda ctx, saved, g: {"x": g})
    with pytest.raises(RuntimeError, match="already has an Autograd kernel"):
        made.register_autograd(lambda ctx, g: g)
    made = op(unary)
    made.register_autograd(lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="already has an Autograd kernel"):
        made.impl_backward(lambda ctx, saved, g: {"x": g})


def test_the_pair_serves_every_transform():
    def cube(x: np.ndarray) -> np.ndarray:
        return x**3

    made = paired(cube, lambda inputs, output: inputs.x, lambda ctx, x, g: {"x": 3 * x * x * g})
    x = pb.tensor([1.0, 2.0])
    assert_close(pb.func.jacrev(made)(x), np.diag([3.0, 12.0]))
    assert_close(pb.func.jacfwd(made)(x), np.diag([3.0, 12.0]))
    assert pb.autograd.gradgradcheck(made, (x.requires_grad_(),))
