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

    def check(self, analytical: np.ndarray, numerical: np.ndarray, rtol: float, atol: float, weight: float) -> None:
        """Raise GradcheckError unless the two agree. `weight` is what the probes make of an error of 1 everywhere."""
        if are_close(analytical, numerical, rtol, atol * weight):
            return
        if self.full is None:
            raise GradcheckError(self.headline() + self.jacobians(analytical, numerical))
        text = (
            f"{self.headline()}\n  seen along random directions (fast_mode):"
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

    @staticmethod
    def jacobians(analytical: np.ndarray, numerical: np.ndarray) -> str:
        """Both matrices and the entry at which they differ most."""
        worst, index = largest_difference(analytical, numerical, equal_nan=False)
        text = f"\n  numerical:\n{numerical}\n  analytical:\n{analytical}"
        text += "\n  (one row per input element, one column per output element)"
        if index:
            text += (
                f"\n  the largest difference is {worst:.6g}, at row {index[0]}, column {index[1]}: "
                f"numerical {numerical[index]:.12g}, analytical {analytical[index]:.12g}"
            )
        return text
