"""What one gradcheck is about: a function, its arguments, and the directions along which its Jacobian is observed.

A Jacobian is stored as a matrix with one row per input element and one column per output element. Two probes turn it
into what is compared: a probe of the input chooses rows, a probe of the output chooses columns. A probe is either the
whole basis, which leaves the matrix as it is, or a single random vector (fast mode), which leaves one number. Every
stage is written for probes, so slow and fast mode are the same code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pullback.core.progress import Bar
from pullback.core.records import Record, field
from pullback.core.spec import describe
from pullback.declare.op import registry
from pullback.tensors.tensor import Tensor, as_constant

__all__ = [
    "IMAGINARY",
    "REAL",
    "InputDerivative",
    "InputProbe",
    "Part",
    "Probe",
    "Problem",
    "as_tuple",
    "beside",
    "check_outputs",
    "is_complex",
    "memory_of",
    "numerical_derivative",
    "on_values",
    "payload_of",
]


def as_tuple(values: Any) -> tuple[Any, ...]:
    """A list or tuple as a tuple; anything else as the only entry of one."""
    return tuple(values) if isinstance(values, list | tuple) else (values,)


def on_values(func: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of tensors whose rows have different lengths as one of their values, which are moved and compared."""
    kinds = [x._data if isinstance(x, Tensor) and x.is_nested else None for x in inputs]
    if not any(kind is not None for kind in kinds):
        return func, inputs
    values = [
        x if kind is None else x.detach().values().clone().requires_grad_(x.requires_grad)
        for x, kind in zip(inputs, kinds, strict=True)
    ]

    def of_values(*given: Any) -> Any:
        made = [
            x if kind is None else registry["_ragged"](x, offsets=kind.offsets, axis=kind.axis, starts=None)
            for x, kind in zip(given, kinds, strict=False)
        ]
        outs = func(*made, *given[len(made) :])
        flat = [out.contiguous().values() if out.is_nested else out for out in as_tuple(outs)]
        return tuple(flat) if isinstance(outs, list | tuple) else flat[0]

    return of_values, tuple(values)


def payload_of(tensor: Tensor) -> np.ndarray:
    """The values of `tensor`, whether or not it requires grad: its memory, where that is NumPy's."""
    if tensor.device.kind is not None:
        return tensor.detach().to("cpu").numpy()
    return tensor.detach().numpy()


def memory_of(tensor: Tensor) -> Any:
    """What is varied of `tensor`: its memory, or an array of another library, which new values are given to."""
    return tensor.detach()._data if tensor.device.kind is not None else payload_of(tensor)


def beside(tensor: Tensor, values: np.ndarray) -> Tensor:
    """Values as a constant where `tensor` lies."""
    return as_constant(values).to(tensor.device)


def is_complex(tensor: Tensor) -> bool:
    """Whether the values of `tensor` are complex."""
    return tensor.dtype.kind == "c"


class Part(NamedTuple):
    """One real component of complex numbers: its name, the number that points along it, and how to read it."""

    name: str
    unit: complex
    of: Callable[[np.ndarray], np.ndarray]


REAL = Part("real", 1.0, np.real)
IMAGINARY = Part("imaginary", 1j, np.imag)


class Probe(NamedTuple):
    """Directions in the space of one tensor: the basis if `vector` is None, else this one flat vector.

    `kept` holds the flat positions of the elements that are looked at; None means all of them.
    """

    shape: tuple[int, ...]
    vector: np.ndarray | None = None
    kept: np.ndarray | None = None

    @property
    def num_directions(self) -> int:
        """How many directions there are."""
        if self.vector is not None:
            return 1
        return math.prod(self.shape) if self.kept is None else len(self.kept)

    @property
    def weight(self) -> float:
        """By how much an error of 1 in every entry of a Jacobian can move what this probe observes."""
        return 1.0 if self.vector is None else float(self.vector.sum())

    def moves(self) -> Iterator[tuple[Any, Any]]:
        """`(where, amount)` for each direction: `array[where] += amount` goes one unit along it."""
        if self.vector is not None:
            yield ..., self.vector.reshape(self.shape)
        elif self.kept is not None:
            yield from ((np.unravel_index(position, self.shape), 1.0) for position in self.kept)
        else:
            yield from ((index, 1.0) for index in np.ndindex(self.shape))

    def arrays(self, dtype: np.dtype[Any], unit: complex = 1.0) -> Iterator[np.ndarray]:
        """Each direction times `unit` as a new array of the tensor's shape."""
        for where, amount in self.moves():
            array = np.zeros(self.shape, dtype)
            array[where] = amount * unit
            yield array

    def rows_of(self, matrix: np.ndarray) -> np.ndarray:
        """The rows of `matrix` as this probe sees them."""
        if self.vector is not None:
            return (self.vector @ matrix)[None, :]
        return matrix if self.kept is None else matrix[self.kept]

    def columns_of(self, matrix: np.ndarray) -> np.ndarray:
        """The columns of `matrix` as this probe of an output, of which all elements are kept, sees them."""
        return matrix if self.vector is None else (matrix @ self.vector)[:, None]


class InputProbe(NamedTuple):
    """The probes of one input: along its real axis and, if it is complex, along its imaginary axis."""

    real: Probe
    imaginary: Probe | None

    @property
    def weight(self) -> float:
        """The larger weight of the two probes."""
        return self.real.weight if self.imaginary is None else max(self.real.weight, self.imaginary.weight)

    def axes(self) -> list[tuple[Part, Probe]]:
        """The axes of the input with their probes; the imaginary one first, as complex parts are always visited."""
        along_real = [(REAL, self.real)]
        return along_real if self.imaginary is None else [(IMAGINARY, self.imaginary), *along_real]

    def rows_of(self, gradients: np.ndarray) -> np.ndarray:
        """Gradients `d/d re + i d/d im`, one per column, as the two probes see them."""
        if self.imaginary is None:
            return self.real.rows_of(gradients)
        return self.real.rows_of(gradients.real) + 1j * self.imaginary.rows_of(gradients.imag)


class Problem(Record, frozen=True, eq=False):
    """One call of gradcheck: the function, its arguments, the outputs of one recorded call, and the tolerances."""

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    outputs: tuple[Tensor, ...]
    eps: float
    rtol: float
    atol: float
    nondet_tol: float
    check_grad_dtypes: bool
    stored: Mapping[int, np.ndarray] = field(default_factory=dict)
    """For inputs by position: the flat positions of the elements to vary, if not all (`masked=True`)."""

    @property
    def varied(self) -> list[tuple[int, Tensor]]:
        """The inputs that require grad, with their positions among the arguments."""
        return [(i, x) for i, x in enumerate(self.inputs) if isinstance(x, Tensor) and x.requires_grad]

    @property
    def recorded(self) -> list[tuple[int, Tensor]]:
        """The outputs that require grad, with their positions among the outputs."""
        return [(i, y) for i, y in enumerate(self.outputs) if y.requires_grad]

    def call(self) -> tuple[Tensor, ...]:
        """The outputs of a new call of the function."""
        return check_outputs(self.func(*self.inputs))

    def probe(self, fast: bool) -> tuple[list[InputProbe], list[Probe]]:
        """A probe for every varied input and one for every output: bases, or the same random vectors on each call."""
        rng = np.random.default_rng(2147483647)

        def probe_of(tensor: Tensor, kept: np.ndarray | None = None) -> Probe:
            return Probe(tensor.shape, random_unit_vector(rng, tensor.size, kept) if fast else None, kept)

        inputs = []
        for position, x in self.varied:
            kept = self.stored.get(position)
            inputs.append(InputProbe(probe_of(x, kept), probe_of(x, kept) if is_complex(x) else None))
        return inputs, [probe_of(y) for y in self.outputs]


def random_unit_vector(rng: np.random.Generator, size: int, kept: np.ndarray | None) -> np.ndarray:
    """A random vector of length 1, zero outside `kept`, without negative entries: errors of one sign cannot cancel."""
    vector = rng.random(size)
    if kept is not None:
        vector[np.setdiff1d(np.arange(size), kept)] = 0.0
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector


def check_outputs(result: Any) -> tuple[Tensor, ...]:
    """What a checked function returned, as a tuple; raises ValueError unless every entry is a Tensor."""
    outputs = as_tuple(result)
    for i, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            raise ValueError(
                f"gradcheck expects a function that returns Tensors, and output {i} is a {type(output).__name__}: "
                "return a Tensor, or a list or tuple of Tensors"
            )
    return outputs


# Numerical derivatives: central differences, by moving the caller's own memory and putting it back.
#
# The function is called with the very tensors the caller passed, since their history, hooks and flags are part of what
# is being checked. Their memory is written through the ndarray: no version counter moves, and a value that some graph
# has saved is valid again as soon as the element is restored, bit by bit, whatever the function raised.

class InputDerivative(NamedTuple):
    """How every output moves with one input: per output a matrix with a row per direction, for each axis.

    Matrices are complex where the output is. `imaginary` is None for a real input.
    """

    real: list[np.ndarray]
    imaginary: list[np.ndarray] | None

    def along(self, axis: Part) -> list[np.ndarray]:
        """The matrices for the real or the imaginary axis of the input."""
        return self.real if axis.name == "real" or self.imaginary is None else self.imaginary

    def of_part(self, output_index: int, part: Part) -> np.ndarray:
        """`d/d re + i d/d im` (`d/dx` for a real input) of one part of one output: what a gradient should be."""
        along_real = part.of(self.real[output_index])
        if self.imaginary is None:
            return along_real
        return along_real + 1j * part.of(self.imaginary[output_index])


def numerical_derivative(
    problem: Problem, position: int, probe: InputProbe, bar: Bar | None = None
) -> InputDerivative:
    """Central differences of all outputs with respect to the argument at `position`, along `probe`."""
    imaginary = None
    if probe.imaginary is not None:
        imaginary = central_differences(problem, position, probe.imaginary, 1j, bar)
    return InputDerivative(central_differences(problem, position, probe.real, 1.0, bar), imaginary)


def central_differences(
    problem: Problem, position: int, probe: Probe, unit: complex, bar: Bar | None = None
) -> list[np.ndarray]:
    """`(f(x + eps d) - f(x - eps d)) / (2 eps)` per output, with a row for each direction `d` of `probe`."""
    payload = memory_of(problem.inputs[position])
    rows = [np.zeros((probe.num_directions, y.size), np.result_type(y.dtype, np.float64)) for y in problem.outputs]
    for row, (where, amount) in enumerate(probe.moves()):
        above, below = evaluate_around(problem, payload, where, amount * unit * problem.eps)
        with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is NaN, and the comparison says so
            for matrix, high, low in zip(rows, above, below, strict=True):
                matrix[row] = (high - low).reshape(-1) / (2 * problem.eps)
        if bar is not None:
            bar.advance()
    return rows


def evaluate_around(
    problem: Problem, payload: np.ndarray, where: Any, step: Any
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The outputs with `payload[where]` moved up and down by `step`; the payload is as before afterwards."""
    original = payload[where].copy()
    try:
        payload[where] = original + step
        above = evaluate(problem)
        payload[where] = original - step
        return above, evaluate(problem)
    finally:
        payload[where] = original


def evaluate(problem: Problem) -> list[np.ndarray]:
    """Copies of the outputs, at least float64; raises AssertionError if they are not of the kind first seen."""
    outputs = problem.call()
    kinds = [describe(y.shape, y.dtype) for y in outputs]
    expected = [describe(y.shape, y.dtype) for y in problem.outputs]
    if kinds != expected:
        shapes = [[y.shape for y in each] for each in (outputs, problem.outputs)]
        differing = "dtype" if shapes[0] == shapes[1] else "shape"
        raise AssertionError(
            f"the outputs were {', '.join(expected)} at first and {', '.join(kinds)} for a slightly different input: "
            f"the function must return outputs with the same {differing} when inputs are perturbed"
        )
    # Copies, since an output may be (a view of) the input that is about to be moved.
    return [np.array(payload_of(y), dtype=np.result_type(y.dtype, np.float64)) for y in outputs]
