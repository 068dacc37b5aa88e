"""Draws, moments and fits of continuous distributions.

A draw moves with the parameters so that its probability from below stays: `loc + scale * z` exactly, by shapes by the
density. A moment has SciPy's value and the derivatives of its integral. Fitted parameters make the slope of the
likelihood zero, and that equation says how they move with the data.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.func._grad import grad, vjp
from pullback.func._jvp import jvp
from pullback.scipy._composed import anchored, real_or_complex, refused
from pullback.scipy._surface import joined, numbers
from pullback.tensors.tensor import Tensor, made_here


class Draw(Function):
    """Numbers that SciPy drew, as a function of the parameters they were drawn with."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(law: Any, drawn: Any, loc: Tensor, scale: Tensor, *shapes: Tensor) -> Tensor:
        return made_here(np.array(drawn, dtype=float))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.law, _, *rest = inputs
        ctx.save_for_backward(output, *rest)
        ctx.save_for_forward(output, *rest)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        x, loc, scale, *shapes = ctx.saved_tensors
        z = (x - loc) / scale
        by_shapes: list[Any] = [None] * len(shapes)
        if any(ctx.needs_input_grad[4:]):
            scaled = -gradient * scale / pb.exp(ctx.law.log_density(z, shapes))
            by_shapes = list(vjp(lambda *each: ctx.law.below(z, each), *shapes)[1](scaled))
        return None, None, pb.sum_to_size(gradient, loc.shape), pb.sum_to_size(gradient * z, scale.shape), *by_shapes

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, t_loc: Any, t_scale: Any, *tangents: Any) -> Tensor:
        x, loc, scale, *shapes = ctx.saved_tensors
        z = (x - loc) / scale
        moved = x * 0
        moved = moved if t_loc is None else moved + t_loc
        moved = moved if t_scale is None else moved + z * t_scale
        if any(each is not None for each in tangents):
            moves = tuple(t if t is not None else s * 0 for t, s in zip(tangents, shapes, strict=True))
            found = jvp(lambda *each: ctx.law.below(z, each), tuple(shapes), moves)[1]
            moved = moved - scale * found / pb.exp(ctx.law.log_density(z, shapes))
        return moved


def draw(law: Any, shapes: list[Any], loc: Any, scale: Any, size: Any, random_state: Any) -> Tensor:
    """SciPy's numbers for this state of its generator."""
    params = [real_or_complex(joined(each)) for each in (loc, scale, *shapes)]
    loc, scale, *shapes = params
    plain = [numbers(each.detach()) for each in params]
    drawn = law.real.rvs(*plain[2:], loc=plain[0], scale=plain[1], size=size, random_state=numbers(random_state))
    return Draw.apply(law, np.asarray(drawn), loc, scale, *shapes)


# Moments.


def expectation(law: Any, function: Callable[[Tensor], Any], shapes: Any, ends: Any = (None, None)) -> Tensor:
    """The integral of a function of the standard variable over its density, in two halves."""
    given = [float(numbers(s.detach())) for s in shapes]
    low, high = (float(end) for end in law.real._get_support(*given))
    low, high = (low if ends[0] is None else ends[0]), (high if ends[1] is None else ends[1])
    middle = float(law.real.ppf(0.5, *given))
    places = [low, middle, high] if numbers(low) < middle < numbers(high) else [low, high]
    integrand = lambda z: function(z) * pb.exp(law.log_density(z, shapes))
    options = {"epsabs": 1e-11, "epsrel": 1e-9, "limit": 200}
    return sum(pb.scipy.integrate.quad(integrand, *half, **options)[0] for half in pairwise(places))


def _each(formula: Callable[[Any], Tensor], shapes: Any) -> Tensor:
    """A formula for one set of shapes, for many, one after the other."""
    shape = np.broadcast_shapes(*(s.shape for s in shapes))
    many = [pb.broadcast_to(s, shape).reshape(-1) for s in shapes]
    return pb.stack([formula([s[k] for s in many]) for k in range(many[0].shape[0])]).reshape(shape)


_LEVELS = (*(10.0**-k for k in range(15, 0, -1)), 0.05, 0.2, 0.5)  # a long tail is ten times as long for each
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def over_nodes(
    law: Any, functions: list[Callable[..., Any]], shapes: Any, ends: tuple[float, float] | None = None
) -> list[Tensor]:
    """Expectations of functions of a variable and the logarithm of its density, by Gauss' rule between quantiles."""
    given = [float(numbers(s.detach())) for s in shapes]
    low, high = (float(end) for end in law.real._get_support(*given))
    levels = np.array(_LEVELS)
    places = np.unique([low, *law.real.ppf(levels, *given), *law.real.isf(levels, *given), high])
    places = places[np.isfinite(places)]
    if ends is not None:
        places = np.unique([*ends, *places[(places > ends[0]) & (places < ends[1])]])
    middle, half = (places[1:] + places[:-1]) / 2, (places[1:] - places[:-1]) / 2
    nodes, shares = (middle[:, None] + half[:, None] * _NODES).reshape(-1), (half[:, None] * _WEIGHTS).reshape(-1)
    matters = law.real.logpdf(nodes, *given) > -600  # where a density is 0 by underflow its formula may have no slope
    z = pb.asarray(nodes[matters])
    logs = law.log_density(z, shapes)
    weights = pb.exp(logs) * shares[matters]
    return [(weights * function(z, logs)).sum() for function in functions]


def _of_standard(law: Any, name: str, order: int, shapes: Any) -> Tensor:
    """A moment as an integral: on nodes if they give SciPy's value, and otherwise adaptively."""
    given = [float(numbers(s.detach())) for s in shapes]
    expected = float(law.real.moment(order, *given) if name == "moment" else getattr(law.real, name)(*given))
    centre = float(law.real.mean(*given)) if name == "var" else 0.0

    def slowly(functions: list[Callable[..., Any]]) -> list[Tensor]:
        each = lambda function: lambda z: function(z, law.log_density(z, shapes))
        return [expectation(law, each(function), shapes) for function in functions]

    for integrate in (over_nodes, lambda law, functions, shapes: slowly(functions)):
        if name == "entropy":
            (out,) = integrate(law, [lambda z, logs: -logs], shapes)
        elif name == "var":
            first, second = integrate(law, [lambda z, _: z - centre, lambda z, _: (z - centre) ** 2], shapes)
            out = second - first**2
        else:
            (out,) = integrate(law, [lambda z, _: z**order], shapes)
        if abs(float(numbers(out.detach())) - expected) <= 1e-8 * (1 + abs(expected)):
            break
    return out


def moment(law: Any, name: str, shapes: list[Any], loc: Any, scale: Any, order: int = 1) -> Tensor:
    """`mean`, `var`, `std`, `entropy` or `moment`, with SciPy's value for the standard variable."""
    shapes = [real_or_complex(joined(each)) for each in shapes]
    loc, scale = joined(loc), joined(scale)

    def standard(name: str, order: int) -> Any:
        value = getattr(law.real, name)
        value = (lambda *s: value_of(order, *s)) if name == "moment" else value
        if not shapes:
            return pb.asarray(value())
        return anchored(value, lambda *s: _each(lambda one: _of_standard(law, name, order, one), s), *shapes)

    value_of = np.vectorize(law.real.moment)
    if name == "mean":
        return loc + scale * standard(name, 1)
    if name == "var":
        return scale**2 * standard(name, 2)
    if name == "std":
        return scale * pb.sqrt(standard("var", 2))
    if name == "entropy":
        return standard(name, 0) + pb.log(scale)
    total: Any = loc**order
    for k in range(1, order + 1):
        ways = float(np.prod(np.arange(order - k + 1, order + 1)) / np.prod(np.arange(1, k + 1)))
        total = total + ways * loc ** (order - k) * scale**k * standard("moment", k)
    return total


# Fits.


def fit(distribution: Any, data: Any, starts: tuple[Any, ...], kwds: dict[str, Any]) -> tuple[Any, ...]:
    """The most likely parameters: `shapes, loc, scale`."""
    real, law = distribution._real, distribution._law
    path = f"stats.{real.name}.fit"
    data = real_or_complex(joined(data)).reshape(-1)
    if kwds.get("method", "mle").lower() != "mle":
        raise refused(path, "only the most likely parameters have a derivative here")
    shapes = real.shapes.split(", ") if real.shapes else []
    names = [*shapes, "loc", "scale"]
    fixed: dict[str, Any] = {}
    for k, name in enumerate(names):
        for key in (f"f{name}", f"fix_{name}", f"f{k}" if k < len(shapes) else ""):
            if kwds.get(key) is not None:
                fixed[name] = real_or_complex(joined(kwds[key]))
    plain = real.fit(numbers(data), *map(numbers, starts), **{key: numbers(value) for key, value in kwds.items()})
    closed = _closed(real.name, data, fixed)
    if closed is not None:
        return closed
    if not law.has_density:
        raise refused(path, "no formula of its density is known to be right")
    free = [name for name in names if name not in fixed]
    held = list(fixed.values())

    def solved(*_: Any) -> Tensor:
        return pb.asarray([float(plain[names.index(name)]) for name in free])

    def slope(found: Tensor, data: Tensor, *held: Tensor) -> Tensor:
        def likelihood(found: Tensor) -> Tensor:
            known = dict(zip(free, found, strict=True)) | dict(zip(fixed, held, strict=True))
            z = (data - known["loc"]) / known["scale"]
            return (law.log_density(z, [known[name] for name in shapes]) - pb.log(known["scale"])).mean()

        return grad(likelihood)(found)

    found = pb.func.implicit(solved, slope)(data, *held)
    known = dict(zip(free, found, strict=True)) | fixed
    return tuple(known[name] for name in names)


def _closed(name: str, data: Tensor, fixed: dict[str, Any]) -> tuple[Any, ...] | None:
    """Where there is a formula. The least of the data is where some distributions begin: no slope is zero there."""
    if name == "norm":
        loc = fixed.get("loc", data.mean())
        return loc, fixed.get("scale", pb.sqrt(((data - loc) ** 2).mean()))
    if name == "expon":
        loc = fixed.get("loc", data.min())
        return loc, fixed.get("scale", data.mean() - loc)
    if name == "uniform" and not fixed:
        return data.min(), data.max() - data.min()
    return None
