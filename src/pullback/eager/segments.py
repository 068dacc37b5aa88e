"""Native code for whole operators on large arrays: rows, scans, pooling, convolutions, and the formulas of all of them.

The native compiler makes one function of any graph that it understands, and knows how to write operators out as others.
So a call of an operator on large arrays, and the formula of its node, are each a graph of their own, compiled for the
shapes that they have. NumPy computes, and is timed, until it has taken as long as compiling does; then native code is
tried, and stays if it is the faster. Whatever has no native form, or fails, is left to NumPy, which also computes again
what is not finite, so that it complains as it always does. docs/design/native-eager.md tells why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from pullback import eager
from pullback.core.spec import LARGE, Spec
from pullback.declare.derive import pull
from pullback.declare.op import Op
from pullback.eager import large
from pullback.tape.input_metadata import fitted
from pullback.tape.node import released_error
from pullback.tensors.overwrites import UNWRITTEN, disturbed

ndarray = np.ndarray

SECONDS = 0.08
"""Time spent in NumPy on one kind of call after which it is compiled, at first: later it is what compiling took."""
_TRIALS = 12  # calls of new native code that are timed
_MOST = 64  # kinds of calls that are known of one operator
_FLOATS, _OTHERS = frozenset("fd"), frozenset("?bhilqBHILQ")
_NUMBERS = frozenset({int, float, bool, type(None)})
_FAMILIES = frozenset({"random", "custom"})
# What NumPy does not complain about, or only if the operands are not finite to begin with.
_SILENT = frozenset({"moves", "gathers", "joins", "sorts", "puts", "assigns"})
_BOUNDED = ("softmax", "log_softmax")


class Segment:
    """One kind of call. `function` computes it natively; None while NumPy does, and False if NumPy always will."""

    __slots__ = ("best", "function", "spent", "tried", "wasted")

    def __init__(self) -> None:
        self.function: Any = None
        self.spent = 0.0
        self.best = math.inf  # of NumPy's times
        self.tried: list[float] = []
        self.wasted = 0  # results that were not finite, and had to be computed again

    def plainly(self, compute: Callable[[], Any], make: Callable[[Any], Any]) -> Any:
        """Let NumPy compute, and make native code, which gives what lies as this does, if that has come to pay."""
        began = perf_counter()
        out = compute()
        took = perf_counter() - began
        self.spent += took
        self.best = min(self.best, took)
        large.state.spent += took
        state = large.state
        if self.spent >= _price.seconds and state.spent >= large.IMPORT_SECONDS and not state.failed:
            self._make(lambda: make(out))
        return out

    def _make(self, make: Callable[[], Any]) -> None:
        with large.lock:
            if self.function is None:
                began = perf_counter()
                self.function = large.attempted(make) or False
                _price.learn(perf_counter() - began)

    def natively(self, *arrays: Any) -> Any:
        """What native code makes of the arrays; None if it fails, and NumPy has to say what is wrong."""
        try:
            if len(self.tried) >= _TRIALS:
                return self.function(*arrays)
            began = perf_counter()
            out = self.function(*arrays)
            self._try(perf_counter() - began)
            return out
        except Exception:  # not enough memory, a singular matrix
            return None

    def waste(self) -> None:
        """A result was of no use. Where that is usual, NumPy is asked at once."""
        self.wasted += 1
        if self.wasted >= _TRIALS > 0:
            self.function = False

    def _try(self, took: float) -> None:
        self.tried.append(took)
        if len(self.tried) == _TRIALS and min(self.tried) > self.best:
            self.function = False


class _Price:
    """What compiling takes."""

    seconds = SECONDS

    def learn(self, took: float) -> None:
        """It took so long once more."""
        if self.seconds:
            self.seconds += 0.25 * (min(max(took, 0.02), 1.0) - self.seconds)


_price = _Price()


class Segments(dict[Any, Segment]):
    """Those of an operator, or of its formula."""

    def __missing__(self, key: Any) -> Segment:
        if len(self) >= _MOST:
            for old in list(self)[: _MOST // 2]:
                self.pop(old, None)
        found = self[key] = Segment()
        return found


# What tells kinds of calls apart.


def _types(values: Sequence[Any], key: list[Any]) -> bool | None:
    """Add what is known of operands to a key. Is there a large array among them? None if one of them is something else
    than an array that native code can read, or a number."""
    is_large = False
    for x in values:
        if type(x) is ndarray:
            dtype = x.dtype
            if dtype.char in _FLOATS:
                is_large = is_large or x.size >= LARGE
            elif dtype.char not in _OTHERS:
                return None
            if not dtype.isnative:
                return None
            key += (dtype.char, x.shape, x.strides)
        elif type(x) in _NUMBERS:
            key.append(repr(x))
        else:
            return None
    return is_large


def _settings(params: dict[str, Any], key: list[Any]) -> None:
    """Add parameters to a key. Zeros of both signs are equal, and NaN is not: what may hold them is written out."""
    for value in params.values():
        kind = type(value)
        key.append(repr(value) if kind is float or (kind is tuple and value and type(value[0]) is float) else value)


# Kernels.


def watch(op: Op) -> None:
    """Let an operator that has no other way to be native be so on large arrays."""
    if op.native is None and is_written_down(op) and op.fast_rules is None:
        op.native = watched(op)


def is_written_down(op: Op) -> bool:
    """Is there a graph of a call of this operator that is worth compiling? Products of matrices are BLAS's anyway."""
    return not (
        op.is_view or op.takes_payloads or op.spec_rule is None or op.num_outputs is None or op.family in _FAMILIES
        or op.flow == "multiplies"
    )  # fmt: skip


def is_silent(op: Op) -> bool:
    """Does NumPy have nothing to complain about, whatever the results are?"""
    return op.flow in _SILENT or op.name in _BOUNDED


def watched(op: Op) -> Callable[..., Any]:
    """What the kernel of an operator computes, natively if that pays."""
    kernel, segments = op.kernel, Segments()
    silent, count = is_silent(op), op.num_outputs

    def compute(*operands: Any, **params: Any) -> Any:
        key: list[Any] = []
        if not large.state.enabled or not _types(operands, key):
            return kernel(*operands, **params)
        _settings(params, key)
        try:
            segment = segments[tuple(key)]
        except TypeError:  # a parameter that has no hash
            return kernel(*operands, **params)
        if segment.function:
            found = segment.natively(*[x for x in operands if type(x) is ndarray])
            if found is not None and (len(found) == count or found[-1] == 0):
                # path: large segment
                return found[0] if count == 1 else found[:count]
            segment.waste()
            return kernel(*operands, **params)
        if segment.function is False:
            return kernel(*operands, **params)
        return segment.plainly(
            lambda: kernel(*operands, **params),
            lambda out: eager.traced_calls.native_call(op, operands, params, out, finite=not silent),
        )

    return compute


# Formulas.


_formulas: dict[str, Segments] = {}


def is_large(gradients: Sequence[Any], specs: Sequence[Spec | None]) -> bool:
    """Is a gradient large, or one of the operands?"""
    for spec in specs:
        if spec is not None and not spec.is_plain and spec.is_real:
            return large.state.enabled
    return large.state.enabled and any(type(g) is ndarray and g.size >= LARGE for g in gradients)


def pulled(
    op: Op, gradients: tuple[Any, ...], needs: tuple[bool, ...], operand: Callable[[int], Any],
    specs: tuple[Spec | None, ...], output: Callable[[int], Any], params: dict[str, Any],
) -> Sequence[Any] | None:  # fmt: skip
    """As `derive.pull`, where `is_large` says so; None where that is to be called."""
    reads, read_outputs = op.reads(needs)
    values = [*gradients, *map(operand, reads), *map(output, read_outputs)]
    key: list[Any] = [needs, *specs]
    if _types(values, key) is None:
        return None
    _settings(params, key)
    segments = _formulas.get(op.name)
    if segments is None:
        segments = _formulas[op.name] = Segments()
    try:
        segment = segments[tuple(key)]
    except TypeError:
        return None
    if segment.function:
        found = segment.natively(*[x for x in values if type(x) is ndarray])
        if found is not None:
            # path: large segment backward
            rest = iter(found)
            return [next(rest) if needed else None for needed in needs]
    if segment.function is None:
        count = len(gradients)
        operands = dict(zip(reads, values[count:], strict=False))
        outputs = dict(zip(read_outputs, values[count + len(reads) :], strict=True))
        return segment.plainly(
            lambda: pull(op, gradients, needs, operands.get, specs.__getitem__, outputs.get, params),
            lambda out: eager.traced_calls.native_formula(op, gradients, needs, operands, specs, outputs, params),
        )
    return None


def pull_of_large(op: Op, plain: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """The `pull` of nodes for large arrays, of `eager/direct.py` and of elementwise operators on operands that are
    broadcast; `plain` is that of small ones."""

    def pull(node: Any, gradient: Any, keep: bool) -> tuple[Any, ...]:
        if not large.state.enabled:
            return plain(node, gradient, keep)

        def operand(position: int) -> Any:
            data, epoch = node.operand_slots(position)
            if data is None and epoch is not UNWRITTEN:
                raise released_error(node.name())
            if (disturbed and id(data) in disturbed) if epoch is None else epoch.next is not None:
                return node.operand_value(position, False)
            return data

        def output(position: int) -> Any:
            data = getattr(node, f"out{position or ''}_data")
            if data is None:
                raise released_error(node.name())
            return node.saved_handle("output", position).unpack(node, False) if disturbed else data

        needs = tuple([behind is not None for behind in node.next])
        specs = node.operand_specs or tuple([None if behind is None else behind.spec for behind in node.next])
        several = type(gradient) is list
        gradients = tuple(gradient) if several else (gradient, *(None,) * (node.num_outputs - 1))
        found = pulled(op, gradients, needs, operand, specs, output, node.params)
        if found is None:
            return plain(node, gradient, keep)
        if not keep:
            node.release()
        return tuple([fitted(g, behind) for g, behind in zip(found, node.next, strict=True)])

    return pull
