"""When two derivatives count as equal, and what the caller reads when they do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pullback.core.records import Record
from pullback.errors import GradcheckError

__all__ = ["Comparison", "are_close", "are_equal_up_to_rounding", "largest_difference"]


def are_close(analytical: np.ndarray, numerical: np.ndarray, rtol: float, atol: float) -> bool:
    """Whether `|analytical - numerical| <= atol + rtol * |numerical|` everywhere; NaN is close to nothing."""
    return np.allclose(analytical, numerical, rtol=rtol, atol=atol)


def are_equal_up_to_rounding(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two evaluations of the same formula agree to half the digits of their dtype."""
    tolerance = float(np.sqrt(np.finfo(second.dtype).eps))
    scale = float(np.max(np.abs(second), initial=0.0, where=np.isfinite(second)))
    return np.allclose(first, second, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def largest_difference(first: np.ndarray, second: np.ndarray, *, equal_nan: bool) -> tuple[float, tuple[int, ...]]:
    """The largest `|first - second|` and its index; NaN exceeds any number, and equal infinities do not differ."""
    if first.size == 0:
        return 0.0, ()
    with np.errstate(invalid="ignore"):
        difference = np.abs(first - second)
    difference[first == second] = 0.0
    if equal_nan:
        difference[np.isnan(first) & np.isnan(second)] = 0.0
    index = np.unravel_index(np.argmax(difference), difference.shape)
    return float(difference[index]), tuple(int(i) for i in index)


class Comparison(Record, frozen=True, eq=False):
    """Which Jacobian is compared with the numerical one, and how the difference is told.

    `mode` is "backward" or "forward", `remark` says which part of complex values is looked at. `full` recomputes
    both whole Jacobians; it is given in fast mode, where the observation itself is a single number.
    """

    mode: str
    output_index: int
    input_index: int
    remark: str = ""
    full: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None
    dtype: str = "float64"
    shape: tuple[int, ...] | None = None  # of the input

    def precision_first(self) -> str:
        """What to look at before anything else: are there enough digits for differences?"""
        if self.dtype in ("float64", "complex128", "longdouble", "clongdouble"):
            return ""
        return (
            f"input {self.input_index} is {self.dtype}, which has too few digits for the default step and tolerances: "
            "use float64, or gradcheck(..., eps=1e-3, atol=1e-2)\n"
        )

    def check(self, analytical: np.ndarray, numerical: np.ndarray, rtol: float, atol: float, weight: float) -> None:
        """Raise GradcheckError unless the two agree. `weight` is what the probes make of an error of 1 everywhere."""
        if are_close(analytical, numerical, rtol, atol * weight):
            return
        before = self.precision_first()
        if self.full is None:
            raise GradcheckError(before + self.headline() + self.jacobians(analytical, numerical))
        text = (
            f"{before}{self.headline()}\n  seen along random directions (fast_mode):"
            f"\n  numerical:  {numerical.item():.12g}\n  analytical: {analytical.item():.12g}"
        )
        whole_analytical, whole_numerical = self.full()
        text += "\n  the whole Jacobians:" + self.jacobians(whole_analytical, whole_numerical)
        if are_close(whole_analytical, whole_numerical, rtol, atol):
            text += (
                "\n  Entry by entry they are within the tolerances, so the check may pass with fast_mode=False; "
                "small differences of one sign add up along a random direction."
            )
        raise GradcheckError(text)

    def headline(self) -> str:
        """Which derivative is wrong."""
        how = "computed with forward mode " if self.mode == "forward" else ""
        place = f"for output {self.output_index} with respect to input {self.input_index}"
        return f"Jacobian {how}mismatch {place}" + (f". While considering {self.remark}" if self.remark else "")

    def jacobians(self, analytical: np.ndarray, numerical: np.ndarray) -> str:
        """Both matrices, the entry at which they differ most, and what the difference looks like."""
        worst, index = largest_difference(analytical, numerical, equal_nan=False)
        text = f"\n  numerical:\n{numerical}\n  analytical:\n{analytical}"
        text += "\n  (one row per input element, one column per output element)"
        if index:
            text += (
                f"\n  the largest difference is {worst:.6g}, at row {index[0]}, column {index[1]}: "
                f"numerical {numerical[index]:.12g}, analytical {analytical[index]:.12g}"
            )
            if self.shape and np.prod(self.shape) == analytical.shape[0]:
                place = [int(k) for k in np.unravel_index(index[0], self.shape)]
                text += f"; that row is element {place} of input {self.input_index}"
        return text if self.precision_first() else text + _pattern(analytical, numerical)


def _pattern(analytical: np.ndarray, numerical: np.ndarray) -> str:
    """What kind of mistake makes such a difference, if it is one of the common ones."""
    scale = float(np.max(np.abs(numerical), initial=0.0))
    matters = np.abs(numerical) > 1e-3 * scale
    if not scale or not np.isfinite(analytical).all() or not matters.any():
        return ""
    ratios = analytical[matters] / numerical[matters]
    ratio = complex(np.mean(ratios))
    same = np.allclose(ratios, ratio, rtol=1e-3) and np.allclose(analytical[~matters], 0, atol=1e-2 * scale)
    if same and np.isclose(ratio, -1, rtol=1e-3):
        return "\n  all entries have the other sign: the formula has a wrong sign"
    if same and ratio and abs(ratio.imag) < 1e-6 * abs(ratio):
        return f"\n  all entries are {ratio.real:.4g} times what they should be: a factor is missing or too many"
    is_square = analytical.shape[0] == analytical.shape[1]
    if is_square and np.allclose(analytical.T, numerical, rtol=1e-3, atol=1e-3 * scale):
        return "\n  the matrix is the transpose of what it should be"
    return ""
