"""Why calls of a compiled function run in Python."""

from __future__ import annotations

import enum

from pullback.core.records import Record
from pullback.errors import ConcretizationError, DynamicShapeError, SideEffectError, TraceError, UnsupportedTypeError


class Reason(enum.Enum):
    """The reasons, as `explain().data["reasons"]` has them."""

    OPAQUE_VALUE = "opaque value"
    IMPURE_CALL = "impure call"
    UNSEEN_EFFECT = "unseen effect"
    YIELDS = "yields"
    TOO_LONG = "too long"
    SLOWER = "slower"
    UNKNOWN_ORIGIN = "unknown origin"
    PAYLOAD = "payload"
    RECURSION = "recursion"
    RAISES = "raises"


class GivenUp(Record, frozen=True):
    """One reason that was found, with the user's line and what happened there."""

    reason: Reason
    location: str
    text: str


def given_up(error: BaseException) -> GivenUp:
    """What an error of a trace is the reason for."""
    location, text = getattr(error, "location", ""), str(getattr(error, "what", error))
    if isinstance(error, (ConcretizationError, DynamicShapeError)):
        reason = Reason.OPAQUE_VALUE
    elif isinstance(error, SideEffectError):
        is_asked = text.startswith(tuple(f"the function {does}" for does in ("asks", "draws", "uses", "looks")))
        reason = Reason.IMPURE_CALL if is_asked else Reason.UNSEEN_EFFECT
    elif isinstance(error, UnsupportedTypeError):
        reason = Reason.YIELDS if "generator" in text else Reason.UNKNOWN_ORIGIN
    elif isinstance(error, TraceError):
        reason = Reason.RECURSION if "calls itself" in text else Reason.UNKNOWN_ORIGIN
    else:
        reason = Reason.RAISES
    return GivenUp(reason, location, text)
