"""Random small programs on the arrays of every library mean what they mean on NumPy's, however they are run.

And fast calls (eager/elsewhere.py) mean what general ones do.
"""

import functools

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import Op, registry
from pullback.eager.record import apply_generally
from tests.array_programs import WAYS, program, results
from tests.foreign.kinds import assert_equal, host


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(4))
def test_a_program_means_the_same_on_every_library(kind, seed, way):
    if kind.name == "dask" and way == "compiled":
        pytest.skip("there is no compiled code for dask")
    rng = np.random.default_rng(seed)
    shape = [(3,), (2, 3), (1, 4), (2, 1, 3)][seed % 4]
    arrays = rng.normal(size=shape), rng.normal(size=(3,))
    function = program(seed)
    wanted = results(function, *map(pb.tensor, arrays), way)
    got = results(function, *map(kind.tensor, arrays), way)
    for one, other in zip(got, wanted, strict=True):
        assert one.device.kind is not None
        assert one.dtype == other.dtype
        assert_equal(one, other, 1e-7)


MADE_BY_FUNCTIONS = {
    "avg_pool": lambda x: pb.nn.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "adaptive_avg_pool": lambda x: pb.nn.adaptive_avg_pool2d(x, 3),
    "unfold": lambda x: pb.nn.unfold(x, 2),
    "interpolate": lambda x: pb.nn.interpolate(x, scale_factor=2, mode="bilinear"),
    "quantile": lambda x: pb.quantile(x, [0.3, 0.6], axis=1),
    "percentile": lambda x: pb.percentile(x, 40, axis=0),
}


@pytest.mark.parametrize("name", MADE_BY_FUNCTIONS)
def test_weights_that_a_function_makes_lie_where_its_operand_does(kind, name):
    values = np.random.default_rng(0).normal(size=(2, 2, 6, 6))
    loss = lambda x: (MADE_BY_FUNCTIONS[name](x) ** 2).sum()
    found = [pb.func.grad(loss)(make(values)) for make in (kind.tensor, pb.tensor)]
    assert found[0].device.kind is not None
    assert_equal(found[0], found[1], 1e-9)


def test_many_rows_by_number_give_what_numpy_gives(kind):
    values, rows = np.random.default_rng(0).normal(size=(50, 40)), np.arange(900) * 7 % 50
    found = [pb.func.grad(lambda x: (pb.sin(x[rows]) * 2).sum())(make(values)) for make in (kind.tensor, pb.tensor)]
    assert_equal(found[0], found[1], 1e-12)


def recorded(kind):
    x, w = kind.tensor([[1.0, 2.0, 3.0]], requires_grad=True), kind.tensor([[0.5], [1.0], [2.0]], requires_grad=True)
    y = pb.tanh(x @ w + x.sum()) ** 2 - pb.concatenate([x, 2 * x], 1).mean()
    nodes, found = [y.grad_fn], []
    for node in nodes:
        saved = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
        shown = {name: host(value) if isinstance(value, pb.Tensor) else value for name, value in saved.items()}
        metadata = [(each.shape, each.device, each.is_tensor_subclass) for each in node._input_metadata]
        found.append((node.name(), str(shown), str(metadata), node.next_functions and len(node.next_functions)))
        nodes.extend(behind for behind, _ in node.next_functions if behind is not None)
    seen = []
    y.register_hook(lambda g: seen.append(host(g)))
    y.backward(retain_graph=True)
    return found, [host(v) for v in (y, x.grad, w.grad, *seen, *pb.autograd.grad(y, (x, w)))]


def test_fast_calls_record_what_general_ones_do(kind, monkeypatch):
    fast = recorded(kind)
    monkeypatch.setattr(Op, "make_elsewhere", lambda op, _: functools.partial(apply_generally, op))
    for op in registry.values():
        monkeypatch.setattr(op, "elsewhere", None)
    general = recorded(kind)
    assert fast[0] == general[0]
    for one, other in zip(fast[1], general[1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_gradients_are_in_memory_of_their_own(kind):
    x, y = kind.tensor([1.0, 2.0], requires_grad=True), kind.tensor([3.0, 4.0], requires_grad=True)
    seed = kind.tensor([1.0, 1.0])
    first, second = pb.autograd.grad(x + y, (x, y), seed, retain_graph=True)
    first.mul_(5.0)
    assert_equal(second, [1.0, 1.0])
    assert_equal(seed, [1.0, 1.0])
    z = x * y
    (gradient,) = pb.autograd.grad(z, x, seed, retain_graph=True)
    gradient.mul_(7.0)
    assert_equal(y, [3.0, 4.0])
    assert_equal(pb.autograd.grad(z, x, seed)[0], [3.0, 4.0])


@pytest.mark.parametrize("made", ["clone", "zeros_like", "new_zeros", "zeros", "full_like"])
def test_memory_made_inside_of_vmap_lies_where_its_operands_lie(kind, made):
    def written(v):
        target = {
            "clone": lambda: v.clone(), "zeros_like": lambda: pb.zeros_like(v), "new_zeros": lambda: v.new_zeros(2),
            "zeros": lambda: pb.zeros(2, device=v.device), "full_like": lambda: pb.full_like(v, 0.0),
        }[made]()  # fmt: skip
        target[0] = v[1] * 3
        target[1:] = 2.0
        return target

    x = kind.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    assert_equal(pb.vmap(written)(x), [[3.0, 2.0], [9.0, 2.0], [15.0, 2.0]])
    assert_equal(pb.vmap(pb.grad(lambda v: (written(v) ** 2).sum()))(x), [[0.0, 18.0], [0.0, 54.0], [0.0, 90.0]])
    assert pb.vmap(written)(x).device == x.device
