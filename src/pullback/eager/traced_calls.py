"""What `eager/segments.py` compiles: a call of an operator, or the formula of its node, as a native function of arrays.

Both are traced, as a compiled function is: the same rules run on arrays without data, and what they do is the graph.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from pullback import compiler
from pullback.core.spec import Spec
from pullback.core.state import changed
from pullback.declare.derive import pull
from pullback.declare.op import Op
from pullback.graph.ir import empty_like_type, type_of
from pullback.graph.pipeline import JOINT, run
from pullback.payloads.traced import Recorder, Storage, TracedArray
from pullback.tape.input_metadata import reduce_gradient

_MOST_BYTES = 8 << 20
"""Memory that a function may keep to work in, unless it is not more than one of its arrays."""
_GOOD = 2  # what is called on large arrays is compiled once, and well


Slow = Callable[..., Any] | None
"""What computes the same with NumPy, for native code of small arrays, which leaves to it whatever is unusual."""


def native_call(
    op: Op, operands: Sequence[Any], params: dict[str, Any], out: Any, slow: Slow = None, finite: bool = False
) -> Callable[..., Any] | None:
    """A function of the arrays among the operands that returns results like `out` in a tuple; None if there is none.

    With `finite` what is not finite is left to `slow`; without that there is one more result if some are floating
    numbers, which is 0 if all of them are finite, and NaN else: the loops that compute them find it out by the way."""
    wanted = [type_of(np.asarray(x)) for x in (out if isinstance(out, (tuple, list)) else (out,))]

    def compute(given: list[Any]) -> Any:
        made = TracedArray.evaluate_op(op, given, params)
        several = made if type(made) is tuple else (made,)
        if [type_of(x.shadow) for x in several] != wanted:
            return ()
        telling = _telling(op, several, params) if finite and slow is None else []
        return (*several, _zero_or_nan(telling)) if telling else several

    return _compiled(op.name, compute, operands, slow, finite)


def _telling(op: Op, found: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Results that are not finite if any are: the ends of scans, where everything arrives, and statistics of rows."""
    floating = [x for x in found if x.dtype.char in "fd"]
    if op.flow == "scans":
        at = slice(0, 1) if params.get("reverse") else slice(-1, None)
        return [x[(*(slice(None),) * params["axis"], at)] for x in floating]
    few = [x for x in floating if 4 * x.size < found[0].size]
    return few or floating


def _zero_or_nan(arrays: list[Any]) -> Any:
    """The sum of all elements times 0."""
    total: Any = 0
    for shape in dict.fromkeys(x.shape for x in arrays):
        total = total + functools.reduce(operator.add, [x * 0.0 for x in arrays if x.shape == shape]).sum()
    return total


def native_formula(
    op: Op, gradients: Sequence[Any], needs: tuple[bool, ...], operands: dict[int, Any],
    specs: tuple[Spec | None, ...], outputs: dict[int, Any], params: dict[str, Any], slow: Slow = None,
) -> Callable[..., Any] | None:  # fmt: skip
    """A function of the arrays among gradients, operands and outputs, in this order, that returns the gradients that
    are needed, summed over axes that were broadcast; None if there is none."""

    def compute(given: list[Any]) -> Any:
        count = len(gradients)
        read = dict(zip(operands, given[count:], strict=False))
        made = dict(zip(outputs, given[count + len(operands) :], strict=True))
        found = pull(op, tuple(given[:count]), needs, read.__getitem__, specs.__getitem__, made.__getitem__, params)
        return [_fitted(g, spec) for g, spec, needed in zip(found, specs, needs, strict=True) if needed]

    values = [*gradients, *operands.values(), *outputs.values()]
    return _compiled(f"gradients of {op.name}", compute, values, slow)


def _fitted(gradient: Any, spec: Spec | None) -> Any:
    assert spec is not None
    return gradient if gradient is None or gradient.shape == spec.shape else reduce_gradient(gradient, spec.shape)


def _compiled(
    name: str, compute: Callable[[list[Any]], Any], values: Sequence[Any], slow: Slow, finite: bool = False
) -> Callable[..., Any] | None:
    recorder = Recorder(name)
    recorder.stops = False
    given = [_input(recorder, x) if type(x) is np.ndarray else x for x in values]
    known = {id(x.storage): k for k, x in enumerate(x for x in given if type(x) is TracedArray)}
    with changed(
        trace=recorder, grad=False, inference=False, interceptors=(), transforms=(), vmaps=(), saved_hooks=()
    ), np.errstate(all="ignore"):  # fmt: skip
        try:
            results = compute(given)
        except Exception:  # a rule that asks for values
            return None
    graph = recorder.graph
    places = []  # of the results that are computed; for those that are given, where they are among the arrays
    for x in results:
        if type(x) is not TracedArray:
            return None
        is_given = x.value in graph.inputs
        if is_given != (id(x.storage) in known):
            return None  # a view of an array that is there costs nothing, and a copy is NumPy's
        places.append(known[id(x.storage)] if is_given else None)
        if not is_given:
            graph.add_output(x.value, None)
    recorder.is_open = False
    graph = run(JOINT, graph)
    if not graph.outputs or len({_source(value) for value in graph.outputs}) != len(graph.outputs):
        return None  # nothing is computed, or two results lie in one memory
    made = compiler.compile_llvm(graph, effort=_GOOD, threads=None if slow is None else 1)
    arrays = [x.type for x in (*graph.inputs, *graph.outputs) if x is not None]
    most = max(_MOST_BYTES, *(each.size * each.dtype.itemsize for each in arrays))
    if made.left_to_numpy or sum(each.interface.arena_bytes for each in made.segments) > most:
        return None
    found = made.only_function
    if slow is not None:
        return None if found is None else _whole(found[0], found[1], slow, finite)
    if found is not None and found[1] == [("result", k) for k in range(len(graph.outputs))]:
        function = compiler.reusing(found[0].call)
    else:
        function = _owning(compiler.reusing(made.flat))
    return function if places.count(None) == len(places) else _with_given(function, places)


def _whole(native: Any, places: list[tuple[str, int]], slow: Any, finite: bool) -> Callable[..., Any] | None:
    """A native function that gives its results where `places` says; `slow` gives them in the order of the graph."""
    order = [number for _, number in places]
    if any(kind != "result" for kind, _ in places):
        return None
    if order == sorted(order):
        return native.or_else(slow, finite)
    back, ordered = itemgetter(*[order.index(k) for k in range(len(order))]), itemgetter(*order)
    function = native.or_else(lambda *arrays: back(slow(*arrays)), finite)
    return None if function is None else lambda *arrays: ordered(function(*arrays))


def _with_given(function: Callable[..., Any], places: list[int | None]) -> Callable[..., Any]:
    """The function with some of its arguments among the results."""

    def call(*arrays: Any) -> Any:
        made = iter(function(*arrays))
        return tuple([next(made) if place is None else arrays[place] for place in places])

    return call


def _source(value: Any) -> Any:
    """What a value is a view of."""
    while value.node is not None and value.node.is_view:
        value = value.node.operands[0]
    return value


def _owning(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with arrays in place of views of all that they have: somebody may want to keep one."""

    def call(*arrays: Any) -> Any:
        return tuple([x if x.base is None else _owner(x) for x in function(*arrays)])

    return call


def _owner(x: Any) -> Any:
    base = x.base
    if type(base) is not np.ndarray or base.base is not None or base.size != x.size or not x.flags.c_contiguous:
        return x
    if not base.flags.c_contiguous or base.dtype != x.dtype:
        return x
    base.resize(x.shape, refcheck=False)
    return base


def _input(recorder: Recorder, array: Any) -> TracedArray:
    kind = type_of(array)
    value, shadow = recorder.graph.add_input(kind, None), empty_like_type(kind)
    return TracedArray(Storage(recorder, value, shadow), shadow, value)
