"""Ahead-of-time capture, partition, runtime, cache and errors: conformance cases 143 to 171."""

import inspect
import math
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from pullback._compile import compile

from . import partitions
from .aot import VARIANTS, agree, entries_of, inner, interpret, ops_of, plain, rg

exponentials = lambda x: pb.exp(pb.cos(pb.sin(x))).sum()


def split(f: Any, *args: Any, method: str = "default", **options: Any) -> Any:
    return aot.partition(aot.joint_graph(f, *args), method, **options)


def names(partition: Any) -> list[str]:
    return [saved.name for saved in partition.saved]


def compiled(f: Any, **options: Any) -> Any:
    return compile(f, fallback="raise", **options)


# Partition and memory. -----------------------------------------------------------------------------------------------


def test_143_the_default_saves_what_backward_reads():
    assert names(split(exponentials, rg())) == ["args[0]", "sin", "exp"]


def test_144_the_cheap_chain_is_computed_again():
    found = split(exponentials, rg(), method="min_cut")
    assert names(found) == ["args[0]"]
    assert sorted(node.op for node in found.recomputed) == ["cos", "exp", "sin"]


def softmax_then_sin(x):
    high = pb.amax(x, axis=1, keepdims=True)
    grown = pb.exp(x - high.detach())
    return pb.sin(grown / grown.sum(axis=1, keepdims=True)).sum()


def test_145_of_a_softmax_the_rows_are_saved():
    found = split(softmax_then_sin, rg((8, 16)), method="min_cut")
    assert names(found) == ["args[0]", "amax", "sum"]


def test_146_a_budget_gives_up_what_is_materialised_in_backward():
    f = lambda x, w: (pb.sin(x) @ w).sum()
    args = rg((16, 16)), rg((16, 16))
    assert "sin" in names(split(f, *args, method="min_cut", memory_budget=1.0))
    assert "sin" not in names(split(f, *args, method="min_cut", memory_budget=0.5))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("partitioner", ["default", "min_cut"])
def test_147_an_overwritten_input_is_not_read_again(keep, partitioner):
    def f(x, b):
        o = pb.exp(x * pb.sin(b))
        b.mul_(2)
        return o.sum()

    call = aot.aot_function(f, interpret, partitioner=partitioner, keep_input_mutations=keep)
    for _ in range(2):
        x, b = pb.tensor([0.5], requires_grad=True), pb.tensor([0.5])
        call(x, b).backward()
        assert math.isclose(x.grad.item(), math.exp(0.5 * math.sin(0.5)) * math.sin(0.5))
        assert abs(x.grad.item() - 0.6093) < 1e-4
        assert b.tolist() == [1.0]


def test_148_static_inputs_weigh_nothing_unless_they_are_overwritten():
    scaled = lambda x, w: pb.sin(x * pb.exp(w)).sum()
    args = rg((4, 4)), plain((4, 4))
    assert "args[1]" in names(split(scaled, *args, method="min_cut", static_inputs=(1,)))

    def overwriting(x, w):
        result = scaled(x, w)
        w.mul_(2)
        return result

    found = split(overwriting, *args, method="min_cut", static_inputs=(1,))
    assert "args[1]" not in names(found)  # a copy of it, or something computed from it, which has its size
    assert found.stats["saved_bytes"] == 2 * 4 * 4 * 8


def five_products(x, *ws):
    x = pb.cos(x)
    for w in ws:
        x = pb.cos(x @ w)
    return x.sum()


def test_149_a_budget_between_nothing_and_everything():
    args = [rg((32, 32)) for _ in range(6)]
    assert all(saved.is_input for saved in split(five_products, *args, method="min_cut", memory_budget=0.0).saved)
    for wrong in (-0.1, 1.1):
        with pytest.raises(aot.PartitionError):
            split(five_products, *args, method="min_cut", memory_budget=wrong)
    counts = {}
    for tenths in range(11):
        found = split(five_products, *args, method="min_cut", memory_budget=tenths / 10)
        kept = sum(not saved.is_input for saved in found.saved)
        counts[tenths] = kept, sum(node.op == "matmul" for node in found.recomputed)
        assert found.stats["activation_bytes"] == kept * 32 * 32 * 8
    table = {10: (10, 0), **dict.fromkeys((6, 7, 8, 9), (5, 0)), **{k: (k, 5 - k) for k in range(6)}}
    assert counts == table


def test_150_what_a_checkpoint_computes_is_not_saved():
    g = lambda x: pb.sin(pb.exp(x))
    for method in ("default", "min_cut"):
        found = split(lambda x: pb.checkpoint(g, x).sum(), rg(), method=method)
        assert names(found) == ["args[0]"]
    agree(lambda x: pb.checkpoint(g, x), lambda: (rg(),))

    def dropped(x):
        return pb.checkpoint(lambda y: pb.where(pb.random.rand(64) > 0.5, y * y, 0.0), x)

    call = compiled(dropped)
    for _ in range(2):
        x = rg((64,))
        result = call(x)
        result.sum().backward()
        kept = result._data != 0
        np.testing.assert_array_equal(x.grad._data, np.where(kept, 2 * x._data, 0.0))


def test_151_between_two_checkpoints_the_boundary_is_saved():
    g = lambda x: pb.sin(pb.exp(x))
    f = lambda x: pb.checkpoint(g, pb.checkpoint(g, x)).sum()
    for method in ("default", "min_cut"):
        found = split(f, rg(), method=method)
        assert names(found) == ["args[0]", "sin"]
    agree(f, lambda: (rg(),))


SHAPES_ONLY = {
    "sum": lambda x, w: (x * 2).sum() * 3,
    "mean": lambda x, w: ((x * 2).mean(axis=0) * 3).sum(),
    "sum of a product": lambda x, w: (x @ w).sum(),
    "broadcast": lambda x, w: pb.broadcast_to(w[0], (x * 1).shape).sum() + x.sum(),
    "reshape": lambda x, w: (x * 2).reshape(-1)[1:].sum(),
    "slice": lambda x, w: (x + 1)[1:-1].sum(axis=1).sum(),
    "joined": lambda x, w: pb.concat([x * 2, x[1:] * 3]).sum(),
    "scan": lambda x, w: pb.scan(lambda total, row: (total + row * 2, total), x[0] * 3, x * 2)[1].sum(),
}


@pytest.mark.parametrize("name", SHAPES_ONLY)
def test_152_of_what_only_the_shape_is_needed_no_array_is_saved(name):
    """A size is saved as what it is: a number in the graph of the backward pass."""
    f = SHAPES_ONLY[name]
    call = compiled(f, backend="numpy")
    w = plain((3, 3)) if name != "broadcast" else rg((3, 3))
    for count in (4, 7, 9):
        x, y = (aot.mark_dynamic(rg((count, 3)), 0) for _ in range(2))
        call(x, w).backward()
        f(y, w).backward()
        np.testing.assert_allclose(x.grad._data, y.grad._data, rtol=1e-14)
    assert call.cache_info().misses == 1 and len(call.entries()) == 3
    for entry in call.entries():
        assert entry.meta.num_symints_saved_for_bw == 1
        assert [saved.name for saved in entry.saved if saved.value.type.shape[:1] != (3,)] == []
        assert all(saved.is_input for saved in entry.saved)  # w, whose length does not vary


PROGRAMS = {
    "exponentials": (exponentials, lambda: (rg(),)),
    "softmax": (softmax_then_sin, lambda: (rg((3, 4)),)),
    "products": (five_products, lambda: tuple(rg((3, 3), 0.1 * k) for k in range(6))),
    "two results": (lambda a, b: (pb.sin(a) * b, pb.exp(b)), lambda: (rg(), rg())),
    "views": (lambda x: (x * 3).reshape(-1)[1:] * x.reshape(-1)[:3], lambda: (rg(),)),
    "written": (lambda v: (v.mul_(2), pb.sin(v) * 3)[1], lambda: (inner(),)),
    "a checkpoint": (lambda x: pb.checkpoint(lambda y: pb.sin(pb.exp(y)), x) * x, lambda: (rg(),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("method, budget", [("default", 1.0), ("min_cut", 1.0), ("min_cut", 0.5), ("min_cut", 0.0)])
def test_153_forward_and_backward_compute_what_the_joint_graph_computes(name, method, budget):
    f, make = PROGRAMS[name]
    joint = aot.joint_graph(f, *make())
    found = aot.partition(joint, method, memory_budget=budget)
    assert found.method == method
    partitions.check_split(joint.graph, joint.num_forward_outputs, method, budget)


def test_153_holds_for_the_graphs_of_all_other_cases(joints):
    """Every test of these files is followed by this check; here is what it would not overlook."""
    compiled(lambda x: (pb.sin(x) * x).sum(), backend="numpy")(rg()).backward()
    ((graph, count),) = joints.found
    assert joints.check() == 1

    def spoilt(*args, **options):
        found = partitions.split(*args, **options)
        found.backward.outputs[0] = found.backward.inputs[-1]
        return found

    for method, budget in partitions.WAYS:
        with pytest.raises(AssertionError):
            partitions.check_split(graph, count, method, budget, spoilt)


def run_python(source: str, **environment: str) -> str:
    """What a new process prints."""
    root = Path(__file__).parents[2]
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, check=False, cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), **environment},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_154_equal_graphs_are_split_alike_in_every_process():
    source = """
        import pullback as pb
        x = pb.ones((8, 16), requires_grad=True)
        f = lambda x: (pb.sin(x).exp() / pb.exp(x).sum(axis=1, keepdims=True)).cos().sum()
        joint = pb.aot.joint_graph(f, x)
        for budget in (1.0, 0.4):
            split = pb.aot.partition(joint, "min_cut", memory_budget=budget)
            print(split.forward.to_text(), split.backward.to_text(), split.saved[0].name)
    """
    first, second = (run_python(source, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first == second and "graph backward" in first


# Runtime. ------------------------------------------------------------------------------------------------------------


def test_155_a_second_backward_needs_the_graph_retained():
    call = compiled(lambda x: pb.sin(x).sum())
    for _ in range(2):
        x = rg()
        loss = call(x)
        loss.backward()
        with pytest.raises(pb.autograd.AutogradError) as caught:
            loss.backward()
        assert caught.value.code == "SECOND_BACKWARD"
    x = rg()
    loss = call(x)
    loss.backward(retain_graph=True)
    loss.backward()
    np.testing.assert_allclose(x.grad._data, 2 * np.cos(x._data), rtol=1e-14)


@pytest.mark.parametrize("variant", VARIANTS)
def test_156_saved_tensor_hooks_pack_each_saved_array_once(variant):
    call = VARIANTS[variant](lambda x, y: (pb.sin(x) * pb.exp(y)).sum())
    x, y = rg(), rg(start=0.3)
    packed: list[Any] = []
    unpacked: list[Any] = []

    def pack(tensor):
        packed.append(tensor)
        return tensor.detach() * 2

    def unpack(tensor):
        unpacked.append(tensor)
        return tensor / 2

    for _ in range(3):
        packed.clear(), unpacked.clear()
        with pb.autograd.graph.saved_tensors_hooks(pack, unpack):
            loss = call(x, y)
        (entry,) = call.entries()
        assert len(packed) == len(entry.saved) > 0
        x.grad = y.grad = None
        loss.backward()
        assert len(unpacked) == len(packed)
        np.testing.assert_allclose(x.grad._data, np.cos(x._data) * np.exp(y._data), rtol=1e-14)
        np.testing.assert_allclose(y.grad._data, np.sin(x._data) * np.exp(y._data), rtol=1e-14)
    assert call.cache_info().misses == 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_157_derivatives_of_any_order(variant):
    f = lambda x: (x**3).sum()
    for function in (f, VARIANTS[variant](f)):
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        (first,) = pb.autograd.grad(function(x), x, create_graph=True)
        (second,) = pb.autograd.grad(first.sum(), x, create_graph=True)
        (third,) = pb.autograd.grad(second.sum(), x)
        assert (first.tolist(), second.tolist(), third.tolist()) == ([3.0, 12.0], [6.0, 12.0], [6.0, 6.0])
    call = VARIANTS[variant](lambda x, y: pb.exp(x * y).sum())
    x, y = rg(), rg(start=0.1)
    first = pb.autograd.grad(call(x, y), (x, y), create_graph=True)
    eager = pb.autograd.grad(pb.exp(x * y).sum(), (x, y), create_graph=True)
    for mine, theirs in zip(first, eager, strict=True):
        seconds = [pb.autograd.grad(g.sum(), (x, y), retain_graph=True) for g in (mine, theirs)]
        for one, other in zip(*seconds, strict=True):
            np.testing.assert_allclose(one._data, other._data, rtol=1e-13)


@pb.autograd.overwrite_policy("raise")
def test_158_higher_derivatives_can_be_refused():
    call = compiled(lambda x: (x**3).sum(), higher_order="error")
    x = rg()
    np.testing.assert_array_equal(pb.autograd.grad(call(x), x)[0]._data, 3 * x._data**2)
    with pytest.raises(aot.DoubleBackwardError, match="retrace"):
        pb.autograd.grad(call(x), x, create_graph=True)

    def overwriting(x, b):
        result = (x * x * pb.sin(b)).sum()
        b.mul_(2)
        return result

    call = compiled(overwriting)
    with pytest.raises(aot.HigherOrderError, match="clone"):
        pb.autograd.grad(call(x, plain()), x, create_graph=True)

    def counting(x, n):  # what it overwrites, no derivative needs
        n.add_(1)
        return (x**3).sum()

    (first,) = pb.autograd.grad(compiled(counting)(x, pb.zeros(())), x, create_graph=True)
    np.testing.assert_array_equal(pb.autograd.grad(first.sum(), x)[0]._data, 6 * x._data)
    # Written by somebody else: the error of eager code.
    call = compiled(lambda x, b: (x * x * b).sum())
    b = plain()
    loss = call(x, b)
    b.mul_(2)
    with pytest.raises(pb.autograd.AutogradError) as caught:
        pb.autograd.grad(loss, x, create_graph=True)
    assert caught.value.code == "VERSION"


def test_159_transforms_look_into_compiled_functions():
    f = lambda x: pb.sin(x) * x.sum()
    call = compiled(f)
    x, t = plain((3,)), plain((3,), 0.2)
    batch = plain((4, 3))
    call(x)
    pairs = [
        (pb.vmap(call)(batch), pb.vmap(f)(batch)),
        (pb.func.grad(lambda x: call(x).sum())(x), pb.func.grad(lambda x: f(x).sum())(x)),
        (pb.func.jvp(call, (x,), (t,))[1], pb.func.jvp(f, (x,), (t,))[1]),
        tuple(pb.vmap(pb.func.grad(lambda x, g=g: g(x).sum()))(batch) for g in (call, f)),
        (pb.func.jacfwd(call)(x), pb.func.jacfwd(f)(x)),
        (pb.func.hessian(lambda x: call(x).sum())(x), pb.func.hessian(lambda x: f(x).sum())(x)),
    ]
    for mine, theirs in pairs:
        np.testing.assert_array_equal(mine._data, theirs._data)
    # Batched gradients, for a call made outside of the transform.
    x = rg((3,))
    one, other = (pb.autograd.grad(g(x), x, pb.eye(3), is_grads_batched=True)[0] for g in (call, f))
    np.testing.assert_allclose(one._data, other._data, rtol=1e-14)


def test_160_gradients_come_in_any_layout():
    f = lambda x: pb.sin(x)
    call = compiled(f)
    x = rg((3, 4))
    strange = [
        pb.tensor(np.arange(12.0).reshape(4, 3)).T, pb.broadcast_to(pb.tensor(2.0), (3, 4)),
        pb.tensor(np.arange(24.0).reshape(3, 8))[:, ::2], pb.tensor(np.arange(12.0).reshape(3, 4))[::-1],
    ]  # fmt: skip
    for gradient in strange:
        mine, theirs = (pb.autograd.grad(g(x), x, gradient)[0] for g in (call, f))
        np.testing.assert_allclose(mine._data, theirs._data, rtol=1e-14)
    transposed = compiled(lambda x: (x * 2).T)
    np.testing.assert_array_equal(pb.autograd.grad(transposed(x), x, pb.ones((4, 3)))[0]._data, np.full((3, 4), 2.0))
    spread = lambda x: pb.broadcast_to(x * 2, (5, 3, 4))
    meta = aot.collect_metadata(spread, x)
    (expected,) = meta.traced_tangent_metas
    assert (expected.size, expected.stride, expected.memory_format) == ((5, 3, 4), None, "C")
    agree(spread, lambda: (rg((3, 4)),), poke=False)


def test_161_each_difference_is_one_miss():
    call = compiled(lambda x, k=1, more=(): x * k)
    call(plain())
    call(plain())
    assert call.cache_info()[:2] == (1, 1)
    differences = [
        ((rg(),), "args[0]: requires_grad"), ((inner(),), "args[0]: is_leaf"),
        ((inner((3, 2)),), "args[0]: shape or dtype: float64[2, 2] before, float64[3, 2] now"),
        ((plain((3, 2), dtype=np.float32),), "args[0]: shape or dtype"),
        ((plain((2, 3), dtype=np.float32).T,), "args[0]: strides"),
        ((plain(), 2), "structure"), ((plain(), 3.0), "args[1]: type: int before, float now"),
    ]  # fmt: skip
    for position, (args, reason) in enumerate(differences):
        call(*args)
        call(*args)
        assert call.cache_info().misses == position + 2
        assert reason in call.why_recompiled()[-1], call.why_recompiled()
    call.clear()
    call(plain(), 3)
    with pb.no_grad():
        call(plain(), 3)
    assert "grad mode" in call.why_recompiled()[-1]
    call(plain(), k=3)
    assert "structure" in call.why_recompiled()[-1]
    call.clear()
    assert call.cache_info()[:3] == (0, 0, 0) and call.why_recompiled() == []


def test_162_literals_are_told_apart_by_type():
    call = compiled(lambda x, k: x * k)
    x = plain()
    for k in (1, 1.0, True):
        assert call(x, k).dtype == x.dtype
    assert call.cache_info().misses == 3
    assert "type: int before, float now" in call.why_recompiled()[0]
    for k in (1, 1.0, True):
        call(x, k)
    assert call.cache_info().misses == 3
    for k in (0.0, -0.0, float("nan"), float("nan")):
        np.testing.assert_array_equal(call(x, k)._data, x._data * k)
    assert call.cache_info().misses == 3  # what is computed with a number is the same for all of them
    np.testing.assert_array_equal(np.signbit(call(x, -0.0)._data), True)


def test_163_beyond_the_limit_the_function_itself_runs():
    f = lambda x: x * 2
    call = compiled(f)
    shapes = [(2,) * rank for rank in range(1, 10)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            for shape in shapes:
                np.testing.assert_array_equal(call(plain(shape))._data, 2 * plain(shape)._data)
    assert len(caught) == 1 and "8 kinds of arguments" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert call.cache_info().currsize == 8
    strict = compiled(f, strict=True)
    for shape in shapes[:8]:
        strict(plain(shape))
    with pytest.raises(aot.RecompileLimitError, match=r"args\[0\]: shape"):
        strict(plain(shapes[8]))


def test_164_a_marked_length_may_vary():
    def f(x):
        return (x * 2).sum(axis=1)

    call = compiled(f)
    for count in (4, 7, 9):
        x = aot.mark_dynamic(rg((count, 3)), 0)
        np.testing.assert_array_equal(call(x)._data, f(x)._data)
    assert call.cache_info().misses == 1
    call(aot.mark_dynamic(rg((1, 3)), 0))
    assert call.cache_info().misses == 2

    def choosing(x):
        return x * 2 if x.shape[0] > 8 else x * 3

    call = compiled(choosing)
    for count in (4, 7, 9, 12):
        x = aot.mark_dynamic(rg((count, 3)), 0)
        np.testing.assert_array_equal(call(x)._data, choosing(x)._data)
    assert call.cache_info().misses == 2


# Errors. -------------------------------------------------------------------------------------------------------------


def raised_at(f: Any, error: Any, *args: Any, mark: str = "# here", **options: Any) -> Any:
    """The error of a compiled call, which names the marked line of `f`."""
    with pytest.raises(error) as caught:
        compiled(f, live=False, **options)(*args)
    lines, first = inspect.getsourcelines(f)
    (line,) = [first + k for k, text in enumerate(lines) if mark in text]
    assert f"{__file__}, line {line}" in caught.value.location
    assert f"line {line}" in str(caught.value)
    return caught.value


def test_165_values_that_do_not_exist_yet():
    def chosen(t):
        if t.sum() > 0:  # here
            return t
        return -t

    assert "pb.where" in str(raised_at(chosen, aot.ConcretizationError, plain()))
    assert "pb.cond" in str(raised_at(chosen, aot.ConcretizationError, rg()))

    def item(t):
        return t * t.sum().item()  # here

    def array(t):
        return t * np.asarray(t).max()  # here

    def as_numpy(t):
        return t * t.detach().numpy()  # here

    def listed(t):
        return t * t.tolist()[0][0]  # here

    def number(t):
        return t * float(t[0, 0])  # here

    def index(t):
        return [1, 2, 3][t.sum().astype(int)] * t  # here

    for f in (item, array, as_numpy, listed, number, index):
        error = raised_at(f, aot.ConcretizationError, plain())
        assert "static" in error.fix or "custom_op" in error.fix
    with pytest.warns(UserWarning, match="without being compiled"):
        call = compile(array)
        np.testing.assert_array_equal(call(plain())._data, array(plain())._data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(plain())  # once is enough


def test_166_shapes_that_depend_on_values_and_tensors_that_leak():
    def masked(a):
        return a[a > 0]  # here

    def found(a):
        return a * pb.nonzero(a)[0].sum()  # here

    for f in (masked, found):
        assert "pb.where" in str(raised_at(f, aot.DynamicShapeError, plain()))
    kept = []

    def leaking(a):
        kept.append(a * 2)
        return a * 3

    aot.aot_function(leaking, interpret)(plain())  # pb.compile refuses it: tests/aot/test_captured_places.py
    with pytest.raises(aot.LeakedTracerError, match="return it"):
        kept[0] + 1
    with pytest.raises(aot.LeakedTracerError):
        compiled(lambda a: a + kept[0])(plain())
    with pytest.raises(aot.LeakedTracerError):
        kept[0].sum().item()
    try:
        kept[0] + 1
    except aot.LeakedTracerError as error:
        line = inspect.getsourcelines(leaking)[1] + 1
        assert f"line {line}" in str(error)  # where it was made


def test_167_captured_tensors_are_inputs():
    w = rg(start=0.5)
    n = pb.zeros(2)

    def f(x):
        n.add_(1)
        return (x * w).sum() * n.sum()

    for variant in VARIANTS.values():
        w.grad = None
        n.zero_()
        call = variant(f)
        call(plain()).backward()
        np.testing.assert_array_equal(w.grad._data, 2 * plain()._data)
        assert n.tolist() == [1.0, 1.0]
        with pb.no_grad():
            w.mul_(2)
        assert call(plain()).item() == 2 * 2 * (plain()._data * w._data).sum()
        assert n.tolist() == [2.0, 2.0]
        assert call.cache_info()[:2] == (1, 1)
        with pb.no_grad():
            w.div_(2)
    with pytest.raises(aot.CaptureError, match="captures"):
        compiled(f, captures="error")(plain())
    w = rg(start=2.0)  # another object under the same name
    call(plain())
    assert call.cache_info().misses == 2 and "w is another object" in call.why_recompiled()[-1]


def test_168_constants_may_not_be_written():
    n = plain((2, 2))

    def written(x):
        n.add_(1)  # here
        return x * n

    raised_at(written, aot.ConstantMutationError, plain(), captures="constant")
    assert n.tolist() == plain((2, 2)).tolist() and n._version == 0
    constant = compiled(lambda x: x * n, captures="constant")
    first = constant(plain()).tolist()
    n.mul_(2)
    assert constant(plain()).tolist() == first
    arr = np.ones((2, 2))

    def into_an_array(t):
        nonlocal arr
        arr += t  # here
        return t * 2

    raised_at(into_an_array, aot.ConstantMutationError, plain())
    assert arr.tolist() == [[1.0, 1.0], [1.0, 1.0]]


# Threads, disk, text. ------------------------------------------------------------------------------------------------


def test_169_two_threads_share_one_compilation():
    compilations, traces = [], []
    begin = threading.Barrier(4)
    results: dict[int, Any] = {}

    def compiler(graph, types):
        compilations.append(graph.name)
        return graph.eval_boxed

    def f(x):
        traces.append(1)
        return (x * x).sum()

    call = aot.aot_function(f, compiler)

    def work(number):
        x = rg(start=float(number))
        begin.wait()
        loss = call(x)
        loss.backward()
        results[number] = loss.item() == (x._data**2).sum() and (x.grad._data == 2 * x._data).all()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), True)
    assert sorted(compilations) == ["backward", "forward"] and len(traces) == 1
    assert call.cache_info().misses == 1


def test_170_another_process_finds_what_was_compiled(tmp_path):
    source = """
        import pullback as pb
        from pullback.aot import _later
        from pullback.compiler.numpy_source import function
        written, splits = [], []
        write, partition = function.FunctionWriter.write, _later.partition
        function.FunctionWriter.write = lambda self, *args: written.append(1) or write(self, *args)
        _later.partition = lambda *args, **kwargs: splits.append(1) or partition(*args, **kwargs)
        f = pb.compile(lambda x, y: (pb.sin(x) * y + 1).sum(), fallback="raise", backend="numpy")
        x, y = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, 4.0])
        loss = f(x, y)
        loss.backward()
        alone = f(y, y).item()
        print(len(written), len(splits), loss.item(), x.grad.tolist(), alone)
    """
    first, second = run_twice(source, tmp_path / "cache")
    assert int(first[0]) == 3 and int(first[1]) == 1
    assert second[:2] == ["0", "0"] and second[2] == first[2]
    for file in (tmp_path / "cache").iterdir():
        text = file.read_text()
        file.write_text(text[: len(text) // 2])
    third = run_python(source, PULLBACK_CACHE_DIR=str(tmp_path / "cache"))
    assert third.strip().split(maxsplit=2) == first


def run_twice(source: str, folder: Path) -> list[list[str]]:
    """The words that two processes print which share a cache. Should somebody have edited the package in between, the
    second one is right to find nothing, so the two run again."""
    stamp = "\nfrom pullback.aot import _disk; import hashlib"
    stamp += "\nprint(hashlib.sha256(repr(_disk.environment()).encode()).hexdigest())"
    for _ in range(5):
        outputs = [run_python(textwrap.dedent(source) + stamp, PULLBACK_CACHE_DIR=str(folder)) for _ in range(2)]
        words = [output.splitlines() for output in outputs]
        if words[0][1] == words[1][1]:
            break
        shutil.rmtree(folder)
    return [each[0].split(maxsplit=2) for each in words]


@pytest.mark.parametrize("name", PROGRAMS)
def test_171_graphs_are_read_as_they_were_written(name):
    f, make = PROGRAMS[name]
    joint = aot.joint_graph(f, *make())
    parts = aot.partition(joint, "min_cut")
    for graph in (aot.trace(f, *make()).graph, joint.graph, parts.forward, parts.backward):
        again = aot.Graph.from_text(graph.to_text())
        assert again == graph and again.hash() == graph.hash()
        again.verify()


def test_171_a_store_before_a_read_is_refused():
    def f(b):
        b.mul_(2)
        return b * 3

    (entry,) = entries_of(f, lambda: (plain(),))
    text = entry.graph.to_text()
    aot.Graph.from_text(text).verify()
    lines = text.splitlines()
    (store,) = [line for line in lines if line.strip().startswith("store")]
    rest = [line for line in lines if line is not store]
    wrong = aot.Graph.from_text("\n".join([*rest[:2], store, *rest[2:]]))
    assert ops_of(wrong)[1] == "store"
    with pytest.raises(Exception, match="store"):
        wrong.verify()
