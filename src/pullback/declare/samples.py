"""Sample inputs: the data on which every declared operator is checked.

A sample is positional operands and static parameters. Operands that are floating point arrays are differentiated;
integers, booleans and numbers are passed as they are. `prepare` maps free perturbations of the operands onto allowed
ones (symmetric matrices stay symmetric); `observe` maps the outputs to what is well defined of them.

`samples_of` adds to what an operator states: one of its calls again in every memory layout and dtype that its own
samples leave out. Nothing about the operator has to be known for that, so nobody has to write it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Sample:
    """One call of an operator."""

    __slots__ = ("label", "observe", "operands", "params", "prepare")

    def __init__(
        self, operands: tuple[Any, ...], params: dict[str, Any] | None = None, label: str = "",
        prepare: Callable[..., Any] | None = None, observe: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.operands = operands
        self.params = {} if params is None else params
        self.label = label
        self.prepare = prepare
        self.observe = observe

    def inputs(self) -> tuple[Any, ...]:
        """The operands as the operator gets them."""
        return self.operands if self.prepare is None else self.allowed(*self.operands)

    def allowed(self, *perturbations: Any) -> tuple[Any, ...]:
        """Perturbations of the operands that stay inside of what the operator is defined for."""
        if self.prepare is None:
            return perturbations
        prepared = self.prepare(*perturbations)
        return tuple(prepared) if isinstance(prepared, (tuple, list)) else (prepared,)


class Maker:
    """Makes arrays of numbers inside an operator's domain, the same ones in every run."""

    def __init__(self, name: str, domain: tuple[float, float] = (-2.0, 2.0)) -> None:
        import zlib  # needed by no program, only by its tests

        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.domain = domain

    def __call__(
        self, shape: tuple[int, ...] = (), dtype: Any = np.float64, low: float | None = None, high: float | None = None
    ) -> Array:
        """An array of this shape, uniform over the domain."""
        low = self.domain[0] if low is None else low
        high = self.domain[1] if high is None else high
        dtype = np.dtype(dtype)
        values = self.random.uniform(low, high, shape)
        if dtype.kind == "c":
            values = values + 1j * self.random.uniform(low, high, shape)
        return np.asarray(values).astype(dtype)

    def integers(self, low: int, high: int, shape: tuple[int, ...] = ()) -> Array:
        """Integers from `low` up to and excluding `high`."""
        return self.random.integers(low, high, shape)

    def booleans(self, shape: tuple[int, ...] = ()) -> Array:
        """Random booleans."""
        return self.random.random(shape) < 0.5

    def distinct(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        """Values that differ by much more than a finite-difference step, in random order."""
        size = int(np.prod(shape))
        values = np.linspace(self.domain[0], self.domain[1], max(size, 2))[:size]
        return self.random.permutation(values).reshape(shape).astype(dtype)


def integer_samples(
    count: int, low: int, high: int, *, booleans: bool = False
) -> Callable[[Maker], Iterator[Sample]]:  # fmt: skip
    """The sample rule of an elementwise operator of `count` operands that are integers from `low` up to `high`."""

    def rule(make: Maker) -> Iterator[Sample]:
        def integers(*shapes: tuple[int, ...]) -> tuple[Array, ...]:
            return tuple(np.asarray(make.integers(low, high, shape)) for shape in (shapes * count)[:count])

        yield Sample(integers((3, 4)), label="integers")
        yield Sample(integers((4, 1), (3,)), label="broadcast")
        yield Sample(integers(()), label="scalar")
        yield Sample(integers((0, 2)), label="empty")
        if booleans:
            yield Sample(tuple(make.booleans((5,)) for _ in range(count)), label="booleans")

    return rule


def in_fortran_order(array: Array) -> Array:
    """The same values with the first axis next to each other in memory."""
    return np.asfortranarray(array)


def with_gaps(array: Array) -> Array:
    """The same values with unused memory between neighbours of the last axis."""
    spaced = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    spaced[..., ::2] = array
    return spaced[..., ::2]


def backwards(array: Array) -> Array:
    """The same values with negative strides."""
    back = (slice(None, None, -1),) * array.ndim
    return np.ascontiguousarray(array[back])[back]


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "fortran": in_fortran_order,
    "gaps": with_gaps,
    "reversed": backwards,
}


def _expanded(array: Array) -> Array:
    """The first element along the first axis in place of all others, by a stride of 0."""
    return np.broadcast_to(array[:1], array.shape)


def layouts(array: Array) -> Iterator[tuple[str, Array]]:
    """The same values in other memory layouts: transposed storage, a gap between elements, negative strides."""
    for label, relaid in LAYOUTS.items():
        yield label, relaid(array)


def kinds_of(array: Array) -> set[str]:
    """What is particular about an array: its dtype and whichever of 0-d, empty and the layouts apply."""
    kinds = {array.dtype.name}
    if not array.ndim:
        kinds.add("0-d")
    if not array.size:
        return kinds | {"empty"}
    steps = [stride for stride, length in zip(array.strides, array.shape, strict=True) if length > 1]
    sizes = [abs(step) for step in steps]
    if 0 in sizes:
        return kinds | {"expanded"}
    if sizes != sorted(sizes, reverse=True):
        kinds.add("fortran")
    if sizes and min(sizes) > array.itemsize:
        kinds.add("gaps")
    if any(step < 0 for step in steps):
        kinds.add("reversed")
    return kinds


def kinds_in(samples: Iterable[Sample]) -> set[str]:
    """The kinds of all arrays in these samples, and `broadcast` where the operands of one differ in shape."""
    kinds: set[str] = set()
    for sample in samples:
        arrays = [x for x in sample.inputs() if isinstance(x, np.ndarray)]
        kinds.update(*map(kinds_of, arrays))
        if len({x.shape for x in arrays}) > 1:
            kinds.add("broadcast")
    return kinds


def samples_of(op: Any) -> Iterator[Sample]:
    """What an operator is checked on: its own samples, then one of them in the layouts and dtypes they leave out."""
    own = list(op.sample_rule(Maker(op.name)))
    yield from own
    kinds = kinds_in(own)
    real, complexes = _typical(own, "d"), _typical(own, "D") or _typical(own, "D", beside="d")
    for label, relaid in LAYOUTS.items():
        source = real or complexes or _typical(own, "li?")
        if label not in kinds | op.refused.keys() and source is not None:
            relaid_one = _mapped(source, relaid, label)
            if label in kinds_in([relaid_one]):
                yield relaid_one
    if op.family == "elementwise" and (source := real or _typical(own, "li?")) is not None:
        yield _mapped(source, _expanded, "expanded")
    if "float32" not in kinds and real is not None:
        yield _mapped(real, _in_single_precision, "float32")
    if complexes is None and real is not None and op.linear_in is not None and "complex128" not in op.refused:
        complexes = _mapped(real, _with_imaginary_part, "complex")
        yield complexes
    if "complex64" not in kinds and complexes is not None:
        yield _mapped(complexes, _in_single_precision, "complex64")


def _typical(samples: list[Sample], chars: str, beside: str = "") -> Sample | None:
    """The first sample with numbers of such a dtype, or of one `beside` it, that fill a matrix or at least an axis."""

    def axes(sample: Sample) -> int:
        arrays = [x for x in sample.inputs() if isinstance(x, np.ndarray)]
        if not {x.dtype.char for x in arrays if x.dtype.kind in "fc"} <= set(chars + beside):
            return 0
        return max((min(x.ndim, 2) for x in arrays if x.size > 1 and x.dtype.char in chars), default=0)

    best = max(samples, key=axes, default=None)
    return best if best is not None and axes(best) else None


def _mapped(sample: Sample, change: Callable[[Array], Array], label: str) -> Sample:
    """The same call with changed arrays, changed again where perturbations were prepared.

    Only a dtype can change where there are no axes.
    """

    is_layout = change is _expanded or change in LAYOUTS.values()

    def changed(*operands: Any) -> tuple[Any, ...]:
        return tuple(
            change(x) if isinstance(x, np.ndarray) and (x.ndim or not is_layout) else x for x in operands
        )  # fmt: skip

    if sample.prepare is None:
        return Sample(changed(*sample.operands), sample.params, label, None, sample.observe)
    prepare = lambda *operands: changed(*sample.allowed(*operands))
    return Sample(sample.operands, sample.params, label, prepare, sample.observe)


def _in_single_precision(array: Array) -> Array:
    return array.astype({"d": np.float32, "D": np.complex64}.get(array.dtype.char, array.dtype))


def _with_imaginary_part(array: Array) -> Array:
    return array + 1j * np.roll(array, 1) if array.dtype.kind == "f" else array
