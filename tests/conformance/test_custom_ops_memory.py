"""Conformance cases 30 to 49: results, aliasing, mutation, the registry."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import pullback as pb
from pullback.library import AliasError, BindError, KernelResultError, custom_op
from pullback.testing import assert_close
from tests.conformance.custom_ops import T3, P, name, op, save_input


def kernel(result, returns=pb.Tensor):
    """An operator whose kernel returns `result(x)`."""

    def f(x: pb.Tensor):
        return result(x)

    f.__annotations__["return"] = returns
    return op(f)


@pytest.mark.parametrize("result", [None, 3.0, (1,), np.ones(3)])
def test_030_a_tensor_must_be_a_tensor(result):
    with pytest.raises(KernelResultError, match=r"test_custom_ops_memory.py|custom_ops.py:\d+"):
        kernel(lambda x: result)(T3())


@pytest.mark.parametrize("count", [1, 3])
def test_031_the_number_of_results(count):
    with pytest.raises(KernelResultError, match=f"{count} values"):
        kernel(lambda x: (x + 1,) * count, tuple[pb.Tensor, pb.Tensor])(T3())


def test_032_lists_for_tuples_and_tuples_for_lists():
    assert type(kernel(lambda x: [x + 1, x + 2], tuple[pb.Tensor, pb.Tensor])(T3())) is tuple
    assert type(kernel(lambda x: (x + 1,), list[pb.Tensor])(T3())) is list


def test_033_nothing_means_none():
    with pytest.raises(KernelResultError):
        kernel(lambda x: 5, None)(T3())


@pytest.mark.parametrize("result", [lambda x: x, lambda x: x.reshape(-1), lambda x: x.detach()])
def test_034_a_result_may_not_alias_an_argument(result):
    with pytest.raises(AliasError, match="may not alias"):
        kernel(result)(T3())


def test_035_nor_through_numpy():
    with pytest.raises(AliasError, match="may not alias"):
        kernel(lambda x: pb.asarray(x.numpy()))(T3())


def test_036_nor_another_result():
    two = tuple[pb.Tensor, pb.Tensor]

    def halves(x):
        y = x + 1
        return y[:1], y[1:]

    def twice(x):
        y = x + 1
        return y, y

    for made in (kernel(twice, two), kernel(halves, two), kernel(lambda x: list(twice(x)), list[pb.Tensor])):
        with pytest.raises(AliasError, match="may not alias"):
            made(T3())


def test_fresh_empty_arrays_are_fine_and_a_returned_one_is_not():
    two = tuple[pb.Tensor, pb.Tensor]
    assert len(kernel(lambda x: (pb.zeros(0), pb.zeros(0)), two)(pb.zeros(0))) == 2
    with pytest.raises(AliasError):
        kernel(lambda x: x)(pb.zeros(0))


def double_(x: np.ndarray) -> None:
    x *= 2


def test_037_a_write_is_counted_once_whatever_happens():
    def nothing(x: np.ndarray) -> None: ...

    def fails(x: np.ndarray) -> None:
        raise ValueError("no")

    for fn in (double_, nothing):
        x = T3()
        op(fn, ("x",))(x)
        assert x._version == 1
    x = T3()
    with pytest.raises(ValueError, match="no"):
        op(fails, ("x",))(x)
    assert x._version == 1
    with pb.no_grad():
        op(double_, ("x",))(x)
    assert x._version == 2


def test_038_a_write_to_a_view_counts_for_its_base():
    base = T3()
    op(double_, ("x",))(base[:2])
    assert base._version == 1 and base.tolist() == [2.0, 2.0, 1.0]


@pb.autograd.overwrite_policy("raise")
def test_039_a_saved_value_that_was_written_is_noticed():
    q = P() * 1
    out = q * q
    with pb.no_grad():
        op(double_, ("x",))(q)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_040_undeclared_arguments_are_read_only():
    def writes(x: np.ndarray) -> np.ndarray:
        x += 1
        return x.copy()

    def writes_through_a_tensor(x: pb.Tensor) -> pb.Tensor:
        x.numpy()[0] = 5
        return x.clone()

    def writes_a_tensor(x: pb.Tensor) -> pb.Tensor:
        x.add_(1)
        return x.clone()

    for fn, error in [(writes, ValueError), (writes_through_a_tensor, ValueError), (writes_a_tensor, RuntimeError)]:
        x = T3()
        with pytest.raises(error, match="read-only") as caught:
            op(fn)(x)
        assert "gradient" not in str(caught.value)
        assert x.tolist() == [1.0] * 3 and x.numpy().flags.writeable


def test_041_a_leaf_is_not_written():
    leaf = P()
    with pytest.raises(RuntimeError, match=r"a leaf\s+Variable that requires grad"):
        op(double_, ("x",))(leaf)
    assert leaf.tolist() == [1.0] * 3


def test_042_what_was_written_has_no_derivative():
    q = P() * 1
    op(double_, ("x",))(q)
    assert q.tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="no autograd formula"):
        q.sum().backward()


def test_043_inplace_operators_return_their_argument():
    def add_(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x += y
        return x

    def wrong(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return y

    x = T3()
    made = op(add_, ("x",), tags="inplace")
    assert made(x, T3()) is x and x.tolist() == [2.0] * 3
    assert str(made.schema) == "(Tensor(a0!) x, Tensor y) -> Tensor(a0!)"
    with pytest.raises(RuntimeError, match="must return its first argument"):
        op(wrong, ("x",), tags="inplace")(x, T3())


def test_044_out_operators_do_not_differentiate():
    def twice(x: np.ndarray, *, out: np.ndarray) -> np.ndarray:
        np.multiply(x, 2, out=out)
        return out

    made = op(twice, ("out",), tags="out")
    out = pb.zeros(3)
    with pytest.raises(RuntimeError, match=r"out=... arguments don't support automatic differentiation"):
        made(P(), out=out)
    with pb.no_grad():
        assert made(P(), out=out) is out
    assert out.tolist() == [2.0] * 3 and out._version == 1
    with pytest.raises(RuntimeError):
        made.register_autograd(lambda ctx, g: g)

    def wrong(x: np.ndarray, *, out: np.ndarray) -> np.ndarray:
        return x

    with pytest.raises(RuntimeError, match="keyword-only arguments"):
        op(wrong, ("out",), tags="out")(T3(), out=out)


def test_045_declared_views():
    def flat(x):
        return x.reshape(-1)

    made = op(flat, schema="(Tensor(a) x) -> Tensor(a)")
    made.register_autograd(
        lambda ctx, g: g.reshape(ctx.shape),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "shape", inputs[0].shape),
    )
    leaf = pb.ones((2, 2)).requires_grad_()
    x = leaf * 1
    y = made(x)
    assert y._base is x
    (y * pb.arange(4.0)).sum().backward()
    assert_close(leaf.grad, [[0.0, 1.0], [2.0, 3.0]])
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace") as caught:
        y.mul_(2)
    assert caught.value.code == "VIEW_CUSTOM"

    def copied(x):
        return x.clone()

    with pytest.raises(AliasError, match="declared a view"):
        op(copied, schema="(Tensor(a) x) -> Tensor(a)")(T3())


def test_046_redefining_replaces_the_whole_entry():
    again = name()

    def first(x: np.ndarray) -> np.ndarray:
        return x * 2

    def second(x: np.ndarray) -> np.ndarray:
        return x * 3

    old = custom_op(again, first, mutates_args=())
    old.register_fake(lambda x: pb.empty_like(x))
    old.register_autograd(lambda ctx, g: 2 * g)
    with pytest.warns(UserWarning):
        new = custom_op(again, second, mutates_args=())
    assert new.fake is None and new.reverse is None
    assert old(T3()).tolist() == [2.0] * 3 and new(T3()).tolist() == [3.0] * 3
    assert pb.ops.case.__getattr__(again.partition("::")[2]).default is new


def test_047_a_packet_picks_the_overload():
    def one(x: pb.Tensor) -> int:
        return 1

    def two(x: pb.Tensor, y: pb.Tensor) -> int:
        return 2

    def three(x: pb.Tensor, y: float) -> int:
        return 3

    custom_op("case47::f", one, mutates_args=())
    custom_op("case47::f.tensor", two, mutates_args=())
    custom_op("case47::f.number", three, mutates_args=())
    packet = pb.ops.case47.f
    assert packet.overloads() == ["default", "tensor", "number"]
    assert [packet(T3()), packet(T3(), T3()), packet(T3(), 1.0)] == [1, 2, 3]
    with pytest.raises(BindError, match="failed to match any schema") as caught:
        packet(T3(), "a")
    assert all(f"  {overload}: " in str(caught.value) for overload in packet.overloads())
    for path in ("nothing", "case47.g", "case47.f.other"):
        with pytest.raises(AttributeError):
            eval(f"pb.ops.{path}")


def test_048_operators_are_pickled_by_name():
    made = kernel(lambda x: x + 1)
    assert pickle.loads(pickle.dumps(made)) is made
    assert copy.deepcopy(made) is made
    dumped = pickle.dumps(made)
    made._destroy()
    with pytest.raises(LookupError, match=made.qualname):
        pickle.loads(dumped)


def test_049_an_operator_looks_like_its_function():
    def documented(x: pb.Tensor, n: int = 2) -> pb.Tensor:
        """Something."""

    made = op(documented)
    assert made.__name__ == "documented" and made.__doc__ == "Something."
    assert inspect.signature(made) == inspect.signature(documented)
    assert repr(made) == f"<CustomOpDef({made.qualname})>"
    made.register_autograd(lambda ctx, g: g, setup_context=save_input)
    assert made.locations["reverse"].partition(":")[0] == __file__
