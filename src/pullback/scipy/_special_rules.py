"""Special functions that have no operator of their own: SciPy's value, and derivatives by formulas.

A function is declared by a `formula` of functions that have derivatives, where there is one, or by its `partial`
derivatives. An argument without a partial derivative is refused where one is asked for, never taken for a constant.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.errors import AutogradError
from pullback.func._implicit.lift import is_watched
from pullback.scipy._composed import Anchored, has_numbers
from pullback.scipy._opaque import is_traced, opaque
from pullback.scipy._surface import declare_as, joined, numbers, scipy_module, tensors
from pullback.tensors.tensor import Tensor, made_here

Partial = Callable[..., Any] | None


def _operands(args: Sequence[Any]) -> tuple[list[Tensor], tuple[int, ...]]:
    """Arguments as tensors of real or complex numbers, and the shape that they broadcast to."""
    given = [joined(arg) for arg in args]
    given = [each if each.dtype.kind in "fc" else each.astype(np.float64) for each in given]
    return given, np.broadcast_shapes(*(tuple(each.shape) for each in given))


def _is_constant(args: Sequence[Any]) -> bool:
    return not any(isinstance(arg, Tensor) and is_watched(arg) for arg in args)


def formula(name: str, function: Callable[..., Any]) -> None:
    """Declare a ufunc by a formula for it, which has its derivatives, and the value where there are no numbers."""
    plain = getattr(scipy_module("special"), name, None)
    if plain is None:
        return

    def call(*args: Any) -> Any:
        if _is_constant(args):
            return tensors(plain(*map(numbers, args)))
        given, _ = _operands(args)
        return Anchored.apply(plain, function, *given) if has_numbers(*given) else function(*given)

    _declare(name, call, "all arguments")


def composite(name: str, function: Callable[..., Any], by: str) -> None:
    """Declare a function, with arguments of its own, by a formula that has its derivatives by one of them."""
    plain = scipy_module("special").__dict__[name]
    signature = inspect.signature(function if isinstance(plain, np.ufunc) else plain)

    def call(*args: Any, **kwargs: Any) -> Any:
        if _is_constant((*args, *kwargs.values())):
            return tensors(plain(*map(numbers, args), **{key: numbers(value) for key, value in kwargs.items()}))
        given = signature.bind(*args, **kwargs).arguments
        for place, (key, value) in enumerate(given.items()):
            if key == by:
                given[key] = _operands([value])[0][0]
            elif isinstance(value, Tensor) and is_watched(value):
                _checked(name, None, place)
        return function(**given)

    call.__signature__ = signature  # type: ignore[attr-defined]
    _declare(name, call, by)


def along(function: Callable[[Any], Any], x: Any) -> Any:
    """The derivative of a function, element by element."""
    return pb.func.jvp(function, (x,), (pb.ones_like(x),))[1]


def partials(name: str, *slopes: Partial | tuple[Partial, ...], is_real: bool = False) -> None:
    """Declare a ufunc by its partial derivatives, in the order of its arguments; of several results, tuples of them.

    `is_real` says that they are those of real numbers only.
    """
    plain = getattr(scipy_module("special"), name, None)
    if plain is None:
        return
    results = plain.nout if isinstance(plain, np.ufunc) else 1

    def call(*args: Any) -> Any:
        if _is_constant(args):
            return tensors(plain(*map(numbers, args)))
        given, shape = _operands(args)
        if is_real and any(each.dtype.kind == "c" for each in given):
            _checked(name, None, 0)
        found = []
        for k in range(results):
            own = [slope[k] if isinstance(slope, tuple) else slope for slope in slopes]
            value = (lambda *arrays, k=k: plain(*arrays)[k]) if results > 1 else plain
            found.append(_evaluated(name, value, own, given, shape))
        return found[0] if results == 1 else tuple(found)

    _declare(name, call, ", ".join(f"argument {k + 1}" for k, slope in enumerate(slopes) if slope is not None))


def _declare(name: str, call: Callable[..., Any], by: str) -> None:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`scipy.special.{name}` with derivatives by {by}."
    declare_as(f"special.{name}", call, kind="C", by=by)


def _evaluated(
    name: str, value: Callable[..., Any], slopes: Sequence[Partial], given: list[Tensor], shape: tuple[int, ...]
) -> Tensor:
    def apply(*each: Tensor) -> Tensor:
        return _Special.apply(name, value, tuple(slopes), *each)

    if is_traced(*given):
        return opaque(f"special.{name}", apply, shape, np.result_type(*(each.dtype for each in given)), *given)
    return apply(*given)


class _Special(Function):
    """The value of a function of SciPy's, element by element, with its partial derivatives."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(name: str, value: Callable[..., Any], slopes: tuple[Partial, ...], *args: Tensor) -> Tensor:
        return made_here(np.asarray(value(*(numbers(x.detach()) for x in args))))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.called, _, ctx.slopes, *args = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*args)
        ctx.save_for_forward(*args)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None) -> tuple[Any, ...]:
        args = ctx.saved_tensors
        parts: list[Any] = []
        for k, (slope, x) in enumerate(zip(ctx.slopes, args, strict=True)):
            if gradient is None or not ctx.needs_input_grad[3 + k]:
                parts.append(None)
                continue
            part = gradient * pb.conj(_checked(ctx.called, slope, k)(*args))
            parts.append(_summed(part, x))
        return (None, None, None, *parts)

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, ___: Any, *tangents: Any) -> Any:
        args = ctx.saved_tensors
        moved: Any = 0.0
        for k, (slope, move) in enumerate(zip(ctx.slopes, tangents, strict=True)):
            if move is not None:
                moved = moved + _checked(ctx.called, slope, k)(*args) * move
        return moved


def _summed(part: Tensor, like: Tensor) -> Tensor:
    """A gradient without the axes that its argument was broadcast along."""
    while part.ndim > like.ndim:
        part = part.sum(axis=0)
    axes = tuple(k for k, length in enumerate(like.shape) if length == 1 and part.shape[k] != 1)
    part = part.sum(axis=axes, keepdims=True) if axes else part
    return part.real if part.dtype.kind == "c" and like.dtype.kind != "c" else part


def _checked(name: str, slope: Partial, place: int) -> Callable[..., Any]:
    if slope is None:
        raise AutogradError(
            "SCIPY_NO_ARG_RULE",
            f"scipy.special.{name} has no derivative by argument {place + 1}, which is being differentiated",
            why="no formula for it is known here, and a constant would be wrong",
            fix="detach() that argument, or give the function a derivative with pb.library.custom_op",
        )
    return slope


def _ours(name: str) -> Callable[..., Any]:
    """A function of this package, found when it is called."""
    return lambda *args: getattr(pb.scipy.special, name)(*args)


_DEGREE = np.pi / 180
formula("cosdg", lambda x: pb.cos(x * _DEGREE))
formula("sindg", lambda x: pb.sin(x * _DEGREE))
formula("tandg", lambda x: pb.tan(x * _DEGREE))
formula("cotdg", lambda x: 1 / pb.tan(x * _DEGREE))
formula("radian", lambda d, m, s: (d + m / 60 + s / 3600) * _DEGREE)
formula("powm1", lambda x, y: x**y - 1)
formula("agm", lambda a, b: np.pi / 4 * (a + b) / pb.special.ellipk(((a - b) / (a + b)) ** 2))
formula("voigt_profile", lambda x, s, g: (
    pb.special.wofz((x + 1j * g) / (s * np.sqrt(2))).real / (s * np.sqrt(2 * np.pi))
))  # fmt: skip
formula("stdtrit", lambda df, p: pb.scipy.stats.t.ppf(p, df))
formula("chdtri", lambda v, p: 2 * pb.special.gammainccinv(v / 2, p))
formula("gdtrc", lambda a, b, x: 1 - pb.special.gdtr(a, b, x))
formula("fdtrc", lambda n, d, x: 1 - pb.special.fdtr(n, d, x))


def _slope(name: str, *args: Any) -> Any:
    """The derivative of an operator by its last argument; those before are whole numbers."""
    *counts, x = args
    function = getattr(pb.special, name)
    return pb.func.jvp(lambda v: function(*(n.detach() for n in counts), v), (x,), (pb.ones_like(x),))[1]


partials("pdtrc", None, lambda k, m: -_slope("pdtr", k, m))
partials("bdtrc", None, None, lambda k, n, p: -_slope("bdtr", k, n, p))
partials("nbdtrc", None, None, lambda k, n, p: -_slope("nbdtr", k, n, p))
partials("eval_sh_legendre", None, lambda n, x: 2 * _slope("eval_legendre", n, 2 * x - 1))
partials("eval_sh_chebyt", None, lambda n, x: 2 * _slope("eval_chebyt", n, 2 * x - 1))
partials("eval_sh_chebyu", None, lambda n, x: 2 * _slope("eval_chebyu", n, 2 * x - 1))
partials("eval_chebyc", None, lambda n, x: _slope("eval_chebyt", n, x / 2))
partials("eval_chebys", None, lambda n, x: _slope("eval_chebyu", n, x / 2) / 2)


partials("hyperu", None, None, lambda a, b, x: -a * _ours("hyperu")(a + 1, b + 1, x))
partials("modstruve", None, lambda v, x: _ours("modstruve")(v - 1, x) - v / x * _ours("modstruve")(v, x))
partials("jve", None, lambda v, x: _ours("jve")(v - 1, x) - v / x * _ours("jve")(v, x))
partials("yve", None, lambda v, x: _ours("yve")(v - 1, x) - v / x * _ours("yve")(v, x))
partials("hankel1e", None, lambda v, z: _ours("hankel1e")(v - 1, z) - (v / z + 1j) * _ours("hankel1e")(v, z))
partials("hankel2e", None, lambda v, z: _ours("hankel2e")(v - 1, z) - (v / z - 1j) * _ours("hankel2e")(v, z))

# Kelvin's functions and their derivatives: Bessel's equation on a diagonal of the complex plane.
for _even, _odd in (("ber", "bei"), ("ker", "kei")):
    for _name in (_even, _odd):
        partials(_name, _ours(f"{_name}p"))
    partials(f"{_even}p", lambda x, a=_even, b=_odd: -_ours(b)(x) - _ours(f"{a}p")(x) / x)
    partials(f"{_odd}p", lambda x, a=_even, b=_odd: _ours(a)(x) - _ours(f"{b}p")(x) / x)

# Integrals: the derivative is the integrand.
partials("itj0y0", (lambda x: pb.special.j0(x), lambda x: pb.special.y0(x)))
partials("iti0k0", (lambda x: pb.special.i0(x), lambda x: pb.special.k0(x)))
partials("it2j0y0", (lambda x: (1 - pb.special.j0(x)) / x, lambda x: -pb.special.y0(x) / x))
partials("it2i0k0", (lambda x: (pb.special.i0(x) - 1) / x, lambda x: -pb.special.k0(x) / x))
partials("itairy", (
    lambda x: pb.special.airy(x)[0], lambda x: pb.special.airy(x)[2],
    lambda x: pb.special.airy(-x)[0], lambda x: pb.special.airy(-x)[2],
))  # fmt: skip
partials("itstruve0", lambda x: pb.special.struve(0.0, x))
partials("it2struve0", lambda x: -pb.special.struve(0.0, x) / x)
partials("itmodstruve0", lambda x: _ours("modstruve")(0.0, x))

# Parabolic cylinders: pairs of a value and its derivative, and their differential equation.
for _name in ("pbdv", "pbvv"):
    partials(_name, None, (
        lambda v, x, n=_name: _ours(n)(v, x)[1], lambda v, x, n=_name: (x * x / 4 - v - 0.5) * _ours(n)(v, x)[0],
    ))  # fmt: skip
partials("pbwa", None, (lambda a, x: _ours("pbwa")(a, x)[1], lambda a, x: (a - x * x / 4) * _ours("pbwa")(a, x)[0]))

# Carlson's integrals by their arguments.
partials("elliprf", *(
    lambda x, y, z, order=order: -_ours("elliprd")(*((x, y, z)[k] for k in order)) / 6
    for order in ((1, 2, 0), (2, 0, 1), (0, 1, 2))
))  # fmt: skip


def _amplitude(u: Tensor, m: Tensor) -> Any:
    """The derivative of Jacobi's amplitude by the parameter."""
    sn, cn, dn, phi = _ours("ellipj")(u, m)
    return (((m - 1) * u + pb.special.ellipeinc(phi, m)) * dn - m * cn * sn) / (2 * m * (m - 1))


def _of_ellipj(which: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The partial derivatives of one of Jacobi's functions, `sn`, `cn`, `dn` and the amplitude."""

    def by_amplitude(sn: Any, cn: Any, dn: Any, m: Any) -> Any:
        return (cn, -sn, -m * sn * cn / dn, 1.0)[which]

    def by_u(u: Tensor, m: Tensor) -> Any:
        sn, cn, dn, _ = _ours("ellipj")(u, m)
        return by_amplitude(sn, cn, dn, m) * dn

    def by_m(u: Tensor, m: Tensor) -> Any:
        sn, cn, dn, _ = _ours("ellipj")(u, m)
        own = -(sn * sn) / (2 * dn) if which == 2 else 0.0
        return by_amplitude(sn, cn, dn, m) * _amplitude(u, m) + own

    return by_u, by_m


_rows = [_of_ellipj(which) for which in range(4)]
partials("ellipj", tuple(row[0] for row in _rows), tuple(row[1] for row in _rows))
