"""Shapes without a fake: what an operator was seen to return."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import add_observer, remove_observer
from pullback.func import vmap
from pullback.library import OpCheckError, custom_op, opcheck, primitive

pytestmark = pytest.mark.filterwarnings("ignore::pullback.errors.PerformanceWarning")
_count = itertools.count()


@pytest.fixture(params=["short", "long"], autouse=True)
def way(request):
    """Plain calls have a short way, which observers keep them off."""

    def observer(*event):
        pass

    if request.param == "long":
        add_observer(observer)
    yield request.param
    if request.param == "long":
        remove_observer(observer)


def op(function, **options):
    return custom_op(f"recorded::op{next(_count)}", function, mutates_args=options.pop("mutates_args", ()), **options)


def halves(x: np.ndarray) -> np.ndarray:
    return x.reshape(2, -1).astype(np.float32)


def where(x: np.ndarray) -> np.ndarray:
    return np.flatnonzero(x)


def test_a_run_tells_what_the_next_one_returns():
    made = op(halves)
    with pytest.raises(RuntimeError, match="no fake impl"):
        made.specs(pb.ones(4))
    made(pb.ones(4))
    assert made.specs(pb.zeros(4)) == pb.ShapeDtype((2, 2), pb.float32)
    for other in (pb.ones(6), pb.ones(4, dtype=pb.float32), pb.ones((4, 1))):
        with pytest.raises(RuntimeError, match="no fake impl"):
            made.specs(other)
    made(pb.ones(6))
    assert made.specs(pb.zeros(6)) == pb.ShapeDtype((2, 3), pb.float32)
    assert made.specs(pb.zeros(4)) == pb.ShapeDtype((2, 2), pb.float32)


def test_recorded_calls_tell_it_too():
    made = op(halves)
    made(pb.ones(4, requires_grad=True))
    assert made.specs(pb.zeros(4)) == pb.ShapeDtype((2, 2), pb.float32)


def test_shapes_that_depend_on_data_are_noticed():
    made = op(where)
    made(pb.tensor([1.0, 0.0, 2.0]))
    assert made.specs(pb.ones(3)) == pb.ShapeDtype(2, pb.int64)
    made(pb.tensor([1.0, 0.0, 0.0]))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"no fake impl(.|\n)*different shapes"):
            made.specs(pb.ones(3))
        made(pb.tensor([1.0, 0.0, 2.0]))


def test_shapes_that_depend_on_data_of_two_arguments_are_noticed():
    def shorter(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x[x > y.max()]

    made = op(shorter)
    x = pb.tensor([1.0, 2.0, 3.0])
    made(x, pb.zeros(2))
    made(x, pb.full(5, 2.5))
    made(x, pb.full(2, 2.5))
    with pytest.raises(RuntimeError, match="different shapes"):
        made.specs(x, pb.zeros(2))


def test_constants_and_their_types_count():
    def repeated(x: np.ndarray, times: int, label: str = "") -> np.ndarray:
        return np.repeat(x, times)

    made = op(repeated)
    made(pb.ones(2), 3)
    assert made.specs(pb.ones(2), 3) == pb.ShapeDtype(6)
    for args in ((2,), (3, "x")):
        with pytest.raises(RuntimeError, match="no fake impl"):
            made.specs(pb.ones(2), *args)

    scaled = primitive(lambda x, a: x * a, name=f"recorded::op{next(_count)}")
    scaled(pb.ones(2, dtype=pb.int64), 2)
    assert scaled.specs(pb.ones(2, dtype=pb.int64), 2).dtype == pb.int64
    with pytest.raises(RuntimeError, match="no fake impl"):
        scaled.specs(pb.ones(2, dtype=pb.int64), 2.0)


def test_numbers_are_data():
    def total(x: np.ndarray) -> float:
        return x.sum()

    made = op(total)
    made(pb.ones(2))
    with pytest.raises(RuntimeError, match="no fake impl"):
        made.specs(pb.ones(2))


def test_several_results_and_lists():
    def parts(x: np.ndarray) -> tuple[np.ndarray, list[pb.Tensor]]:
        return x[:1].copy(), [pb.zeros(2), pb.zeros(3)]

    made = op(parts)
    made(pb.ones(2))
    assert made.specs(pb.ones(2)) == (pb.ShapeDtype(1), [pb.ShapeDtype(2), pb.ShapeDtype(3)])


def test_a_fake_comes_first_and_another_kernel_starts_anew():
    made = op(halves)
    made(pb.ones(4))
    made.register_kernel("cpu", lambda x: x.copy())
    with pytest.raises(RuntimeError, match="no fake impl"):
        made.specs(pb.ones(4))
    made(pb.ones(4))
    assert made.specs(pb.ones(4)) == pb.ShapeDtype(4)
    made.register_fake(lambda x: pb.empty(7))
    assert made.specs(pb.ones(4)) == pb.ShapeDtype(7)


@pytest.mark.parametrize("case", ["nondeterministic", "effect"])
def test_operators_whose_runs_tell_nothing(case):
    made = op(halves, tags="nondeterministic" if case == "nondeterministic" else ())
    if case == "effect":
        made.register_effect("ordered")
    made(pb.ones(4))
    with pytest.raises(RuntimeError, match="no fake impl"):
        made.specs(pb.ones(4))


def test_a_check_wants_a_fake():
    made = op(halves)
    made(pb.ones(4))
    with pytest.raises(OpCheckError, match="no fake impl"):
        opcheck(made, (pb.ones(4),), test_utils="test_fake")


def test_with_a_core_signature_one_run_tells_all_sizes():
    def outer(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (x[..., :, None] * y[..., None, :]).astype(np.float32)

    made = op(outer)
    made.register_vmap("(n),(m)->(n,m)")
    with pytest.raises(RuntimeError, match="no fake impl"):
        made.specs(pb.ones(2), pb.ones(3))
    made(pb.ones(1), pb.ones(1))
    assert made.specs(pb.ones((5, 2)), pb.ones(3)) == pb.ShapeDtype((5, 2, 3), pb.float32)
    with pytest.raises(RuntimeError, match="no fake impl"):
        made.specs(pb.ones(2, dtype=pb.float32), pb.ones(3))


def test_a_batch_of_length_0_does_not_run_the_kernel_again():
    runs = []

    def inverse(x: np.ndarray) -> np.ndarray:
        runs.append(x.shape)
        return np.linalg.inv(x)

    made = op(inverse)
    made(pb.eye(3))
    assert vmap(made)(pb.empty((0, 3, 3))).shape == (0, 3, 3)
    assert len(runs) == 1


def test_an_operator_in_the_fake_of_another():
    inner = op(halves)
    outer = op(halves)
    outer.register_fake(lambda x: inner(x) * 2)
    with pytest.raises(RuntimeError, match="no fake impl"):
        outer.specs(pb.ones(4))
    inner.register_fake(lambda x: pb.empty((2, x.size // 2), dtype=pb.float32))
    assert outer.specs(pb.ones(4)) == pb.ShapeDtype((2, 2), pb.float32)


def test_records_do_not_grow_for_ever():
    made = op(halves)
    for length in range(2, 300, 2):
        made(pb.ones(length))
    assert sum(map(len, made.seen_outputs._runs.values())) <= 64
    assert made.specs(pb.ones(298)) == pb.ShapeDtype((2, 149), pb.float32)
