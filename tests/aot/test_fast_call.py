"""The fast path through a compiled call equals the general way, and answers MISS for every call that is not its own."""

import functools
import gc
import threading
import weakref
from collections import OrderedDict
from types import FunctionType
from typing import NamedTuple

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from pullback._compile import compile
from pullback.aot._call.fast_call import MISS, fast_call
from pullback.aot._call.node import CompiledBackward
from pullback.aot._call.runtime import run
from pullback.aot._trace.leaves import flatten_arguments
from pullback.tensors.overwrites import UNWRITTEN


def leaf(*shape, dtype=float):
    return pb.tensor(np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype), requires_grad=True)


def plain(*shape, dtype=float):
    return leaf(*shape, dtype=dtype).detach()


def inner(*shape):
    return leaf(*shape) * 1


def shortened(f, *args, **options):
    """A compiled function, and its fast path for calls like this one."""
    compiled = compile(f, fallback="raise", **options)
    compiled(*args)
    (call,) = compiled._calls
    return compiled, call


def ways(f, *args, **options):
    """The result of the fast path and of the general way."""
    compiled, call = shortened(f, *args, **options)
    (entry,) = compiled.entries()
    return call(args), run(entry, flatten_arguments(args, {})[0])


CALLS = {
    "one leaf": (lambda x: pb.sin(x), lambda: (leaf(3),)),
    "one constant": (lambda x: pb.sin(x), lambda: (plain(3),)),
    "an array": (lambda x, a: x * a, lambda: (leaf(2, 2), np.full((2, 2), 3.0))),
    "only arrays": (lambda a, b: pb.asarray(a) * b, lambda: (np.ones(3), np.ones(3))),
    "inner": (lambda x, y: x * y, lambda: (inner(3), leaf(3))),
    "two results": (lambda x, y: (pb.exp(x), x * y, y + 1), lambda: (leaf(3), leaf(3))),
    "some results without history": (lambda x, b: (b * 2, x * b), lambda: (leaf(3), plain(3))),
    "a tree": (lambda x: {"a": [pb.sin(x), x * 2]}, lambda: (leaf(3),)),
    "scalars": (lambda x, y: (x * y).sum(), lambda: (leaf(), leaf())),
    "literals": (lambda x, k, flag, name, nothing: x * k if flag else x, lambda: (leaf(2), 2.5, True, "s", None)),
    "containers": (
        lambda p, x: x @ p["w"] + p["b"][0] * p["b"][1],
        lambda: ({"w": leaf(2, 2), "b": (leaf(2), [plain(2)][0])}, plain(3, 2)),
    ),
    "a list of many": (lambda xs: xs[0] * xs[1] * xs[2] + xs[3] * xs[4], lambda: ([leaf(2) for _ in range(5)],)),
    "nothing": (lambda: pb.ones(3) * 2, lambda: ()),
    "views": (lambda x, y, z: x * y * z, lambda: (leaf(6)[2:5], inner(6)[::2], plain(6)[3:])),
    "a view that is a leaf": (lambda x, y: x * y, lambda: (plain(3, 3)[1].requires_grad_(), leaf(3))),
    "a view of what was written": (lambda x, y: x * y, lambda: (written_view(), leaf(3))),
    "later outputs": (lambda x, y: x * y, lambda: (pb.linalg.qr(inner(3, 3) + pb.eye(3))[1], leaf(3))),
    "transposed": (lambda x, y: x @ y, lambda: (leaf(2, 3).T.detach().requires_grad_(), plain(3, 2).T)),
    "strided arrays": (lambda x, a: x * a, lambda: (leaf(2, 2), np.ones((4, 4))[::2, ::-2])),
    "read-only": (lambda x, a: x * a, lambda: (leaf(2, 3), np.broadcast_to(np.ones(3), (2, 3)))),
    "zeros and scalars": (
        lambda x, *numbers: sum((x * k for k in numbers[3:]), x),
        lambda: (leaf(2), 1j, float("inf"), np.float64("nan"), 0.0, -0.0, np.float32(2.5), np.int8(3)),
    ),
    "what is no number": (lambda x, s, t, e: x[s].astype(t)[e], lambda: (leaf(4), slice(1, 3), np.dtype("f4"), ...)),
    "containers of other kinds": (
        lambda p, d: p.w * p.b + d[1], lambda: (Weights(leaf(3), leaf(3)), OrderedDict({1: plain(3)})),
    ),
    "trees of results": (lambda x: [(x * 2, [x + 1]), x.sum()], lambda: (leaf(3),)),
    "an argument as result": (lambda x, a: (x, x * 2, a), lambda: (leaf(3), plain(3))),
    "views as results": (lambda x, b: (x[1:], x * 2, b.T), lambda: (leaf(3), plain(2, 2))),
    "literals as results": (lambda x: (x * 2, 3, "s"), lambda: (leaf(3),)),
    "one result twice": (lambda x: [y := x * 2, y], lambda: (leaf(3),)),
}  # fmt: skip


class Weights(NamedTuple):
    w: pb.Tensor
    b: pb.Tensor


def written_view():
    base = inner(6)
    view = base[:3]
    base.mul_(2)
    return view


@pytest.mark.parametrize("name", CALLS)
def test_results_and_histories_are_those_of_the_general_way(name):
    f, make = CALLS[name]
    short, general = ways(f, *make())
    mine, theirs = flatten_arguments((short,), {})[0], flatten_arguments((general,), {})[0]
    assert flatten_arguments((short,), {})[1] == flatten_arguments((general,), {})[1]
    nodes = set()
    for one, other in zip(mine, theirs, strict=True):
        if one is other:  # an argument, or a literal
            continue
        np.testing.assert_array_equal(one._data, other._data)
        assert one._data.dtype == other._data.dtype and one._spec is other._spec
        assert (one.requires_grad, one.is_leaf, one._version) == (other.requires_grad, other.is_leaf, other._version)
        assert one._meta is None and one._base is other._base and one.output_nr == other.output_nr
        assert type(one.grad_fn) is type(other.grad_fn)
        if isinstance(one.grad_fn, CompiledBackward):
            nodes.add(one.grad_fn)
            same_node(one.grad_fn, other.grad_fn)
    assert len(nodes) <= 1


def same_node(mine, theirs):
    assert type(mine) is type(theirs) and mine.entry is theirs.entry
    assert mine.num_outputs == theirs.num_outputs and mine.specs == theirs.specs
    assert [edge[1] for edge in mine.next_functions] == [edge[1] for edge in theirs.next_functions]
    assert all(one is other for one, other in zip(mine.next, theirs.next, strict=True))
    numbers = [each.number is not None for each in mine.entry.inputs]  # whose arrays are made anew in every call
    for name in ("primals", "payloads"):
        for one, other, is_number in zip(getattr(mine, name), getattr(theirs, name), numbers, strict=True):
            assert one.tobytes() == other.tobytes() if is_number else one is other
    for one, other, is_number in zip(mine.epochs, theirs.epochs, numbers, strict=True):
        if hasattr(one, "sample"):  # of an array of NumPy's, to which anybody may write: every call looks at it anew
            assert (one.array is other.array or is_number) and one.sample == other.sample
        else:
            assert one is other or other is UNWRITTEN
    assert mine.seq < theirs.seq and mine.rare is None
    for one, other in zip(mine.saved, theirs.saved, strict=True):
        np.testing.assert_array_equal(one, other)
    watched = [each for each in theirs.watched if each[1] is not None]
    for one, other in zip(mine.watched, watched, strict=True):
        assert one[0] == other[0] and one[1].shape == other[1].shape and one[2] is other[2]


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_those_of_eager_code(name):
    f, make = CALLS[name]
    found = []
    for function in (f, shortened(f, *make())[0]):
        args = make()
        leaves = [x for x in flatten_arguments(args, {})[0] if isinstance(x, pb.Tensor) and x.requires_grad]
        for x in leaves:
            x.retain_grad()
        outs = [x for x in flatten_arguments((function(*args),), {})[0] if getattr(x, "requires_grad", False)]
        if outs:
            sum((x * x).sum() for x in outs).backward()
        found.append([None if x.grad is None else x.grad._data for x in leaves])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-14)


@pb.autograd.overwrite_policy("raise")
def test_written_inputs_and_results_are_noticed():
    for written in ("x", "y", "result"):
        for attempt in range(2):  # the first call takes the general way, the second the short one
            if attempt == 0:
                call = compile(lambda x, y: pb.exp(x * y), fallback="raise")
            x, y = leaf(3), leaf(3)
            result = call(x, y)
            with pb.no_grad():
                {"x": x, "y": y, "result": result}[written].mul_(2)
            with pytest.raises(pb.autograd.AutogradError) as caught:
                result.sum().backward()
            assert caught.value.code == "VERSION"
        assert call.cache_info().hits == 1


def test_a_write_before_the_call_is_no_error():
    call = compile(lambda x, y: x * y)
    x, y = leaf(3), leaf(3)
    with pb.no_grad():
        x.mul_(2)
        y.mul_(2)
    for _ in range(2):
        call(x, y).sum().backward()
    np.testing.assert_array_equal(x.grad._data, 2 * y._data)


@pytest.mark.filterwarnings("ignore:anomaly mode")
def test_everything_that_differs_is_a_miss():
    hook = pb.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    args = (leaf(2, 2), plain(2, 2), np.ones((2, 2)), 3)
    _, call = shortened(lambda x, b, a, k: x * b * a * k, *args)
    x, b, a, k = args
    assert call(args) is not MISS
    view = leaf(4).reshape(2, 2)
    flipped = pb.tensor(np.asfortranarray(np.ones((2, 2))))
    frozen = np.ones((2, 2))
    frozen.flags.writeable = False
    misses = {
        "fewer": (x, b, a), "more": (x, b, a, k, 1), "a constant": (b.clone(), b, a, k),
        "inner": (inner(2, 2), b, a, k), "a view": (view, b, a, k), "shape": (leaf(3, 2), b, a, k),
        "dtype": (leaf(2, 2, dtype=np.float32), b, a, k),
        "an array": (np.ones((2, 2)), b, a, k), "requires grad": (x, leaf(2, 2), a, k), "order": (x, flipped, a, k),
        "a tensor": (x, b, b.clone(), k), "other array": (x, b, np.ones((2, 3)), k),
        "type": (x, b, np.ones((2, 2), int), k), "read-only": (x, b, frozen, k),
        "strides": (x, b, np.ones((4, 4))[::2, ::2], k),
        "kind": (x, b, a, 3.0), "bool": (x, b, a, True), "text": (x, b, a, "3"),
    }  # fmt: skip
    for name, given in misses.items():
        assert call(given) is MISS, name
    subclass = np.ones((2, 2)).view(np.matrix)
    assert call((x, b, subclass, k)) is MISS
    for mode in (pb.no_grad(), pb.inference_mode(), hook, pb.autograd.detect_anomaly(check_nan=False)):
        with mode:
            assert call(args) is MISS
    pb.set_default_dtype(np.float32)
    try:
        assert call(args) is MISS
    finally:
        pb.set_default_dtype(np.float64)
    with pb.autograd.forward_ad.dual_level():
        assert call((pb.autograd.forward_ad.make_dual(x, pb.ones((2, 2))), b, a, k)) is MISS
    assert call(args) is not MISS


def test_one_object_in_two_places_is_a_miss():
    for count in (2, 6):
        xs = [leaf(3) for _ in range(count)]
        _, call = shortened(lambda *xs: sum(xs), *xs)
        assert call(tuple(xs)) is not MISS
        assert call((*xs[:-1], xs[0])) is MISS


def test_containers_are_told_apart():
    f = lambda p: p["a"] * p["b"][0]
    _, call = shortened(f, {"a": leaf(2), "b": [leaf(2)]})
    assert call(({"b": [leaf(2)], "a": leaf(2)},)) is not MISS
    for given in (
        {"a": leaf(2), "b": (leaf(2),)}, {"a": leaf(2), "b": [leaf(2), leaf(2)]}, {"a": leaf(2), "c": [leaf(2)]},
        {"a": leaf(2)}, [leaf(2), [leaf(2)]], {"a": [leaf(2)], "b": [leaf(2)]}, {"a": None, "b": [leaf(2)]},
    ):  # fmt: skip
        assert call((given,)) is MISS


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x.t_(), x * 2)[1], lambda x: x.detach(), lambda x: (x * 2).unbind(0),
        lambda x: [y := x * 2, y[0]], lambda x: x.requires_grad_() * 2,
    ],
)  # fmt: skip
def test_calls_that_do_more_have_no_short_way(f):
    compiled = compile(f, fallback="raise")
    compiled(plain(2, 2))
    assert compiled._calls == ()


def test_unusual_modes_have_no_short_way():
    compiled = compile(lambda x, k=1: x * k, fallback="raise")
    with pb.inference_mode():
        compiled(plain(2))
    assert compiled._calls == () and list(compiled._ways) == [()]


def test_keyword_arguments_have_short_ways_of_their_own():
    f = lambda x, *, y, b=2.0: x * y * b
    compiled = compile(f, fallback="raise")
    compiled(leaf(3), y=plain(3), b=3.0)
    (call,) = compiled._ways[1, "y", "b"].calls
    assert compiled._calls == () and call((leaf(3), plain(3), 3.0)) is not MISS
    for kwargs in ({"y": plain(3), "b": 3.0}, {"b": 3.0, "y": plain(3)}, {"y": leaf(3)}, {"y": plain(3), "b": 4.0}):
        for _ in range(2):
            np.testing.assert_array_equal(compiled(leaf(3), **kwargs)._data, f(leaf(3), **kwargs)._data)
    assert compiled.cache_info()[:3] == (7, 2, 2)
    with pytest.raises(TypeError):
        compiled(leaf(3), leaf(3), y=leaf(3))


# Writes. -------------------------------------------------------------------------------------------------------------


def test_writes_to_tensors_without_history_are_in_the_short_way():
    def f(n, x, m):
        n.add_(1)
        n.mul_(2)
        m.sub_(n)
        return (x * n).sum() + m

    found = []
    for function in (f, shortened(f, plain(3), leaf(3), plain(3))[0]):
        n, x, m = plain(3), leaf(3), plain(3)
        for _ in range(3):
            result = function(n, x, m)
            result.sum().backward()
        found.append((n.tolist(), n._version, m.tolist(), m._version, x._version, x.grad.tolist(), result.tolist()))
    assert found[0] == found[1] and found[0][1] == 6


@pb.autograd.overwrite_policy("raise")
def test_written_memory_is_noticed_by_those_who_saved_it():
    compiled, call = shortened(lambda n, x: (n.add_(1), x * n)[1], plain(3), leaf(3))
    n, x = plain(3), leaf(3)
    earlier = (n * x).sum()  # eager code, which saves n
    assert call((n, x)) is not MISS
    with pytest.raises(pb.autograd.AutogradError) as caught:
        earlier.backward()
    assert caught.value.code == "VERSION"
    first = compiled(n, x).sum()
    compiled(n, x)  # what the first call saved is its own
    first.backward()
    assert x.grad is not None


def test_what_is_written_shares_no_memory_in_the_short_way():
    f = lambda n, x: (n.add_(1), x * n)[1]
    compiled, call = shortened(f, plain(3), plain(3))
    z = np.arange(5.0)
    n, x = z[:3], z[2:]
    one, other = pb.asarray(n), pb.asarray(x)
    assert np.shares_memory(one._data, other._data)
    assert call((one, other)) is MISS and z.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    expected = z.copy()
    expected[:3] += 1
    np.testing.assert_array_equal(compiled(one, other)._data, expected[2:] * expected[:3])


def test_captured_counters_are_written_in_the_short_way():
    n, w = pb.zeros(()), leaf(3)

    def f(x):
        n.add_(1)
        return (x * w).sum() * n

    compiled, call = shortened(f, plain(3))
    assert call((plain(3),)).item() == 2 * 14.0 and (n.item(), n._version) == (2.0, 2)
    call((plain(3),)).backward()
    np.testing.assert_array_equal(w.grad._data, 3 * plain(3)._data)
    assert call((w.detach(),)) is not MISS and call((n,)) is MISS
    assert compiled.cache_info().misses == 1


def test_writes_to_what_requires_grad_have_no_short_way():
    def f(x):
        with pb.no_grad():
            x.mul_(2)
        return x * 3

    compiled = compile(f, fallback="raise")
    compiled(leaf(3))
    assert compiled._calls == ()


# Captured tensors. ---------------------------------------------------------------------------------------------------


w_of_module = None


def test_captured_tensors_are_in_the_short_way():
    w = leaf(3)
    compiled, call = shortened(lambda x: (x * w).sum(), plain(3))
    call((plain(3),)).backward()
    np.testing.assert_array_equal(w.grad._data, plain(3)._data)
    with pb.no_grad():
        w.mul_(2)
    assert call((plain(3),)).item() == (plain(3)._data * w._data).sum()
    assert compiled.cache_info().misses == 1


def test_a_captured_tensor_that_changed_is_a_miss():
    w = leaf(3)
    _, call = shortened(lambda x: x * w, plain(3))
    w.requires_grad_(False)
    assert call((plain(3),)) is MISS
    w.requires_grad_(True)
    assert call((plain(3),)) is not MISS
    w.data = leaf(2).detach()
    assert call((plain(2),)) is MISS and call((plain(3),)) is MISS
    w.data = pb.ones(6)[::2]
    assert call((plain(3),)) is MISS


def test_a_rebound_name_is_a_miss_and_is_captured_anew():
    w = leaf(3)

    def f(x):
        return x * w

    compiled, call = shortened(f, plain(3))
    w = pb.full((3,), 10.0, requires_grad=True)
    assert call((plain(3),)) is MISS
    np.testing.assert_array_equal(compiled(plain(3))._data, 10 * plain(3)._data)
    assert compiled.cache_info().misses == 2
    assert "w is another object" in compiled.why_recompiled()[0]
    del w
    assert call((plain(3),)) is MISS
    with pytest.raises(NameError):
        compiled(plain(3))
    w = leaf(3)


def test_globals_and_defaults_are_looked_at():
    global w_of_module
    w_of_module = leaf(3)
    compiled, call = shortened(lambda x: (lambda y: y * w_of_module)(x), plain(3))
    w_of_module = leaf(3)
    assert call((plain(3),)) is MISS
    compiled(plain(3))
    assert "w_of_module is another object" in compiled.why_recompiled()[0]

    def with_defaults(x, w=None, *, v=None):
        return x * w * v

    with_defaults.__defaults__, with_defaults.__kwdefaults__ = (leaf(3),), {"v": leaf(3)}

    compiled, call = shortened(with_defaults, plain(3))
    assert call((plain(3),)) is not MISS
    with_defaults.__kwdefaults__["v"] = leaf(3)
    assert call((plain(3),)) is MISS
    compiled(plain(3))
    with_defaults.__defaults__ = (leaf(3),)
    compiled(plain(3))
    assert compiled.why_recompiled() == ["v is another object", "w is another object"]
    w_of_module = None


class Layer:
    def __init__(self, number):
        self.w = pb.full((3,), float(number), requires_grad=True)

    def __call__(self, x):
        return x * self.w


class Model:
    def __init__(self):
        self.layers = [Layer(1), Layer(2)]
        self.options = {"bias": leaf(3)}

    def run(self, x):
        for layer in self.layers:
            x = layer(x)
        return x + self.options["bias"]


def test_every_step_of_the_way_to_a_captured_tensor_is_looked_at():
    model = Model()
    changes = {
        "layers[0].w": lambda: setattr(model.layers[0], "w", pb.full((3,), 5.0, requires_grad=True)),
        "layers[1]": lambda: model.layers.__setitem__(1, Layer(7)),
        "options['bias']": lambda: model.options.update(bias=pb.zeros(3, requires_grad=True)),
        "layers": lambda: setattr(model, "layers", [Layer(3), Layer(4)]),
    }
    functions = [compile(model.run, fallback="raise"), compile(lambda x: model.run(x), fallback="raise")]
    for change in ("", *changes):
        if change:
            changes[change]()
        for compiled in functions:
            for _ in range(2):
                np.testing.assert_array_equal(compiled(plain(3))._data, model.run(plain(3))._data)
            if change:
                assert f"{change} is another object" in compiled.why_recompiled()[-1]
    assert all(compiled.cache_info()[:2] == (5, 5) for compiled in functions)
    compiled = compile(model.run, fallback="raise")
    compiled(plain(3))
    del model.options["bias"]
    with pytest.raises(KeyError):
        compiled(plain(3))


def test_ways_lead_through_functions_and_not_through_what_is_ours():
    w = leaf(3)
    inner = compile(lambda x: x * w, fallback="raise")
    inner(plain(3))  # it holds w, too
    outer = compile(lambda x: inner(x) + 1, fallback="raise")
    outer(plain(3))
    (captured,) = outer.entries()[0].fit.captured
    assert captured.text == "w" and [place.text for place in outer.entries()[0].fit.places] == ["inner", "w"]
    w = pb.zeros(3, requires_grad=True)
    assert outer(plain(3)).tolist() == [1.0, 1.0, 1.0]
    partial = compile(functools.partial(lambda a, x: x * a[0], (w,)), fallback="raise")
    partial(plain(3))
    (captured,) = partial.entries()[0].fit.captured
    assert captured.tensor is w


def test_an_argument_that_is_also_captured_is_guarded():
    w = leaf(3)
    compiled = compile(lambda x: x * w, fallback="raise")
    np.testing.assert_array_equal(compiled(w)._data, w._data**2)
    x = pb.full((3,), 5.0, requires_grad=True)
    np.testing.assert_array_equal(compiled(x)._data, 5 * w._data)
    np.testing.assert_array_equal(compiled(w)._data, w._data**2)
    assert compiled.cache_info().misses == 2


# Memory and threads. -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_short", [True, False])
def test_nothing_keeps_arguments_and_results_alive(is_short):
    compiled = compile(lambda x, y: (pb.exp(x * y), pb.sin(x)), fallback="raise")
    compiled(leaf(3), leaf(3))
    if not is_short:
        compiled._calls = ()
    gc.collect()
    gc.disable()
    try:
        x, y = leaf(3), leaf(3)
        outs = compiled(x, y)
        (outs[0] * outs[1]).sum().backward(retain_graph=True)
        watched = [weakref.ref(thing) for thing in (x, y, *outs, outs[0].grad_fn, x._data, outs[0]._data)]
        del x, y, outs
        assert [ref() for ref in watched] == [None] * len(watched)
    finally:
        gc.enable()


def test_the_first_call_keeps_nothing_alive_either():
    gc.collect()
    gc.disable()
    try:
        for f in (lambda x: pb.exp(x) * x, lambda x: (x * 2).reshape(-1)):
            x = leaf(3, 3)
            compiled = compile(f, fallback="raise")
            out = compiled(x)
            watched = [weakref.ref(x), weakref.ref(out), weakref.ref(x._data)]
            del x, out
            assert [ref() for ref in watched] == [None] * 3
    finally:
        gc.enable()


def test_written_arguments_are_not_kept_alive():
    def f(n, x):
        n.add_(1)
        return (x * n).sum()

    compiled = compile(f, fallback="raise")
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):
            n, x = pb.zeros(3), leaf(3)
            loss = compiled(n, x)
            loss.backward()
            watched = [weakref.ref(thing) for thing in (n, x, loss)]
            del n, x, loss
            assert [ref() for ref in watched] == [None] * 3
    finally:
        gc.enable()


def test_threads_take_the_short_way_at_the_same_time():
    compiled, _ = shortened(lambda x, y: (x * y).sum(), leaf(50), leaf(50))
    wrong = []

    def work(number):
        for _ in range(200):
            x, y = pb.full((50,), float(number), requires_grad=True), leaf(50)
            compiled(x, y).backward()
            if not (x.grad._data == y._data).all() or not (y.grad._data == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and compiled.cache_info().misses == 1


def test_draws_are_repeated_for_higher_derivatives():
    f = lambda x: ((x + pb.random.standard_normal(3)) ** 3).sum()
    compiled, _ = shortened(f, leaf(3))
    found = []
    for function in (f, compiled):
        pb.random.manual_seed(5)
        x = leaf(3)
        (first,) = pb.autograd.grad(function(x), x, create_graph=True)
        (second,) = pb.autograd.grad(first.sum(), x)
        found.append((first.tolist(), second.tolist(), pb.random.random(2).tolist()))
    assert found[0] == found[1]


def test_literals_are_told_apart():
    arguments = (leaf(2), 0.0, np.float32(0.0), float("inf"), float("nan"), 1j, slice(0, 2), np.int8(1), True, "a")
    others = (leaf(2), -0.0, np.float32(-0.0), -float("inf"), 2.0, -1j, slice(0, 1), np.int16(1), False, "b")
    _, call = shortened(lambda x, *literals: x * 2 if str(literals) else x, *arguments)  # which looks at them
    assert call(arguments) is not MISS
    for k in range(1, len(arguments)):
        assert call((*arguments[:k], others[k], *arguments[k + 1 :])) is MISS


def test_the_source_can_be_read():
    compiled, call = shortened(lambda x: x * 2, leaf(3))
    assert isinstance(call, FunctionType)
    assert call.source.startswith("def call(args):\n    if len(args) != 1: return MISS\n    a0, = args\n")
    (entry,) = compiled.entries()
    assert fast_call(entry, (leaf(3),), [leaf(3)]) is None  # a leaf that is not among the arguments


def test_methods_are_compiled_for_each_object():
    class Scaled:
        def __init__(self, factor):
            self.w = pb.full((3,), factor, requires_grad=True)

        @compile(fallback="raise")
        def forward(self, x):
            return x * self.w

    first, second = Scaled(2.0), Scaled(3.0)
    for _ in range(2):
        assert first.forward(plain(3)).tolist() == [2.0, 4.0, 6.0]
        assert second.forward(plain(3)).tolist() == [3.0, 6.0, 9.0]
    assert first.forward == first.forward and first.forward != second.forward
    assert first.forward.cache_info()[:2] == (1, 1)
    first.forward(plain(3)).sum().backward()
    assert first.w.grad.tolist() == [1.0, 2.0, 3.0] and second.w.grad is None
    first.w = pb.full((3,), 10.0)
    assert first.forward(plain(3)).tolist() == [10.0, 20.0, 30.0]
    assert "self.w is another object" in first.forward.why_recompiled()[0]
    kept = first.forward
    watched = weakref.ref(first)
    del first
    assert kept(plain(3)).tolist() == [10.0, 20.0, 30.0]
    del kept
    assert watched() is None and len(Scaled.forward._methods._known) == 1
    assert Scaled(4.0).forward(plain(3)).tolist() == [4.0, 8.0, 12.0]


def test_objects_that_are_containers_are_arguments_of_their_methods():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

        @compile(fallback="raise")
        def product(self, x):
            return self.a * self.b * x

    pb.utils.pytree.register(Pair, lambda p: ((p.a, p.b), None), lambda _, parts: Pair(*parts))
    for _ in range(2):
        assert Pair(leaf(3), leaf(3)).product(plain(3)).tolist() == [1.0, 8.0, 27.0]
    assert Pair.product.cache_info()[:2] == (1, 1)


def test_functions_that_are_no_python_functions_are_compiled():
    class Model:
        def __init__(self):
            self.w = leaf(3)

        def __call__(self, x):
            return x * self.w

    model = Model()
    compiled, call = shortened(model, plain(3))
    call((plain(3),)).sum().backward()
    np.testing.assert_array_equal(model.w.grad._data, plain(3)._data)
    assert repr(compiled) == "<compiled Model>"
    bound = compile(model.__call__)
    np.testing.assert_array_equal(bound(plain(3))._data, (plain(3) * model.w)._data)
    with pytest.raises(TypeError, match="is none"):
        compile(3)
    with pytest.raises(ValueError, match="fallback"):
        compile(model, fallback="no")
    with pytest.raises(ValueError, match="backend"):
        compile(model, backend="abacus")
    assert aot.aot_function(np.sin, lambda graph, types: graph.eval_boxed)(plain(3)).shape == (3,)
