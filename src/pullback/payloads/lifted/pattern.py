"""`PatternArray`: values, and for every element the set of inputs that it may depend on, by number (`IndexSets`).

The sets follow from the `flow` of the operator, and not from values: an element that happens to be multiplied by zero
still depends on its factor. What is decided by values, indices and branches, is followed as this call takes it.

| operators                                     | sets of the result                                             |
|-----------------------------------------------|----------------------------------------------------------------|
| not differentiable, integer results           | none: the result is a plain payload                            |
| elementwise                                   | unions, broadcast; an operand with derivative 0 does not count |
| views, joins, reads at an index, ...          | the kernel, on numbers of sets in place of values              |
| sums into places (the adjoints of these)      | unions by place, which the adjoint finds                       |
| reductions, softmax, Fourier transforms       | the union along the axes                                       |
| scans                                         | the union with everything before                               |
| contractions                                  | unions along the labels that do not remain                     |
| products with a constant matrix               | unions along its entries that are not zero                     |
| linear algebra                                | the union over each matrix of a stack                          |
| all others                                    | the union of everything                                        |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pullback.core.spec import spec_of
from pullback.declare.derive import pull
from pullback.declare.op import Op, registry
from pullback.payloads.batched.array import BatchedArray
from pullback.payloads.batched.evaluate import across_examples
from pullback.payloads.batched.indexing import read, store
from pullback.payloads.evaluate import evaluate
from pullback.payloads.lifted import (
    Lift,
    LiftedArray,
    innermost,
    is_continuous,
    laid_out_beside,
    newest_lift,
    zeros_beside,
)
from pullback.payloads.lifted.index_sets import IndexSets
from pullback.payloads.operators import bind_operators

_MOST_PAIRS = 5_000_000  # entries of constant matrices that are looked at one by one; beyond it they count as dense


class PatternLift(Lift):
    """A running detection of what depends on what."""

    def __init__(self, count: int) -> None:
        super().__init__(PatternArray, "jacobian_sparsity")
        self.sets = IndexSets(count)

    def constant(self, payload: Any) -> PatternArray:
        """Values that depend on nothing."""
        return PatternArray(self, [payload, zeros_beside(payload, np.int64)])

    def opaque(self, name: str, given: list[LiftedArray], results: list[Any]) -> list[Any]:
        """Every element depends on all that any of the given arrays depends on."""
        numbers = np.concatenate([np.zeros(1, np.int64), *(innermost(x.parts[1]).reshape(-1) for x in given)])
        union = self.sets.along_last(numbers)
        return [PatternArray(self, [x, np.full(x.shape, union)]) if is_continuous(x) else x for x in results]


class PatternArray(LiftedArray):
    """Values, and numbers of the sets of inputs they may depend on."""

    __slots__ = ()

    @property
    def numbers(self) -> Any:
        """The number of every element's set."""
        return self.parts[1]

    def varies(self) -> bool:
        """Does an element depend on an input?"""
        return bool(np.any(innermost(self.parts[1])))


def evaluate_pattern(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The result of `op` on operands of which at least one is a `PatternArray`."""
    lift = newest_lift(operands)
    own = [isinstance(x, PatternArray) and x.lift is lift for x in operands]
    values = [x.parts[0] if lifted else x for x, lifted in zip(operands, own, strict=True)]
    out = evaluate(op, values, params)
    several = isinstance(out, (tuple, list))
    outs = out if several else (out,)
    if op.not_differentiable_because is not None or not any(map(is_continuous, outs)):
        return out
    numbers = [x.parts[1] if lifted else None for x, lifted in zip(operands, own, strict=True)]
    found = _Call(op, values, numbers, params, lift.sets, outs).found()
    results = []
    for value, its in zip(outs, found if isinstance(found, (tuple, list)) else [found] * len(outs), strict=True):
        if is_continuous(value):
            results.append(PatternArray(lift, [value, its if op.is_view else _own(its, value)]))
        else:
            results.append(value)
    return tuple(results) if several else results[0]


def _own(numbers: Any, values: Any) -> Any:
    """Numbers in memory of their own and of the values' shape."""
    if numbers.shape != values.shape:
        numbers = evaluate(registry["broadcast_to"], (numbers,), {"shape": values.shape})
    copy = numbers.copy() if type(numbers) is np.ndarray else evaluate(registry["copy"], (numbers,), {"order": "C"})
    return laid_out_beside(copy, values)


class _Call:
    """One call of an operator: which sets do the elements of its results have?"""

    def __init__(
        self, op: Op, values: list[Any], numbers: list[Any], params: dict[str, Any], sets: IndexSets, outs: Any
    ) -> None:
        self.op, self.values, self.numbers, self.params = op, values, numbers, params
        self.sets, self.outs = sets, outs

    def found(self) -> Any:
        """Numbers for all results together, or a tuple with those of each."""
        return _RULES.get(self.op.flow, _Call.dense)(self)

    # Sets of operands, as far as they have any.

    def present(self) -> list[Any]:
        return [its for its in self.numbers if its is not None]

    def united(self, several: Iterable[Any]) -> Any:
        """The unions of arrays of sets, which broadcast."""
        total: Any = None
        for its in several:
            total = its if total is None else across_examples(self.sets.pairwise, total, its)
        return np.zeros((), np.int64) if total is None else total

    def along(self, numbers: Any, axes: Iterable[int], keepdims: bool = True) -> Any:
        """The unions along these axes."""
        axes = sorted(axis % numbers.ndim for axis in axes)
        if not axes:
            return numbers
        kept = [axis for axis in range(numbers.ndim) if axis not in axes]
        moved = evaluate(registry["permute_dims"], (numbers,), {"axes": (*kept, *axes)})
        shape = tuple(numbers.shape[axis] for axis in kept)
        count = int(np.prod([numbers.shape[axis] for axis in axes], dtype=np.int64))
        rows = evaluate(registry["_reshape"], (moved,), {"shape": (*shape, count)})
        out = across_examples(self.sets.along_last, rows)
        if keepdims:
            wide = tuple(1 if axis in axes else length for axis, length in enumerate(numbers.shape))
            out = evaluate(registry["_reshape"], (out,), {"shape": wide})
        return out

    # Rules.

    def elementwise(self) -> Any:
        partials = self.op.partials
        return self.united(
            its for position, its in enumerate(self.numbers)
            if its is not None and (partials is None or partials[position].constant != 0)
        )  # fmt: skip

    def moved(self) -> Any:
        """The kernel, on numbers; what has no sets, has empty ones, and indices stay what they are."""
        operands = []
        for value, its in zip(self.values, self.numbers, strict=True):
            if its is not None:
                operands.append(its)
            elif isinstance(value, float | complex) or is_continuous(value):
                operands.append(np.zeros(np.shape(value), np.int64) if hasattr(value, "shape") else 0)
            else:
                operands.append(value)
        return evaluate(self.op, operands, self.params)

    def ordered(self) -> Any:
        """The numbers of the elements, in the order that the values are brought into."""
        x, axis = self.values[0], self.params.get("axis", self.values[0].ndim - 1)
        order = evaluate(registry["_argsort"], (x,), self.params)
        return evaluate(registry["_gather"], (self.numbers[0], order), {"axis": axis, "distinct": True})

    def reduced(self) -> Any:
        axes, keepdims = self.params["axis"], self.params.get("keepdims", False)
        return self.along(self.numbers[0], axes if isinstance(axes, tuple) else (axes,), keepdims)

    def spread_along_axes(self) -> Any:
        """Along `axis` or `axes` every element of the result depends on every element of the operand."""
        axes = self.params["axes"] if "axes" in self.params else self.params["axis"]
        return self.along(self.numbers[0], axes if isinstance(axes, tuple) else (axes,))

    def scanned(self) -> Any:
        numbers = self.united(self.present())
        if not numbers.ndim:
            return numbers
        axis, ndim = self.params["axis"] % numbers.ndim, numbers.ndim
        order = (*(k for k in range(ndim) if k != axis), axis)
        back = tuple(int(k) for k in np.argsort(order))
        last = evaluate(registry["permute_dims"], (numbers,), {"axes": order})
        if self.params["reverse"]:
            out = across_examples(lambda rows: self.sets.running(rows[..., ::-1])[..., ::-1], last)
        else:
            out = across_examples(self.sets.running, last)
        return evaluate(registry["permute_dims"], (out,), {"axes": back})

    def contracted(self) -> Any:
        """Einstein sums: the union over a label of both factors is the union of the unions."""
        inputs, _, output = self.params["subscripts"].partition("->")
        parts = [
            self.labelled(its, term, output)
            for its, term in zip(self.numbers, inputs.split(","), strict=True)
            if its is not None
        ]
        return self.united(parts)

    def labelled(self, numbers: Any, term: str, output: str) -> Any:
        """The sets of a factor with an axis for every label of the output, of length 1 where the factor lacks it."""
        for label in term:
            while term.count(label) > 1:
                first, second = term.index(label), term.rindex(label)
                numbers = evaluate(
                    registry["diagonal"], (numbers,), {"offset": 0, "axis1": first, "axis2": second}
                )
                term = term[:first] + term[first + 1 : second] + term[second + 1 :] + label
        numbers = self.along(numbers, [k for k, label in enumerate(term) if label not in output], keepdims=False)
        term = "".join(label for label in term if label in output)
        shared = [label for label in output if label in term]
        numbers = evaluate(registry["permute_dims"], (numbers,), {"axes": tuple(term.index(k) for k in shared)})
        lengths = dict(zip(shared, numbers.shape, strict=True))
        return evaluate(registry["_reshape"], (numbers,), {"shape": tuple(lengths.get(k, 1) for k in output)})

    def multiplied(self) -> Any:
        """Matrix products of stacks of matrices, and of vectors."""
        a, b = self.numbers
        if a is None and self.is_constant_matrix(0, b):
            return self.through_constant(self.values[0], b)
        if b is None and self.is_constant_matrix(1, a):
            out = self.through_constant(self.values[1].T, a.T)
            return out.T
        parts = []
        if a is not None:
            rows = self.along(a, [-1], keepdims=False)
            parts.append(rows if self.values[1].ndim == 1 else rows[..., None])
        if b is not None:
            columns = self.along(b, [-1 if b.ndim == 1 else -2], keepdims=False)
            parts.append(columns[..., None, :] if self.values[0].ndim > 1 and b.ndim > 1 else columns)
        return self.united(parts)

    def is_constant_matrix(self, position: int, other: Any) -> bool:
        """Is this factor a matrix from outside of the function? What the function made is lifted, and may vary."""
        matrix = self.values[position]
        if type(matrix) is not np.ndarray or matrix.ndim != 2 or other.ndim > 2 or type(other) is not np.ndarray:
            return False
        entries = int(np.count_nonzero(matrix))
        return entries * (other.size // max(len(other.T if position else other), 1)) <= _MOST_PAIRS

    def through_constant(self, matrix: Any, numbers: Any) -> Any:
        """The sets of `matrix @ x`, each united over the entries of its row that are not zero."""
        rows, places = np.nonzero(matrix)
        columns = numbers.reshape(len(numbers), -1)
        groups = rows[:, None] * columns.shape[1] + np.arange(columns.shape[1])
        count = len(matrix) * columns.shape[1]
        found = self.sets.grouped(columns[places].reshape(-1), groups.reshape(-1), count)
        return found.reshape((len(matrix), *numbers.shape[1:]))

    def convolved(self) -> Any:
        """Along every axis an element depends on a window as long as the other factor is."""
        ndim, valid = self.params["ndim"], self.params["valid"]
        if self.is_batched():
            return self.dense()
        x, y = (value.shape[value.ndim - ndim :] for value in self.values)
        parts = []
        for numbers, lengths in zip(self.numbers, (y, x), strict=True):
            if numbers is not None:
                for axis, length in zip(range(-ndim, 0), lengths, strict=True):
                    numbers = self.windows(numbers, axis, length)
                parts.append(numbers)
        inside = tuple(slice(short - 1, long) if valid else slice(None) for long, short in zip(x, y, strict=True))
        return self.united([numbers[(..., *inside)] for numbers in parts])

    def windows(self, numbers: Any, axis: int, length: int) -> Any:
        """The unions over all windows of this length along an axis, also of those that stand out at its ends."""
        if not length or not numbers.size:
            return np.zeros((), np.int64)
        widths = [(0, 0)] * numbers.ndim
        widths[axis] = (length - 1, length - 1)
        wide = np.pad(numbers, widths)
        return self.sets.along_last(np.lib.stride_tricks.sliding_window_view(wide, length, axis=axis))

    def affine(self) -> Any:
        """`x @ weight.T + bias`."""
        x, weight, bias = self.numbers
        parts = [] if x is None else [self.along(x, [-1])]
        if weight is not None:
            parts.append(self.along(weight, [-1], keepdims=False))
        return self.united(parts if bias is None else [*parts, bias])

    def crossed(self) -> Any:
        return self.united([self.along(its, [-1]) for its in self.present()])

    def collected(self) -> Any:
        """Sums into places: the adjoint of the operator reads, for every element, the place that it is added to."""
        (out,) = self.outs
        if self.is_batched():
            return self.dense()
        places = np.arange(out.size, dtype=np.float64).reshape(out.shape)
        needs = tuple(its is not None for its in self.numbers)
        (read, *_) = pull(
            self.op, (places,), needs, self.values.__getitem__,
            lambda k: spec_of(self.values[k]) if hasattr(self.values[k], "shape") else None, lambda k: out, self.params,
        )  # fmt: skip
        return self.added_at(self.numbers[0], read, out.shape)

    def added_at(self, numbers: Any, places: Any, shape: tuple[int, ...]) -> Any:
        numbers, places = np.broadcast_arrays(numbers, np.rint(places).astype(np.int64))
        size = int(np.prod(shape, dtype=np.int64))
        return self.sets.grouped(numbers.reshape(-1), places.reshape(-1), size).reshape(shape)

    def put(self) -> Any:
        if not self.params["accumulate"]:
            return self.moved()
        target, added, *_ = self.numbers
        parts = [] if target is None else [target]
        if added is not None:
            if self.is_batched():
                return self.dense()
            shape = self.outs[0].shape
            places = np.arange(self.outs[0].size, dtype=np.float64).reshape(shape)
            params = {"template": self.params["template"], "distinct": False}
            read = evaluate(registry["_index"], (places, *self.values[2:]), params)
            parts.append(self.added_at(added, read, shape))
        return self.united(parts)

    def stacked(self) -> Any:
        """Each matrix of a stack on its own, where all operands are stacks of the same shape."""
        depth = self.stack_depth()
        parts = [self.along(its, range(depth, its.ndim), keepdims=False) for its in self.present()]
        total = self.united(parts)
        return tuple(
            evaluate(registry["_reshape"], (total,), {"shape": (*total.shape, *(1,) * (out.ndim - depth))})
            if is_continuous(out) else total
            for out in self.outs
        )  # fmt: skip

    def stack_depth(self) -> int:
        specs = [spec_of(x) for x in self.values if hasattr(x, "shape")]
        if len(specs) != len(self.values):
            return 0
        for depth in range(min(spec.ndim for spec in specs), 0, -1):
            if len({spec.shape[:depth] for spec in specs}) > 1:
                continue
            single = [type(spec)(spec.shape[depth:], spec.dtype) for spec in specs]
            try:
                found = self.op.specs_of(*single, **self.params)
            except (ValueError, TypeError, IndexError, RuntimeError, np.linalg.LinAlgError):
                continue
            shapes = [spec.shape for spec in (found if isinstance(found, (tuple, list)) else (found,))]
            stack = specs[0].shape[:depth]
            if [(*stack, *shape) for shape in shapes] == [out.shape for out in self.outs]:
                return depth
        return 0

    def dense(self) -> Any:
        """Every element depends on everything."""
        return self.united([self.along(its, range(its.ndim), keepdims=False) for its in self.present()])

    def is_batched(self) -> bool:
        return any(type(x) is BatchedArray and bool(x.levels) for x in (*self.numbers, *self.values))

    # Flows of one or two operators.

    def same(self) -> Any:
        return evaluate(registry["_same"], (self.numbers[0],), {})

    def assigned(self) -> Any:
        return np.zeros((), np.int64) if self.numbers[1] is None else self.numbers[1]

    def shifted(self) -> Any:
        return evaluate(self.op, (self.numbers[0],), {**self.params, "fill": 0})

    def cast(self) -> Any:
        return self.numbers[0]

    def as_real(self) -> Any:
        return _own(self.numbers[0][..., None], self.outs[0])

    def as_complex(self) -> Any:
        return self.along(self.numbers[0], [-1], keepdims=False)

    def summed_examples(self) -> Any:
        (numbers,) = self.numbers
        params = {"axis": numbers.ndim, "level": self.params["level"]}
        return across_examples(self.sets.along_last, evaluate(registry["_leave_level"], (numbers,), params))


_RULES: dict[str, Callable[[_Call], Any]] = {
    "elementwise": _Call.elementwise,
    "casts": _Call.cast,
    "moves": _Call.moved,
    "gathers": _Call.moved,
    "joins": _Call.moved,
    "reduces": _Call.reduced,
    "mixes": _Call.spread_along_axes,
    "sorts": _Call.ordered,
    "scans": _Call.scanned,
    "collects": _Call.collected,
    "contracts": _Call.contracted,
    "multiplies": _Call.multiplied,
    "matrices": _Call.stacked,
    "affine": _Call.affine,
    "crosses": _Call.crossed,
    "convolves": _Call.convolved,
    "puts": _Call.put,
    "assigns": _Call.assigned,
    "shifts": _Call.shifted,
    "halves": _Call.same,
    "to_pairs": _Call.as_real,
    "from_pairs": _Call.as_complex,
    "examples": _Call.summed_examples,
}
"""By the `flow` of an operator (`declare/facts.py`)."""

PatternArray.evaluate_op = staticmethod(evaluate_pattern)
bind_operators(PatternArray, read, store)
