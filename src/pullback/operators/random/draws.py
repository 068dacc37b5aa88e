"""Where random numbers come from: the operators that draw, and what their parameters have to be.

A draw is an operator of family "random". Its operands are the parameters of a distribution, and its static parameters
say the `shape` of the result, its `dtype` and the `generator`, which moves on when the kernel runs. `numbers` is the
only function that asks a generator. Every operand broadcasts to `shape`, so the draws of many examples are one draw
with another axis in front: `draw_for_each` makes it, except for what cannot be drawn together, such as permutations.

`_draw` has no derivative: noise and integers. A `sampler` has one: its numbers are taken as the quantiles of fixed
probabilities, so that a sample moves with a parameter by `-(dF / dparameter) / density`, F being the distribution
function (implicit reparameterization). This is what the algorithm that made the number does not have to know.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.core.axes import normalize_shape
from pullback.core.spec import Spec, spec_for
from pullback.declare.composite import composite
from pullback.declare.op import Op, Rule, registry
from pullback.declare.samples import Maker, Sample
from pullback.eager.record import apply
from pullback.errors import AutogradError
from pullback.operators.arrays.creation import get_default_dtype
from pullback.operators.elementwise.casting import on_device, placed
from pullback.payloads.batched.evaluate import aligned_values
from pullback.payloads.batched.randomness import check_parameters, drawn
from pullback.payloads.devices import CPU, drawn_later, foreign
from pullback.tensors.tensor import Tensor, as_constant

# The generator of random numbers: its seed, its state, and the default one.

def check_seed(seed: Any) -> None:
    """Refuse here what no stream can start from, and not where the first number is drawn."""
    if seed is None or (isinstance(seed, int) and seed >= 0):
        return
    try:
        np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise told(
            type(error)(f"a seed is a whole number that is not negative, or None, got {type(seed).__name__} {seed!r}"),
            fix="write pb.random.manual_seed(0)",
        ) from None


class Generator:
    """A stream of random numbers. Its methods are the functions of this namespace, drawing from this stream."""

    def __init__(self, seed: Any = None) -> None:
        self.manual_seed(seed)

    @functools.cached_property
    def numpy(self) -> np.random.Generator:
        """The NumPy generator that draws. It is made when it is needed: loading `numpy.random` takes a while."""
        return np.random.default_rng(self._seed)

    def manual_seed(self, seed: Any) -> Generator:
        """Start the stream of this seed, and return the generator; None means a seed that nobody knows."""
        check_seed(seed)
        self._seed = seed
        self.__dict__.pop("numpy", None)
        return self

    def get_state(self) -> dict[str, Any]:
        """What the next numbers depend on; `set_state` goes back to it."""
        return dict(self.numpy.bit_generator.state)

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue as the generator did from which the state was taken."""
        self.numpy.bit_generator.state = state

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in draws:
            raise AttributeError(f"Generator has no attribute {name!r}")
        return functools.partial(draws[name], generator=self)

    def __repr__(self) -> str:
        return f"Generator({type(self.numpy.bit_generator).__name__})"


default_generator = Generator()
"""What functions draw from that are given no generator."""

draws: dict[str, Callable[..., Any]] = {}
"""The functions with a keyword `generator` that are methods of `Generator`."""


def drawing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function with a keyword `generator` a method of `Generator`."""
    draws[function.__name__] = function
    return function


def numpy_generator(generator: Generator | np.random.Generator | None) -> np.random.Generator:
    """The NumPy generator to draw from: the given one, or the default."""
    chosen = default_generator if generator is None else generator
    if isinstance(chosen, Generator):
        return chosen.numpy
    # A traced function has a stand-in for a generator that it finds around it.
    found: Any = getattr(chosen, "drawn_from", chosen)
    if type(found).__module__.partition(".")[0] in _LIBRARIES:
        return _of_library(found)
    return found


_LIBRARIES = ("torch", "jax", "jaxlib", "cupy")
_drawn_by: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""By its identity what draws from a generator of another library, as long as somebody keeps that."""


def _of_library(generator: Any) -> Any:
    """What draws from a generator of another library, by the names of NumPy's."""
    found = _drawn_by.get(id(generator))
    if found is None:
        library = type(generator).__module__.partition(".")[0]
        found = foreign().kind_named(library.removesuffix("lib")).draws(generator)
    if found is None:
        raise AutogradError(
            "FOREIGN_RNG",
            f"a generator of another library, {type(generator).__name__}, is to draw numbers",
            why="it has no state that could be kept and set, by which checkpoints and compiled functions repeat draws",
            fix="give a pb.random.Generator, one of NumPy's or torch's; a key of JAX as pb.interop.jax_key(key); "
            "or draw with the library, and take the array: pb.foreign(a)",
        )
    _drawn_by[id(generator)] = found
    return found


def beside(noise: Tensor, *parameters: Any) -> Tensor:
    """Noise, which is drawn on the host, on the device of its parameters; of numbers, on the default one."""
    places = [p.device for p in parameters if isinstance(p, Tensor)]
    if not places:
        return placed(noise, None)
    return on_device(noise, next((place for place in places if place is not CPU), CPU))


def asked(generator: Generator | np.random.Generator | None) -> np.random.Generator:
    """The NumPy generator for a draw that is about to be made, rewound if this draw has to repeat an earlier one."""
    source = numpy_generator(generator)
    for repeats in _repeating.get():
        repeats.rewind(default_generator if generator is None else generator, source)
    return source


class Repeats:
    """Turns in which the same numbers are drawn, whichever generators they are drawn from.

    A generator is rewound when a turn asks it for the first time, to where it was when an earlier turn did so.
    """

    def __init__(self) -> None:
        self._starts: dict[int, tuple[Any, Any]] = {}  # by generator, which is kept
        self._met: dict[int, tuple[Any, Any]] = {}  # in this turn: what draws, and where it was

    @contextmanager
    def turn(self, is_aside: bool = False) -> Iterator[None]:
        """One turn, which begins with the numbers that the other turns began with. One that `is_aside` leaves the
        generators where they were."""
        self._met.clear()
        token = _repeating.set((*_repeating.get(), self))
        try:
            yield
        finally:
            _repeating.reset(token)
            for source, state in self._met.values() if is_aside else ():
                source.bit_generator.state = state

    def rewind(self, generator: Any, source: Any) -> None:
        """Prepare a generator, and what draws for it, for the draw of this turn that is about to be made."""
        key = id(generator)
        if key in self._met or not hasattr(source, "bit_generator"):  # what stands in for a generator has no state
            return
        now = source.bit_generator.state
        self._met[key] = (source, now)
        if key in self._starts:
            source.bit_generator.state = self._starts[key][1]
        else:
            self._starts[key] = (generator, now)


_repeating: ContextVar[tuple[Repeats, ...]] = ContextVar("pullback_repeating", default=())


def default_rng(seed: Any = None) -> Generator:
    """A new generator with its own stream."""
    return Generator(seed)


@composite(arrays=0)
def manual_seed(seed: Any) -> Generator:
    """Start the default generator's stream of this seed."""
    return default_generator.manual_seed(seed)


def seed(seed: int | None = None) -> int:
    """Start the stream of the default generator that belongs to `seed`, as `manual_seed` does, and return the seed.
    Without one it starts a stream that nobody knows."""
    number = int(np.random.SeedSequence().entropy) if seed is None else seed  # type: ignore[arg-type]
    default_generator.manual_seed(number)
    return number


def get_state() -> dict[str, Any]:
    """The state of the default generator."""
    return default_generator.get_state()


def set_state(state: dict[str, Any]) -> None:
    """Put the default generator into a state that `get_state` returned."""
    default_generator.set_state(state)


@contextmanager
def fork_rng() -> Iterator[None]:
    """Draws inside the block leave the default generator as it was before."""
    state = get_state()
    try:
        yield
    finally:
        set_state(state)


Array = np.ndarray[Any, Any]

# Asking the generator ------------------------------------------------------------------------------------------------

_OF_BOTH_WIDTHS = ("random", "standard_normal", "standard_exponential", "standard_gamma")
_TOGETHER_ONLY = ("permutation", "choice")


def numbers(kind: str, generator: Any, shape: tuple[int, ...], dtype: Any, *parameters: Any, **options: Any) -> Array:
    """Numbers of one kind, which is the name of a method of NumPy's generator, in this shape and dtype."""
    dtype = np.dtype(dtype)
    ask = getattr(asked(generator), kind)
    drawn: Any
    if dtype.kind == "c":
        return _complex_numbers(kind, generator, shape, dtype)
    if kind in _OF_BOTH_WIDTHS and dtype == np.float32:
        drawn = ask(*parameters, size=shape, dtype=np.float32)
    elif kind == "integers":
        is_integer = dtype.kind in "iub"
        drawn = ask(*parameters, size=shape, dtype=dtype if is_integer else np.dtype(np.int64), **options)
    elif kind == "multinomial":
        trials, chances = parameters
        drawn = ask(np.asarray(trials)[..., 0] if np.ndim(trials) else trials, chances, size=shape[:-1])
    elif kind == "permutation":
        drawn = ask(shape[0])
    elif kind == "choice":
        drawn = ask(options["count"], shape, options["replace"], *parameters)
    elif kind == "bytes":
        drawn = np.frombuffer(ask(shape[0]), np.uint8)
    else:
        drawn = ask(*parameters, size=shape)
    return np.asarray(drawn).reshape(shape).astype(dtype, copy=False)


def _complex_numbers(kind: str, generator: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Independent real and imaginary parts; a normal number keeps the variance 1."""
    if kind not in ("random", "standard_normal"):
        raise TypeError(
            f"random: {kind} numbers are real, and {dtype} was asked for: draw with a real dtype, and make complex "
            "numbers of two draws with pb.complex(real, imaginary)"
        )
    parts = numbers(kind, generator, (*shape, 2), np.float32 if dtype == np.complex64 else np.float64)
    values = parts.view(np.complex64 if dtype == np.complex64 else np.complex128).reshape(shape)
    return (values * np.sqrt(0.5) if kind == "standard_normal" else values).astype(dtype, copy=False)


# Operators that draw -------------------------------------------------------------------------------------------------


def draw_for_each(op: Op, count: int, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The draws of `count` examples, stacked. Operands have an axis in front of length 1 or `count`, or are numbers.

    They are one draw of shape `(count, *shape)`. Permutations, choices without replacement and choices with chances are
    drawn example by example.
    """
    shape = params["shape"]
    if params.get("kind") in _TOGETHER_ONLY:
        rows = [[x[i % x.shape[0]] if hasattr(x, "shape") else x for x in operands] for i in range(count)]
        drawn = [np.asarray(op(*row, **params)) for row in rows]
        return np.stack(drawn) if drawn else np.empty((0, *shape), params["dtype"])
    aligned = [
        x.reshape(x.shape[:1] + (1,) * (len(shape) + 1 - x.ndim) + x.shape[1:]) if hasattr(x, "shape") else x
        for x in operands
    ]
    return op(*aligned, **{**params, "shape": (count, *shape)})


def _declare(op: Op) -> Op:
    """What all draws have in common: their shape is given, and a batch of them is one draw."""
    op.spec(lambda *operands, **params: spec_for(params["shape"], np.dtype(params["dtype"])))
    op.batch(lambda *operands, **params: draw_for_each(op, operands[0].shape[0], operands, params))
    # Inside of `vmap` it is the levels that decide what is drawn, even if no parameter is batched.
    kernel, for_each = op.kernel, functools.partial(draw_for_each, op)

    def drawn_here(*operands: Any, **params: Any) -> Any:
        return drawn(op.name, kernel, for_each, operands, params)

    drawn_here.plain = kernel  # type: ignore[attr-defined]  # for code without vmap, such as exported source
    op.kernel = drawn_here
    op.takes_payloads = True
    return op


def _draw(*parameters: Any, kind: str, shape: tuple[int, ...], dtype: Any, generator: Any, **options: Any) -> Array:
    """Random numbers, which are constants."""
    return numbers(kind, generator, shape, dtype, *parameters, **options)


_drawing = _declare(
    Op("_draw", _draw, ("*parameters",), params=("kind", "shape", "dtype", "generator"), family="random")
).not_differentiable("a draw is a constant: it does not change with the parameters of its distribution, or jumps")


@_drawing.samples
def _draw_samples(make: Maker) -> Iterator[Sample]:
    for dtype in (np.int64, np.float32):
        params = {"kind": "poisson", "shape": (2, 3), "dtype": np.dtype(dtype), "generator": _Floors()}
        yield Sample((make((3,), float, 1.0, 9.0),), params, f"poisson-{np.dtype(dtype).name}")
    params = {"kind": "binomial", "shape": (2, 3), "dtype": np.dtype(np.int64), "generator": _Floors()}
    yield Sample((make((2, 1), float, 1.0, 9.0), make((3,), float, 0.1, 0.9)), params, "binomial")


class _Floors:
    """Stands in for a generator in samples, which must give the same numbers again: whole parts, not random ones."""

    def poisson(self, lam: Any, size: tuple[int, ...]) -> Array:
        return np.broadcast_to(np.floor(lam), size)

    def binomial(self, n: Any, p: Any, size: tuple[int, ...]) -> Array:
        return np.broadcast_to(np.floor(n * p), size)


def draw(
    kind: str, shape: tuple[int, ...], *parameters: Any, dtype: Any = None, generator: Any = None, **options: Any
) -> Tensor:
    """A Tensor of random numbers without derivative; `kind` names a method of NumPy's generator."""
    dtype = get_default_dtype() if dtype is None else np.dtype(dtype)
    lengths: tuple[Any, ...] = shape
    for axis, length in enumerate(lengths):
        if type(length) is not int and hasattr(length, "specs"):  # rows of different lengths
            inner = (length.total, *shape[1:axis], *shape[axis + 1 :])
            flat = draw(kind, inner, *parameters, dtype=dtype, generator=generator, **options)
            out: Tensor = registry["_ragged"](flat, offsets=length.offsets, axis=axis, starts=None)
            return out
    params = {"kind": kind, "shape": shape, "dtype": dtype, "generator": generator, **options}
    drawn: Tensor = apply(_drawing, tuple(as_parameter(p) for p in parameters), params)
    return drawn


def sampler(
    name: str, kernel: Callable[..., Array], operands: tuple[str, ...], partials: tuple[Any, ...], *, doc: str,
    kind: str, distribution: Callable[..., tuple[Array, Array]], domain: tuple[float, float], start: Any,
) -> Op:  # fmt: skip
    """A draw with a derivative by its parameters.

    The kernel is `kernel(*operands, shape=, dtype=, generator=)`, and calls `numbers`. Its partial derivatives are
    those of quantiles. For the samples a generator stands in whose numbers of this `kind` are quantiles indeed, of the
    function `distribution(log(x), *operands)`, which also returns its slope in `log(x)`.
    """
    op = Op(f"_{name}", kernel, operands, params=("shape", "dtype", "generator"), family="random", doc=doc, torch=name)
    op.partials = tuple(Rule(op, partial, is_partial=True) for partial in partials)

    def samples(make: Maker) -> Iterator[Sample]:
        for shape, given, dtype, probability in (
            ((), (), np.float64, 0.4), ((2, 3), (3,), np.float64, 0.1), ((2, 2), (2, 1), np.float64, 0.8),
            ((0, 2), (2,), np.float64, 0.5), ((4,), (4,), np.float32, 0.6),
        ):  # fmt: skip
            generator = Quantiles(kind, distribution, start, probability)
            params = {"shape": shape, "dtype": np.dtype(dtype), "generator": generator}
            parameters = tuple(make(given, dtype, *domain) for _ in operands)
            yield Sample(parameters, params, f"{list(shape)}-{np.dtype(dtype).name}")

    op.samples(samples)
    op.refuses("parameters of distributions are real numbers", "complex128")
    return _declare(op)


class Quantiles:
    """Stands in for a generator in samples: its numbers are the quantiles of one probability.

    So they depend on the parameters as smoothly as implicit reparameterization supposes, and difference quotients
    can be compared with the derivative. The numbers of a real generator jump where it rejects a candidate.
    """

    def __init__(self, kind: str, distribution: Callable[..., Any], start: Any, probability: float) -> None:
        setattr(self, kind, self._quantiles)
        self._distribution, self._start, self._probability = distribution, start, probability

    def _quantiles(self, *parameters: Any, size: tuple[int, ...], dtype: Any = np.float64) -> Array:
        spread = [np.broadcast_to(np.asarray(p, np.float64), size) for p in parameters]
        w = np.log(self._start(*spread))
        for _ in range(20):
            reached, slope = self._distribution(w, *spread)
            step = np.clip((self._probability - reached) / slope, -1, 1)
            w = w + step
            if np.abs(step).max(initial=0) < 1e-9:  # its square is left, which is nothing
                break
        return np.exp(w).astype(dtype)


def sample(op: Op, parameters: tuple[Any, ...], size: Any, dtype: Any, generator: Any) -> Tensor:
    """Draw from a sampler: shape and dtype are what the parameters ask for, if they are not given."""
    operands = tuple(as_parameter(p) for p in parameters)
    params = {"shape": shape_for(op.name[1:], size, operands), "dtype": dtype_for(operands, dtype)}
    drawn: Tensor = apply(op, operands, {**params, "generator": generator})
    return beside(drawn, *operands)


# Parameters ----------------------------------------------------------------------------------------------------------


def as_parameter(parameter: Any) -> Any:
    """A parameter as an operand: numbers stay numbers, whatever else is no Tensor becomes one."""
    if isinstance(parameter, (Tensor, int, float)) and not isinstance(parameter, np.generic):
        return parameter
    return as_constant(parameter)


def values_of(parameter: Any) -> Array:
    """The plain numbers behind a parameter, for checks: inside of `vmap` those of all examples."""
    (values,) = values_together(parameter)
    return values


def values_together(*parameters: Any) -> list[Array]:
    """The plain numbers behind several parameters, so that they broadcast, inside of `vmap` too: for checks."""
    return aligned_values(*(_host_values(p._data) if isinstance(p, Tensor) else p for p in parameters))


def _host_values(payload: Any) -> Any:
    """A payload, but for one on a device its values: random numbers are drawn on the host, with their parameters."""
    if not hasattr(type(payload), "downloaded"):
        return payload
    if payload.kind.lazy:
        raise drawn_later(payload.device)
    return payload.plain_values("parameters of random numbers")


def cast(parameter: Any, dtype: Any) -> Any:
    """A parameter as an operand of this dtype."""
    parameter = as_parameter(parameter)
    if isinstance(parameter, Tensor) and parameter.dtype != dtype:
        return parameter.astype(dtype)
    return parameter


def sized(size: Any) -> tuple[int, ...]:
    """The shape that an argument `size` means."""
    return () if size is None else normalize_shape(size)


def shape_for(function: str, size: Any, parameters: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape of a draw: `size`, or what the parameters broadcast to."""
    check_parameters(function, [p._data for p in parameters if isinstance(p, Tensor)])
    shapes = [tuple(p.shape) if isinstance(p, (Tensor, Spec)) else np.shape(p) for p in parameters]
    try:
        joint = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"{function}: parameters of shapes {', '.join(map(str, map(list, shapes)))} do not broadcast: each draw "
            "takes one value of every parameter; reshape them so that their axes have equal lengths or length 1"
        ) from None
    if size is None:
        return joint
    shape = normalize_shape(size)
    padded = (1,) * (len(shape) - len(joint)) + joint
    if len(joint) > len(shape) or any(a not in (1, b) for a, b in zip(padded, shape, strict=True)):
        raise ValueError(
            f"{function}: size={shape} cannot hold parameters of joint shape {joint}: size is the shape of the whole "
            f"result; leave it out, or put further axes in front, as in size=(n, {str(joint).strip('(,)') or '..'})"
        )
    return shape


def dtype_for(parameters: tuple[Any, ...], dtype: Any = None) -> np.dtype[Any]:
    """The dtype of a continuous draw: the given one, that of the floating parameters, or the default."""
    if dtype is None:
        given = [p.dtype for p in parameters if hasattr(p, "dtype") and p.dtype.kind == "f"]
        return np.result_type(*given) if given else np.dtype(get_default_dtype())
    check_floating("random", dtype)
    return np.dtype(dtype)


def check_floating(function: str, dtype: Any, and_complex: bool = False) -> None:
    """Raise unless a dtype can hold what is between two whole numbers."""
    if dtype is not None and np.dtype(dtype).kind not in ("fc" if and_complex else "f"):
        raise TypeError(
            f"{function}: dtype={np.dtype(dtype)} cannot hold continuous random numbers; use a floating dtype, or "
            "pb.random.integers for whole numbers"
        )


_RULES: dict[str, tuple[Callable[[Array], Any], str]] = {
    "be positive": (lambda v: v > 0, "the distribution is not defined otherwise; pass exp(..) or softplus(..) of it"),
    "not be negative": (lambda v: ~(v < 0), "it measures a width or a rate; pass its absolute value"),
    "lie between 0 and 1": (lambda v: (v >= 0) & (v <= 1), "it is a probability; pass sigmoid(..) of a logit"),
    "lie between 0 and 1, without 0": (lambda v: (v > 0) & (v <= 1), "success must be possible; make it larger"),
    "lie between 0 and 1, without 1": (lambda v: (v >= 0) & (v < 1), "the series diverges at 1; make it smaller"),
    "be above 1": (lambda v: v > 1, "the series diverges otherwise; make it larger"),
}


def check(function: str, rule: str, **parameters: Any) -> None:
    """Raise a ValueError that says which parameter breaks a rule, with which value, why it exists and what to do."""
    test, reason = _RULES[rule]
    for name, parameter in parameters.items():
        values = values_of(parameter)
        allowed = np.asarray(test(values))
        if not allowed.all():
            raise ValueError(f"{function}: {name} must {rule}, but it is {values[~allowed].flat[0]}: {reason}")
