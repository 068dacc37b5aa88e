"""How special functions are declared: one row each, with SciPy's kernel and the partial derivatives.

This is the only module that imports SciPy. Without it, functions that NumPy can compute have a kernel of ours, and the
others raise an ImportError when they are called that says what to install. Orders, degrees and other parameters for
which no derivative is known are operands as well, so that they broadcast; asking for their gradient raises
NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Unpack

import numpy as np

from pullback._sites import not_installed
from pullback.declare.facts import Facts
from pullback.declare.families import elementwise
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample
from pullback.operators.elementwise.comparison import where
from pullback.operators.pieces import PIECE, are_contiguous, elementwise_in_pieces, fill_in_pieces

try:
    import scipy.special as _scipy
except ImportError:  # an optional extra
    _scipy = None  # type: ignore[assignment]

Kernel = Callable[..., Any]


def has_scipy() -> bool:
    """Whether SciPy is installed."""
    return _scipy is not None


def scipy_function(name: str, instead: Kernel | None = None) -> Kernel:
    """SciPy's function of this name; where SciPy is not installed, `instead`, or a function that says so."""
    if _scipy is not None:
        return getattr(_scipy, name)
    if instead is not None:
        return instead

    def missing(*operands: Any, **params: Any) -> Any:
        raise not_installed(f"special.{name}", "SciPy", "scipy")

    return missing


def refused(name: str, operand: str) -> Kernel:
    """The partial derivative of an operand that has none here: asking for it raises."""

    def partial() -> Any:
        raise NotImplementedError(
            f"special.{name} has no derivative by its argument {operand!r}: pass it as a number, or detach() it"
        )

    return partial


def _in_pieces(kernel: Kernel) -> Kernel:
    """A kernel of one operand that shares large arrays among threads: special functions take their time."""

    def shared(x: Any) -> Any:
        return elementwise_in_pieces(kernel, x)

    def written(x: Any) -> Any:
        if np.size(x) < PIECE or not are_contiguous(x) or x.dtype.char not in "fd":
            return shared(x)
        out = np.empty(x.shape, x.dtype)
        fill_in_pieces(lambda outs, part: kernel(part, outs[0]), (out,), x)
        return out

    is_real = isinstance(kernel, np.ufunc) and {"f->f", "d->d"} <= set(kernel.types)
    return written if is_real else shared


def row(
    name: str,
    operands: tuple[str, ...],
    partials: tuple[Any, ...],
    *,
    doc: str,
    domain: Any = (-2.0, 2.0),
    kernel: Kernel | None = None,
    without_scipy: Kernel | None = None,
    holomorphic: bool = False,
    params: dict[str, Any] | None = None,
    aliases: tuple[str, ...] = (),
    **facts: Unpack[Facts],
) -> Op:
    """Declare `special.<name>`, or a private operator if the name starts with an underscore.

    A partial that is the string "refused" belongs to an operand without derivative. The domain of an operand is an
    interval, or a `range` of integers. `params` are static parameters with the values that the samples use.
    """
    is_private = name.startswith("_")
    chosen = kernel or scipy_function(name, without_scipy)
    ufunc = chosen if isinstance(chosen, np.ufunc) else None
    if len(operands) == 1 and not params:
        chosen = _in_pieces(chosen)
    op = elementwise(
        name if is_private else f"special.{name}", chosen, operands,
        tuple(
            refused(name, operand) if partial == "refused" else partial
            for operand, partial in zip(operands, partials, strict=True)
        ),
        inplace=False, params=tuple(params or ()), doc=doc, aliases=tuple(f"special.{alias}" for alias in aliases),
        torch=f"special_{name.strip('_')}", **facts,
    )  # fmt: skip
    # Kernels of SciPy promote in ways of their own, and the fast paths of elementwise operators expect NumPy's.
    op.family = "special"
    op.ufunc = ufunc
    works = has_scipy() or without_scipy is not None
    domains = domain if isinstance(domain, list) else [domain] * len(operands)
    op.sample_rule = _samples(domains, params or {}, holomorphic) if works else _no_samples
    return op


def _samples(domains: list[Any], params: dict[str, Any], holomorphic: bool) -> Callable[[Maker], Iterator[Sample]]:
    def rule(make: Maker) -> Iterator[Sample]:
        def operands(*shapes: tuple[int, ...], dtype: Any = np.float64) -> tuple[Any, ...]:
            shapes = shapes if len(shapes) == len(domains) else shapes * len(domains)
            return tuple(
                make.integers(domain.start, domain.stop, shape) if isinstance(domain, range)
                else make(shape, dtype, *domain)
                for domain, shape in zip(domains, shapes, strict=True)
            )  # fmt: skip

        yield Sample(operands((3, 4)), params, "matrix")
        yield Sample(tuple(x.T[::-2] for x in operands((2, 5))), params, "strided")
        yield Sample(operands(()), params, "scalar")
        yield Sample(operands((4,), dtype=np.float32), params, "float32")
        yield Sample(operands((0, 2)), params, "empty")
        if len(domains) > 1:
            yield Sample(operands((3, 1), *[(2,)] * (len(domains) - 1)), params, "broadcast")
        if holomorphic:
            yield Sample(operands((4,), dtype=np.complex128), params, "complex")

    return rule


def _no_samples(make: Maker) -> Iterator[Sample]:
    """The operator cannot be evaluated, because SciPy is not installed."""
    return iter(())


def near_zero(x: Any, radius: float, coefficients: tuple[float, ...], elsewhere: Callable[[Any], Any]) -> Any:
    """A function by its power series (constant term first) within `radius` of zero, and `elsewhere(x)` further out.

    For quotients whose terms cancel near a removable singularity. Both branches only see points that belong to them, so
    that no derivative becomes infinite times zero.
    """
    is_near = abs(x) < radius
    near, far = where(is_near, x, 0), where(is_near, 1, x)
    total = near * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        total = (total + coefficient) * near
    return where(is_near, total + coefficients[0], elsewhere(far))
