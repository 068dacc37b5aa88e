"""`DynamicCapture`: one capture for calls whose arguments differ in lengths that vary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pullback.aot._dynamic import Axis, Fixed, NotDynamic
from pullback.aot._dynamic.sizes import Numbers, Watcher
from pullback.aot._dynamic.template import Template, check_same_program, formulas
from pullback.aot._entry import Fit
from pullback.aot._guards import call_key, leaf_key, same_objects
from pullback.aot._trace.capture import capture
from pullback.aot._trace.leaves import ArraySpec
from pullback.aot._trace.records import Capture, Options
from pullback.tape.history import is_leaf, requires_grad
from pullback.tensors.tensor import Tensor


class DynamicCapture:
    """The template of one kind of call, and which calls are of this kind."""

    def __init__(self, function: Callable[..., Any], leaves: list[Any], structure: Any, options: Options,
                 axes: tuple[Axis, ...]) -> None:  # fmt: skip
        self.axes = axes
        lengths = [_length(leaves, axis) for axis in axes]
        self.sizes = tuple(dict.fromkeys(lengths))
        self.symbols = tuple(self.sizes.index(length) for length in lengths)
        self.key = self._key(leaves, structure)
        self.limits = _limits(leaves, axes, self.symbols)
        watchers = [Watcher(self.sizes)]
        first = capture(function, leaves, structure, options, watcher=watchers[0], numbers=True)
        others = list(self._neighbours(watchers[0]))
        found = [first]
        for number, sizes in enumerate(others):
            try:
                watchers.append(Watcher(sizes))
                other = capture(
                    function, self._resized(leaves, sizes), structure, options, watcher=watchers[-1], numbers=True
                )
                if other.numbers.signature() != first.numbers.signature():
                    raise NotDynamic("other numbers are computed")
                if number < len(self.sizes):
                    check_same_program(first.graph, other.graph, self.sizes[number], sizes[number])
            except Exception as error:
                # Whatever the function does with another size of this axis, it does not do the same.
                raise Fixed(self._axes_of(min(number, len(self.sizes) - 1)), str(error).splitlines()[0]) from error
            found.append(other)
        all_sizes = [self.sizes, *others]
        watchers[0].solve(formulas(all_sizes, [watcher.asked for watcher in watchers]))
        self.template = Template(found, all_sizes, [*watchers[0].guards, *self.limits])
        for number, sizes in enumerate(others):
            if not all(guard(sizes) for guard in watchers[0].guards):
                raise Fixed(self._axes_of(min(number, len(self.sizes) - 1)), watchers[0].place(sizes))
        self.first: Capture = first
        self.fit = Fit(first)  # now: what the function has written may be of another kind after the call

    def at(self, leaves: list[Any], structure: Any) -> Capture | None:
        """The capture for a call, if it is of this kind and its sizes are allowed."""
        try:
            sizes: list[int | None] = [None] * len(self.sizes)
            for axis, symbol in zip(self.axes, self.symbols, strict=True):
                length = _length(leaves, axis)
                if sizes[symbol] not in (None, length):
                    return None
                sizes[symbol] = length
            given = tuple(size for size in sizes if size is not None)
            if not self.template.allows(given) or self._key(leaves, structure) != self.key:
                return None
            if self.fit.moved_capture() is not None:
                return None
        except (IndexError, AttributeError, TypeError):
            return None  # other arguments altogether
        return self.template.at(given)

    def _axes_of(self, symbol: int) -> tuple[Axis, ...]:
        return tuple(axis for axis, own in zip(self.axes, self.symbols, strict=True) if own == symbol)

    def _key(self, leaves: list[Any], structure: Any) -> Any:
        """The key of a call in which varying lengths are left out."""
        masked = [self._described(slot, leaf) for slot, leaf in enumerate(leaves)]
        plain = [None if isinstance(mark, tuple) else leaf for leaf, mark in zip(leaves, masked, strict=True)]
        return call_key(plain, structure), tuple(masked), same_objects(leaves)

    def _described(self, slot: int, leaf: Any) -> Any:
        axes = {axis for where, axis in self.axes if where == slot}
        if not axes:
            return None
        array = leaf._data if isinstance(leaf, Tensor) else leaf
        shape = tuple(None if axis in axes else length for axis, length in enumerate(array.shape))
        kind, _, *others = leaf_key(leaf)  # the second is the shape, in a description of the array or alone
        return kind, shape, array.dtype, array.flags.c_contiguous, *others

    def _neighbours(self, watcher: Watcher) -> Iterator[Numbers]:
        """Sizes to compare with: each size changed alone, and then all of them."""
        for k in range(len(self.sizes)):
            before, after = self.sizes[:k], self.sizes[k + 1 :]
            yield self._allowed(watcher, ((*before, self.sizes[k] + step, *after) for step in (1, -1, 2, -2, 3, 4)))
        steps = ((2, 3), (1, 2), (1, 3), (1, 5), (1, -2), (1, -3))
        yield self._allowed(
            watcher,
            (tuple(size * factor + step + k for k, size in enumerate(self.sizes)) for factor, step in steps),
        )

    def _allowed(self, watcher: Watcher, candidates: Iterator[Numbers]) -> Numbers:
        guards = [*watcher.guards, *self.limits]
        for sizes in candidates:
            distinct = len(set(sizes)) == len(sizes)
            if distinct and sizes != self.sizes and min(sizes) >= 2 and all(guard(sizes) for guard in guards):
                return sizes
        raise NotDynamic(watcher.place(sizes))

    def _resized(self, leaves: list[Any], sizes: Numbers) -> list[Any]:
        resized = list(leaves)
        for slot in {slot for slot, _ in self.axes}:
            leaf = leaves[slot]
            array = leaf._data if isinstance(leaf, Tensor) else leaf
            shape = list(array.shape)
            for (where, axis), symbol in zip(self.axes, self.symbols, strict=True):
                if where == slot:
                    shape[axis] = sizes[symbol]
            recorded = isinstance(leaf, Tensor) and requires_grad(leaf)
            resized[slot] = ArraySpec(tuple(shape), array.dtype, recorded, not recorded or is_leaf(leaf))
            resized[slot].of_numpys = not isinstance(leaf, Tensor)
        return resized


def _length(leaves: list[Any], axis: Axis) -> int:
    leaf = leaves[axis[0]]
    array = leaf._data if isinstance(leaf, Tensor) else leaf
    return int(array.shape[axis[1]])


def _limits(leaves: list[Any], axes: tuple[Axis, ...], symbols: tuple[int, ...]) -> list[Callable[[Numbers], bool]]:
    limits: list[Callable[[Numbers], bool]] = []
    for (slot, axis), symbol in zip(axes, symbols, strict=True):
        leaf = leaves[slot]
        if isinstance(leaf, Tensor) and axis in leaf.__dict__.get("_varying", ()):
            limits.append(_between(symbol, *leaf.__dict__["_varying"][axis]))
    return limits


def _between(symbol: int, low: int, high: int | None) -> Callable[[Numbers], bool]:
    return lambda sizes: low <= sizes[symbol] and (high is None or sizes[symbol] <= high)
