"""Cases 35 to 89 of `compiling-anything.md`: what a function finds by itself, numbers, containers, arrays and tensors.

Every case makes a state and a function of it, and says what its owner does to the state between calls. It is run
as it is and compiled, and what it returns, its gradients and what is left in the state have to be the same.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import importlib
import random
import sys
import threading
import time
from types import SimpleNamespace as State
from typing import Any

import numpy as np
import pytest

import pullback as pb
from tests.conformance.compiling import _check, _looks, check_calls, leaf

CASES: dict[str, Any] = {}
RATE = 0.5
PLACES = {f"PLACE_{k}": float(k) for k in range(300)}
globals().update(PLACES)


def case(name: str, make: Any, change: Any = lambda s, k: None, *, eager: bool = False, seen: Any = None) -> None:
    """Note a case: `make()` is a state and a function of a tensor and the state."""
    CASES[name] = make, change, eager, seen


def rebind(name: str, value: Any) -> None:
    globals()[name] = value


def state(function: Any, /, **attributes: Any) -> Any:
    """A state with these attributes, made anew by calling what can be called, and a function of it."""
    return lambda: (State(**{name: make() for name, make in attributes.items()}), function)


class Base:
    k = 2.0

    def __init__(self):
        self._hidden = 1.5
        self.w = leaf([1.0, 2.0])

    @property
    def doubled(self):
        return self._hidden * 2

    def scaled(self, x):
        return x * self.w * self.k


@dataclasses.dataclass(frozen=True)
class Frozen:
    k: float = 2.0
    w: Any = None


class Way(enum.Enum):
    UP = 1
    DOWN = 2


def helper(x):
    return x * 2


def mutable_default(x, seen=[1.0, 2.0]):  # noqa: B006
    return x * seen[0] * len(seen)


# Places. -------------------------------------------------------------------------------------------------------------

case("035 a global", state(lambda x, s: x * RATE), lambda s, k: rebind("RATE", 0.5 + k))
case("036 an attribute", state(lambda x, s: x * s.k, k=lambda: 1.0), lambda s, k: setattr(s, "k", k + 2.0))
case("037 a class attribute is shadowed", state(lambda x, s: x * s.o.k, o=Base),
     lambda s, k: setattr(s.o, "k", 5.0) if k == 2 else None)  # fmt: skip
case("038 an item", state(lambda x, s: x * s.items[1], items=lambda: [1.0, 2.0]),
     lambda s, k: s.items.__setitem__(1, k + 0.5))  # fmt: skip
case("039 a list that grows", state(lambda x, s: x * len(s.items) + s.items[-1], items=lambda: [1.0]),
     lambda s, k: s.items.append(float(k)))  # fmt: skip
case("040 the order of a dict", state(lambda x, s: functools.reduce(lambda y, key: y * 2 + s.d[key], s.d, x),
                                      d=lambda: {"a": 1.0, "b": 2.0}),
     lambda s, k: s.d.update(a=s.d.pop("a")))  # fmt: skip


def a_cell():
    rate = 0.5

    def f(x, s):
        return x * rate

    def other():
        nonlocal rate
        rate += 1

    return State(other=other), f


case("041 a cell that another function changes", a_cell, lambda s, k: s.other())
case("043 a global function is replaced", state(lambda x, s: helper(x)),
     lambda s, k: rebind("helper", lambda x, k=k: x * (k + 3)))  # fmt: skip
case("044 a property", state(lambda x, s: x * s.o.doubled, o=Base), lambda s, k: setattr(s.o, "_hidden", k + 1.0))
case("045 a frozen dataclass", state(lambda x, s: x * s.c.k, c=Frozen), lambda s, k: setattr(s, "c", Frozen(k + 1.0)))
case("046 an element of an array", state(lambda x, s: x * s.a, a=lambda: np.ones(2)),
     lambda s, k: s.a.__setitem__(0, k + 1.0))  # fmt: skip
case("047 an array is replaced", state(lambda x, s: x * s.a, a=lambda: np.ones(2)),
     lambda s, k: setattr(s, "a", np.full(2, k + 2.0)))  # fmt: skip
case("048 a view of an array", state(lambda x, s: x * s.a[1:3], a=lambda: np.ones(4)),
     lambda s, k: s.a.__setitem__(1, k + 1.0))  # fmt: skip
case("049 a mean of an array", state(lambda x, s: x * s.a.mean(), a=lambda: np.ones(4)),
     lambda s, k: s.a.__setitem__(1, k + 1.0))  # fmt: skip
case("052 an array that is read-only", state(lambda x, s: x * s.a, a=lambda: np.broadcast_to(np.float64(3), 2)),
     lambda s, k: setattr(s, "a", np.broadcast_to(np.float64(k), 2)))  # fmt: skip
case("053 a global that changes at every call", state(lambda x, s: x * RATE + RATE**2),
     lambda s, k: rebind("RATE", 1 / (k + 1)))  # fmt: skip
case("054 an enum and a text", state(lambda x, s: x * 2 if s.way is Way.UP and s.name == "up" else x * 3,
                                     way=lambda: Way.UP, name=lambda: "up"),
     lambda s, k: setattr(s, *(("way", Way.DOWN), ("way", Way.UP), ("name", "down"))[k % 3]))  # fmt: skip
case("055 a default that can be changed", lambda: (State(), lambda x, s: mutable_default(x)),
     lambda s, k: mutable_default.__defaults__[0].append(1.0))  # fmt: skip
exec("def many(x, s):\n    return x * (" + " + ".join(PLACES) + ")", globals())
case("056 300 globals", lambda: (State(), globals()["many"]), lambda s, k: rebind(f"PLACE_{k}", 7.0))
case("057 a generator", state(lambda x, s: x * s.rng.normal(size=2) + s.rng.uniform(),
                              rng=lambda: np.random.default_rng(3)),
     seen=lambda s: s.rng.bit_generator.state["state"])  # fmt: skip
case("058 numpy.random", lambda: (np.random.seed(3), lambda x, s: x * np.random.normal(size=2) + np.random.rand()),
     seen=lambda s: np.random.get_state()[2])  # fmt: skip
case("059 pb.random in a branch", lambda: (pb.random.manual_seed(3),
                                           lambda x, s: x * pb.random.normal(size=2) if x.sum() > 0 else x * 2),
     seen=lambda s: pb.random.uniform().item())  # fmt: skip
case("060 random", lambda: (random.seed(3), lambda x, s: x * random.random()), eager=True)
case("061 a clock", state(lambda x, s: x * (time.time() > 0)), eager=True)
case("064 a compiled function", state(lambda x, s: s.inner(x) + 1, k=lambda: 2.0,
                                      inner=lambda: pb.compile(lambda x: x * x)))  # fmt: skip

# Tensors. ------------------------------------------------------------------------------------------------------------


def weighted(x, s):
    return (s.w * x).sum()


def steps(x, s):
    (s.w * x * x).sum().backward()
    return x * 2


def only_inputs(x, s):
    (s.w * x * x).sum().backward(inputs=[s.w])
    return x * 2


def scaled_in_between(read):
    return state(lambda x, s: x * read(s.k), k=lambda: pb.tensor([3.0, 2.0]))


W = {"w": lambda: leaf([1.0, 2.0])}
FIVE = lambda s, k: s.k.mul_(1.5)

case("066 autograd.grad by what is captured", state(lambda x, s: pb.autograd.grad(weighted(x * x, s), s.w)[0], **W))
case("066 materialize_grads", state(lambda x, s: pb.autograd.grad(
    weighted(x, s), [s.w, s.v], materialize_grads=True), v=lambda: leaf([5.0]), **W))  # fmt: skip
case("067 backward(inputs=)", state(only_inputs, **W), eager=True)
case("068 backward to .grad", state(steps, **W), eager=True)
case("069 p.data.sub_", state(lambda x, s: s.w.data.sub_(0.1 * x.detach()) is None, **W))
case("070 p.data =", state(lambda x, s: (setattr(s.w, "data", s.w.data - 0.1 * x.detach()), x * 2)[1], **W))
case("071 item", state(lambda x, s: x * s.k.item(), k=lambda: pb.tensor(3.0)), FIVE)
case("072 float", state(lambda x, s: x * float(s.k), k=lambda: pb.tensor(3.0)), FIVE)
case("073 numpy()", scaled_in_between(lambda k: k.numpy()), FIVE, eager=True)
case("074 data", scaled_in_between(lambda k: k.data), FIVE)
case("075 pb.tensor", scaled_in_between(lambda k: pb.tensor(k)), FIVE)
case("076 is", state(lambda x, s: x * (2 if x is s.w else 3), **W))
case("077 detach_", state(lambda x, s: (s.m.detach_(), x * s.m)[1], m=lambda: leaf([1.0, 2.0]) * 2))
case("078 requires_grad_", state(lambda x, s: (s.k.requires_grad_(), (x * s.k).sum())[1], k=lambda: pb.ones(2)))
case("079 set_", state(lambda x, s: (s.k.set_(x.detach() * 2), x * s.k)[1], k=lambda: pb.ones(2)))
case("079 t_", state(lambda x, s: (s.k.t_(), x * s.k.sum(axis=0))[1], k=lambda: pb.tensor([[1.0, 2.0], [3.0, 4.0]])))
case("081 a write", state(lambda x, s: (s.k.add_(x.detach()), x * s.k)[1], k=lambda: pb.ones(2)),
     lambda s, k: s.k.mul_(0.5))  # fmt: skip
case("082 in all kinds of places", state(
    lambda x, s: s.list[0] * x + s.dict["w"] * x + s.c.w * x + s.partial(x) + s.o.scaled(x) + s.bound(x),
    list=lambda: [leaf([1.0, 2.0])], dict=lambda: {"w": leaf([2.0, 3.0])}, c=lambda: Frozen(2.0, leaf([3.0, 4.0])),
    partial=lambda: functools.partial(lambda w, x: w * x, leaf([4.0, 5.0])), o=Base, bound=lambda: Base().scaled),
    lambda s, k: s.list[0].data.mul_(2))  # fmt: skip
case("083 rows", state(lambda x, s: sum((r * x for r in s.K), x), K=lambda: leaf(np.arange(6.0).reshape(3, 2))),
     lambda s, k: s.K.data.mul_(2))  # fmt: skip
case("084 a question", state(lambda x, s: x * 2 if s.k > 0 else x * 3, k=lambda: pb.tensor(1.0)),
     lambda s, k: s.k.neg_())  # fmt: skip
case("085 a tensor is replaced", state(lambda x, s: x * s.k, k=lambda: pb.ones(2)),
     lambda s, k: setattr(s, "k", pb.full(2, k + 1.0)))  # fmt: skip
case("086 by one of another shape", state(lambda x, s: (x * s.k).sum(), k=lambda: pb.ones(2)),
     lambda s, k: setattr(s, "k", pb.full((k + 1, 2), k + 1.0)))  # fmt: skip
case("087 a captured view", lambda: (lambda base: (State(base=base, v=base[1:]), lambda x, s: x * s.v))(pb.ones(3)),
     lambda s, k: s.base.mul_(2))  # fmt: skip
case("089 deepcopy", scaled_in_between(lambda k: copy.deepcopy(k)), FIVE)


def appearance(value: Any) -> Any:
    if isinstance(value, pb.Tensor):
        grad = value.grad if value.is_leaf else None
        return [*_looks(value), None if grad is None else grad.numpy().copy()]
    if isinstance(value, (list, tuple)):
        return [appearance(each) for each in value]
    if isinstance(value, dict):
        return [(key, appearance(each)) for key, each in value.items()]
    if isinstance(value, np.ndarray):
        return value.copy()
    return value if isinstance(value, (int, float, str, type(None))) else type(value)


def history(name: str, wrapped: Any) -> list[Any]:
    make, change, _, seen = CASES[name]
    saved, rows = dict(globals()), []
    defaults = list(mutable_default.__defaults__[0])
    try:
        s, function = make()
        call = wrapped(lambda x: function(x, s))
        for k in range(5):
            for turn in range(2):
                x = leaf([0.5, -2.0] if turn else [1.5, 2.0])
                found = call(x)
                row = [appearance(found), appearance(vars(s) if isinstance(s, State) else None)]
                results = [each for each in (found if isinstance(found, tuple) else (found,))
                           if isinstance(each, pb.Tensor) and each.requires_grad]  # fmt: skip
                if results:
                    leaves = [x, *(each for each in vars(s or State()).values() if isinstance(each, pb.Tensor)
                                   and each.is_leaf and each.requires_grad)]  # fmt: skip
                    total = sum([(each * each).sum() for each in results], pb.tensor(0.0))
                    row.append(appearance(pb.autograd.grad(total, leaves, allow_unused=True)))
                row.append(None if seen is None else seen(s))
                rows.append(row)
            change(s, k)
    finally:
        globals().update(saved)
        mutable_default.__defaults__[0][:] = defaults
    return rows


@pytest.mark.filterwarnings("ignore:.*without being compiled")
@pytest.mark.parametrize("name", CASES)
def test_035_to_089_what_is_captured(name):
    """Cases that a graph cannot have run as they are, and say why."""
    is_eager = CASES[name][2]
    expected = history(name, lambda function: function)
    fallback = "eager" if is_eager else "raise"
    found = history(name, lambda function: pb.compile(function, backend="numpy", fallback=fallback))
    for k, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        _check(mine, theirs, (name, k, mine, theirs), 1e-9)
    if is_eager:
        with pytest.raises(pb.aot.NotCompiledError):
            history(name, lambda function: pb.compile(function, backend="numpy", fallback="raise"))


def test_042_a_module_is_reloaded(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "a_module_of_mine.py"
    path.write_text("K = 2.0\n\ndef scaled(x):\n    return x * K\n")
    module = importlib.import_module("a_module_of_mine")
    try:
        f = pb.compile(lambda x: module.scaled(x) + module.K, fallback="raise", backend="numpy")
        assert f(pb.ones(1)).item() == 4.0
        path.write_text("K = 3.5\n\ndef scaled(x):\n    return x - K\n")
        exec(path.read_text(), vars(module))
        assert f(pb.ones(1)).item() == 1.0
    finally:
        del sys.modules["a_module_of_mine"]


def test_050_051_large_arrays():
    large = np.ones(1_000_000)
    operand = pb.compile(lambda x: (x * large).sum(), fallback="raise", backend="numpy")
    looked = pb.compile(lambda x: x * large.mean(), fallback="raise", backend="numpy")
    x = pb.ones(1_000_000)
    for value in (1.0, 2.0, 3.0):
        large[5] = value
        assert operand(x).item() == large.sum()
        assert looked(pb.ones(1)).item() == large.mean()


def test_062_two_closures_of_one_code():
    def make(k):
        return pb.compile(lambda x: x * k, fallback="raise", backend="numpy")

    two, three = make(2.0), make(3.0)
    assert [two(pb.ones(1)).item(), three(pb.ones(1)).item(), two(pb.ones(1)).item()] == [2.0, 3.0, 2.0]


def test_063_a_global_that_changes_during_a_trace_is_not_mixed():
    s, begun, done = State(k=1.0), threading.Event(), threading.Event()

    def f(x):
        first = x * s.k
        begun.set()
        done.wait(10)
        return first - x * s.k

    def change():
        begun.wait(10)
        s.k = 5.0
        done.set()

    thread = threading.Thread(target=change)
    thread.start()
    compiled = pb.compile(f, backend="numpy", side_effects="trace")
    compiled(pb.ones(1))
    thread.join()
    assert compiled(pb.ones(1)).item() == 0.0 and compiled(pb.ones(1)).item() == 0.0


def test_065_a_captured_tensor_is_gone():
    s = State(w=pb.ones(2))
    f = pb.compile(lambda x: x * s.w, fallback="raise", backend="numpy")
    f(pb.ones(2))
    del s.w
    with pytest.raises(AttributeError, match="w"):
        f(pb.ones(2))
    s.w = pb.full(2, 3.0)
    assert f(pb.ones(2)).tolist() == [3.0, 3.0]


def drawn_until(x, rng, old):
    while x.sum() < 5:
        x = x + rng.uniform()
    return x


DRAWS = {
    "one": lambda x, rng, old: x * rng.normal(size=2) + rng.uniform(),
    "of a RandomState": lambda x, rng, old: x * old.randn(2) + old.rand() + old.normal(1.0, 2.0, size=(2,)),
    "of numpy.random": lambda x, rng, old: x * np.random.normal(size=2) + np.random.rand() + np.random.randint(9),
    "a branch": lambda x, rng, old: x * 2 if rng.random() < 0.5 else x * rng.normal(),
    "a loop": drawn_until,
    "an index": lambda x, rng, old: x[rng.integers(2)] * x + rng.integers(0, 5, size=2),
    "results": lambda x, rng, old: (x * 1, rng.poisson(3.0), rng.integers(10), rng.random(), old.randint(5)),
    "with pb.random": lambda x, rng, old: pb.random.normal(generator=rng) * x if x.sum() > 2 else rng.normal() * x,
    "a list": lambda x, rng, old: x * np.array([rng.normal(), 2.0]),
    "a seed": lambda x, rng, old: (x * np.random.rand(), np.random.seed(3), x * np.random.rand(2))[2],
    "adapted": pb.func.adapt(lambda x, rng, old: x * np.random.randn() + rng.normal(0.0, 2.0) * np.ones(2)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_057_058_112_138_every_call_draws(name):
    """The numbers, gradients and states of generators are those of eager code; so are the types of single numbers."""
    rows = []
    for is_compiled in (False, True):
        rng, old = np.random.default_rng(3), np.random.RandomState(4)
        np.random.seed(1)
        call = lambda x, rng=rng, old=old: DRAWS[name](x, rng, old)
        call, row = pb.compile(call, fallback="raise", backend="numpy") if is_compiled else call, []
        for k in range(6):
            x = leaf([1.0 + k % 2, 0.5])
            found = call(x)
            y, *others = found if isinstance(found, tuple) else (found,)
            row.append([y.detach().numpy(), pb.autograd.grad((y * y).sum(), x)[0].numpy(), others])
        rows.append([row, rng.normal(), old.normal(), np.random.rand()])
    _check(rows[1], rows[0], name, 1e-12)


@pytest.mark.parametrize("method", ["shuffle", "choice", "bytes"])
def test_057_other_draws_run_as_they_are(method):
    rng = np.random.default_rng(0)
    with pytest.raises(pb.aot.NotCompiledError, match="rng"):
        pb.compile(lambda x: (x, getattr(rng, method)(np.arange(3)))[0], fallback="raise")(pb.ones(2))


@pytest.mark.filterwarnings("ignore:.*without being compiled")
def test_080_a_write_to_what_overlaps_an_argument():
    rows = []
    for wrapped in (lambda f: f, lambda f: pb.compile(f, backend="numpy")):
        base = pb.tensor([1.0, 2.0, 3.0])
        k = base[:2]

        def f(x, k=k):
            k.mul_(2)
            return x * k

        call = wrapped(f)
        rows.append([(call(base[1:]).tolist(), base.tolist(), base._version) for _ in range(3)])
    assert rows[0] == rows[1]


@pytest.mark.filterwarnings("ignore:.*without being compiled")
def test_088_a_hook_on_a_captured_leaf():
    rows = []
    for wrapped in (lambda f: f, lambda f: pb.compile(f, backend="numpy")):
        w, seen = leaf([1.0, 2.0]), []
        w.register_hook(lambda g, seen=seen: seen.append(g.tolist()))
        call = wrapped(lambda x, w=w: (w * x).sum())
        for k in range(3):
            call(pb.tensor([1.0, k])).backward()
        rows.append((seen, w.grad.tolist()))
    assert rows[0] == rows[1]


def told(a, x):
    return x * 2 if isinstance(a, np.ndarray) else x * 3


def told_by_type(a, x):
    return x * 2 if type(a) is np.ndarray and isinstance(type(x), type) else x * 3


def told_of_tensors(a, x):
    return x * 2 if isinstance(a, (float, pb.Tensor)) or not isinstance(a * x, pb.Tensor) else x * 3


def told_of_results(a, x):
    return x * 2 if isinstance(a.sum(), float) else x * 3


@pytest.mark.filterwarnings("ignore:.*without being compiled")
@pytest.mark.parametrize("function", [told, told_by_type, told_of_tensors, told_of_results])
def test_001_a_function_that_asks_for_arrays_is_told_what_they_are(function):
    """In a trace arrays are tensors. What is computed of them alone could be of either kind, and is not told."""
    a, x = np.ones(2), pb.ones(2)
    compiled = pb.compile(function, backend="numpy", fallback="eager" if function is told_of_results else "raise")
    assert [compiled(a, x).tolist() for _ in range(2)] == [function(a, x).tolist()] * 2
    if function is told_of_results:
        with pytest.raises(pb.aot.NotCompiledError, match="asks for the type"):
            pb.compile(function, fallback="raise")(a, x)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_001_an_array_comes_back_beside_views_of_it(backend):
    compiled = pb.compile(lambda a: (a * 2, a, a[:1]), fallback="raise", backend=backend)
    for _ in range(2):
        a = np.array([1.0, 2.0])
        doubled, same, view = compiled(a)
        assert same is a and np.shares_memory(view.numpy(), a) and doubled.tolist() == [2.0, 4.0]


def appended_to(x, out):
    out.append(x * 2)
    return x


def updated(x, params):
    params["w"] = params["w"] - 0.1 * x
    params.setdefault("count", 0)
    params["count"] += 1
    return params["count"] * x


def nested_items(x, tree):
    tree["parts"][0]["sum"] = x.sum()
    tree["parts"][1] = [x, 1.0]
    return x


def in_an_arm(x, log):
    if x.sum() > 2:
        log["large"] = x * 3
    return x


@pytest.mark.parametrize("function, make", [
    (appended_to, list), (updated, lambda: {"w": pb.ones(2)}), (in_an_arm, dict),
    (nested_items, lambda: {"parts": [{}, None]}),
], ids=["append", "update", "arm", "nested"])  # fmt: skip
def test_046_what_is_done_to_a_container_that_is_given_is_done(function, make):
    rows = []
    for call in (function, pb.compile(function, fallback="raise", backend="numpy")):
        container, row = make(), []
        for k in range(5):
            y = call(leaf([1.0, float(k)]), container)
            row.append(appearance([y, container]))
        rows.append(row)
    _check(rows[1], rows[0], function.__name__, 1e-12)


def test_046_by_keyword_and_ahead_of_time():
    given = {"w": pb.ones(2)}
    compiled = pb.compile(updated, fallback="raise", backend="numpy")
    for _ in range(3):
        compiled(x=pb.ones(2), params=given)
    assert given["count"] == 3 and given["w"].tolist() == [pytest.approx(0.7)] * 2
    with pytest.raises(pb.aot.NotCompiledError, match=r"changes what is in args\[1\]"):
        pb.aot.joint_graph(updated, pb.ones(2, requires_grad=True), {"w": pb.ones(2)})


@pytest.mark.filterwarnings("ignore:.*without being compiled")
@pytest.mark.parametrize("first", ["one", "two"])
def test_046_one_container_in_two_places(first):
    def f(x, a, b):
        a["k"] = x * 2
        return b.get("k", x) * 3

    compiled = pb.compile(f, backend="numpy")
    for is_one in (first == "one", True, False, True):
        a = {"k": pb.ones(1)}
        b = a if is_one else {"k": pb.ones(1)}
        assert compiled(pb.ones(1), a, b).item() == (6.0 if is_one else 3.0) and a["k"].item() == 2.0


def test_038_containers_that_are_found_come_back_themselves():
    items, table = [1.0], {"a": pb.ones(1)}

    def f(x):
        items.append(x.sum().item())
        table["a"] = table["a"] + x
        return items, table, [items, x * 2]

    compiled = pb.compile(f, fallback="raise", backend="numpy")
    for k in range(4):
        first, second, (third, _) = compiled(pb.ones(1) * k)
        assert first is items and second is table and third is items
    assert items == [1.0, 0.0, 1.0, 2.0, 3.0] and table["a"].tolist() == [7.0]


def test_002_an_array_of_the_function_that_is_written_after_its_use_is_another_constant():
    def f(x):
        weights = np.ones(3)
        first = x * weights
        weights[0] = 5.0
        return first + weights * x

    check_calls(f, [lambda: [pb.tensor([1.0, 2.0, 3.0])]], times=2)
