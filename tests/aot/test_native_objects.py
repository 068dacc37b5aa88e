"""What native code makes besides arrays, accumulators of leaves and tensors on results, is as Python makes it."""

import ctypes
import gc
import sys
import threading
import weakref

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback._compile import compile
from pullback.aot._call import accumulators as _sinks
from pullback.aot._call.fast_call import MISS
from pullback.compiler.machine import structs
from pullback.compiler.machine import structs as slots
from pullback.core.state import next_stamp
from pullback.errors import InternalError
from pullback.tape.accumulate import AccumulateGrad, accumulator_of, accumulators_of
from pullback.tensors.tensor import Leaf, Tensor

pytestmark = pytest.mark.skipif(
    not structs.are_as_expected(), reason="native code does not know the objects of this interpreter, as without a GIL"
)


@pytest.fixture(scope="module")
def native():
    function = _sinks.native_or_not()
    assert function is not accumulators_of
    return function


def leaf(number=3):
    return pb.tensor(np.arange(1.0, 1 + number), requires_grad=True)


def test_new_accumulators_are_as_python_makes_them(native):
    x, y = leaf(3), leaf(4)
    before = next_stamp()
    found = native(x, y)
    for tensor, node in zip((x, y), found, strict=True):
        assert type(node) is AccumulateGrad and node.variable is tensor and node.spec is tensor._spec
        assert node.next == () and node.rare is None and tensor._node.accumulator() is node
    assert [node.seq for node in found] == [before + 1, before + 2]
    assert found == native(x, y) == accumulators_of(x, y) and native() == ()
    pb.autograd.backward((x.sum() * y.sum(),))
    assert x.grad.tolist() == [10.0] * 3


def test_accumulators_that_live_are_found_and_others_made_anew(native):
    x, y = leaf(), leaf()
    kept = accumulator_of(x)
    first = native(x, y)
    assert first[0] is kept
    gone = weakref.ref(first[1])
    del first
    assert gone() is None and native(y)[0].variable is y


def test_nothing_is_kept_and_nothing_is_given_away(native):
    xs = [leaf() for _ in range(4)]
    counted = (None, (), AccumulateGrad, next_stamp, *xs, *(x._node for x in xs))
    native(*xs)
    before = [sys.getrefcount(thing) for thing in counted]
    for _ in range(500):
        native(*xs)
    after = [sys.getrefcount(thing) for thing in counted]
    assert all(abs(one - other) < 20 for one, other in zip(before, after, strict=True))
    gc.collect()
    gc.disable()
    try:
        watched = [weakref.ref(x) for x in xs]
        del xs, counted
        assert [ref() for ref in watched] == [None] * 4
    finally:
        gc.enable()


def test_what_is_no_leaf_goes_the_slow_way(native):
    with pytest.raises(AttributeError):
        native(leaf(), pb.ones(3))
    with pytest.raises(AttributeError):
        native(leaf() * 2)


def same(these, those):
    return all(one is other for one, other in zip(these, those, strict=True))


def test_threads_that_ask_at_once_get_one_accumulator(native):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30):
            xs = [leaf(1) for _ in range(20)]
            found = []
            start = threading.Barrier(4)

            def ask(function, xs=xs, found=found, start=start):
                start.wait()
                found.append([function(x)[0] for x in xs])

            threads = [threading.Thread(target=ask, args=(f,)) for f in (native, accumulators_of) * 2]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(found) == 4 and all(map(same, found, found[1:]))
    finally:
        sys.setswitchinterval(interval)


def test_python_makes_accumulators_until_there_were_many(monkeypatch):
    monkeypatch.setattr(_sinks, "_calls", 0)
    monkeypatch.setattr(_sinks, "_MANY", 3)
    monkeypatch.setattr(_sinks, "accumulators", _sinks._counted)
    call = compile(lambda x, y: (x * y).sum(), fallback="raise")
    for number in range(6):
        x, y = leaf(), leaf()
        call(x, y).backward()
        assert x.grad.tolist() == y.tolist()
        assert (_sinks.accumulators is _sinks._counted) is (number < 3)  # the first call takes the general way


def test_python_goes_on_if_native_code_can_not_be_made(monkeypatch):
    monkeypatch.setattr(structs, "are_as_expected", lambda: False)
    assert _sinks.native_or_not() is accumulators_of
    monkeypatch.setattr(_sinks, "makers", [])
    assert _sinks.native_or_not() is accumulators_of


def test_slots_are_found_and_other_attributes_refused():
    assert slots.offset_of(Leaf, "accumulator") == 16
    x = pb.ones(3)
    for name in ("_data", "_spec", "_meta"):
        assert ctypes.c_int64.from_address(id(x) + slots.offset_of(Tensor, name)).value == id(getattr(x, name))
    for name in ("shape", "note"):  # a property, and what goes into the dictionary
        with pytest.raises(InternalError):
            slots.offset_of(Tensor, name)


# Tensors on results. -------------------------------------------------------------------------------------------------


def shortened(f, *args):
    compiled = compile(f, fallback="raise", backend="llvm")
    compiled(*args)
    return compiled._calls[0]


def test_a_single_result_is_returned_as_a_tensor():
    call = shortened(lambda x: x * 2, np.ones(3))
    made = call.__globals__["forward"](np.ones(3))
    assert type(made) is Tensor and made.tolist() == [2.0] * 3 and made._spec is pb.ones(3)._spec
    assert made._node is made._counter is made._extra is made._meta is None and made._data.flags.owndata
    assert call.__globals__["forward"](np.ones(4)) is MISS and call.__globals__["forward"](3) is MISS
    made.note = "it has a dictionary"
    assert vars(made) == {"note": "it has a dictionary"} and weakref.ref(made)() is made


def test_saved_results_stay_arrays():
    x = leaf()
    call = shortened(lambda x: (pb.exp(x), pb.sin(x) * pb.exp(x)), x)
    forward = call.__globals__["forward"]
    assert sum(type(each) is Tensor for each in forward(x._data)) == 2
    one, other = call((x,))
    assert all(type(saved) is np.ndarray for saved in one._node.saved)
    (one * other).sum().backward()
    expected = leaf()
    (pb.exp(expected) * pb.sin(expected) * pb.exp(expected)).sum().backward()
    np.testing.assert_allclose(x.grad._data, expected.grad._data, rtol=1e-14)


def test_results_are_freed_with_their_tensors():
    call = shortened(lambda x: (x * 2, x + 1), np.ones(1000))
    x = np.ones(1000)
    spec = call.__globals__["forward"](x)[0]._spec
    before = sys.getrefcount(None), sys.getrefcount(Tensor), sys.getrefcount(spec), sys.getrefcount(x)
    for _ in range(300):
        pair = call((x,))
    watched = weakref.ref(pair[0]), weakref.ref(pair[1]._data)
    del pair
    assert [ref() for ref in watched] == [None, None]
    after = sys.getrefcount(None), sys.getrefcount(Tensor), sys.getrefcount(spec), sys.getrefcount(x)
    assert all(abs(one - other) < 20 for one, other in zip(before, after, strict=True))


def test_the_portable_way_makes_tensors_in_python(monkeypatch):
    monkeypatch.setattr(structs, "are_as_expected", lambda: False)
    x, y = leaf(), leaf()
    call = shortened(lambda x, y: (x * y).sum(), x, y)
    assert "Tensor()" in call.source and "sinks" not in call.source
    call((x, y)).backward()
    assert x.grad.tolist() == y.tolist()
