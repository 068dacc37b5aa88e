"""Every exception that Pullback raises on purpose.

    RuntimeError
      AutogradError            a rule of differentiation was broken; `.code` names the rule
        InternalError          the mistake is Pullback's, not the caller's
      AOTError                 a function can not be captured, or its capture can not be used as it was
        CaptureError             it uses a tensor that is no argument, and was told not to
        ConcretizationError      it asks for a value, while there are only shapes
        DynamicShapeError        a shape in it depends on values
        LeakedTracerError        a traced tensor is used after its trace
        ConstantMutationError    it writes to an array that is a constant of the graph
        UnsupportedTypeError     an argument or result is of a type that nobody registered
        AliasError               arguments share memory in a way that can not be replayed
        FunctionalizationError   a write can not be expressed as a new value
        TraceError               anything else that a trace can not follow
        PartitionError           the graph can not be split into forward and backward
        HigherOrderError         a value that a higher derivative needs was overwritten
        DoubleBackwardError      higher derivatives were switched off
        GuardError               a compiled function does not fit its arguments
        RecompileLimitError      too many different kinds of arguments
      CheckpointError          a checkpointed function did not repeat itself
      GradcheckError           analytical and numerical derivatives differ
    UserWarning
      TraceWarning             a trace made a constant of something that varies
      DetachedScalarWarning    a number left the graph, and carries no gradient
      PerformanceWarning       the result is right, and a faster way exists

An `AutogradError` says what happened, where, why it is not allowed and what to write instead. It derives from
`RuntimeError`, so that code written for torch still catches it, and tests look at `.code`, never at the wording.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "AOTError", "AliasError", "AutogradError", "CaptureError", "CheckpointError", "ConcretizationError",
    "ConstantMutationError", "DetachedScalarWarning", "DoubleBackwardError", "DynamicShapeError",
    "FunctionalizationError", "GradcheckError", "GuardError", "HigherOrderError", "InternalError", "LeakedTracerError",
    "PartitionError", "PerformanceWarning", "RecompileLimitError", "TraceError", "TraceWarning",
    "UnsupportedTypeError",
]  # fmt: skip


class AutogradError(RuntimeError):
    """A rule of differentiation was broken. `code` names the rule; the other fields are the parts of the message."""

    def __init__(self, code: str, what: str, *, where: str = "", why: str = "", fix: str = "") -> None:
        self.code = code
        self.what = what
        self.where = where
        self.why = why
        self.fix = fix
        parts = [f"[{code}] {what}"]
        parts += [f"  {label:<6}{text}" for label, text in (("where", where), ("why", why), ("fix", fix)) if text]
        super().__init__("\n".join(parts))

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.code, self.what, self.where, self.why, self.fix))


def _rebuild(cls: type[AutogradError], code: str, what: str, where: str, why: str, fix: str) -> AutogradError:
    return cls(code, what, where=where, why=why, fix=fix)


class InternalError(AutogradError):
    """An invariant of Pullback itself does not hold; please report it with the program that led here."""

    def __init__(self, what: str) -> None:
        super().__init__("INTERNAL", what, why="this is a mistake in Pullback, not in your program")

    def __reduce__(self) -> tuple[object, ...]:
        return (InternalError, (self.what,))


class AOTError(RuntimeError):
    """A function can not be captured, or its capture can not be used. `location` is the user's line, if it is known."""

    def __init__(self, what: str, *, location: str = "", why: str = "", fix: str = "") -> None:
        self.what = what
        self.location = location
        self.why = why
        self.fix = fix
        parts = [what]
        parts += [f"  {label:<6}{text}" for label, text in (("where", location), ("why", why), ("fix", fix)) if text]
        super().__init__("\n".join(parts))

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_aot, (type(self), self.what, self.location, self.why, self.fix))


def _rebuild_aot(cls: type[AOTError], what: str, location: str, why: str, fix: str) -> AOTError:
    return cls(what, location=location, why=why, fix=fix)


class CaptureError(AOTError):
    """The function uses a tensor that is not among its arguments, and `captures="error"` forbids that."""


class ConcretizationError(AOTError):
    """The function asks for a value while it is traced, when there are only shapes and types."""


class DynamicShapeError(AOTError):
    """The shape of a result depends on values.

    `instead`, if it is there, makes of the captured function the one that is to run without being compiled.
    """

    instead: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None


class LeakedTracerError(AOTError):
    """A traced tensor is used after its trace has ended."""


class ConstantMutationError(AOTError):
    """The function writes to an array that is a constant of its graph."""


class UnsupportedTypeError(AOTError, TypeError):
    """An argument or a result is of a type that a graph can not have."""


class AliasError(AOTError):
    """Arguments share memory in a way that a capture can not reproduce."""


class FunctionalizationError(AOTError):
    """A write can not be expressed as a new value."""


class TraceError(AOTError):
    """Something else happened that a trace can not follow."""


class PartitionError(AOTError):
    """A joint graph can not be split into forward and backward."""


class HigherOrderError(AOTError):
    """A value that a higher derivative needs was overwritten by the function itself."""


class DoubleBackwardError(AOTError):
    """A derivative of a compiled backward was asked for, and `higher_order="error"` forbids it."""


class GuardError(AOTError):
    """A compiled function was called with arguments that it was not compiled for, where it may not compile again."""


class RecompileLimitError(AOTError):
    """A function was compiled for too many different kinds of arguments."""


class CheckpointError(RuntimeError):
    """A checkpointed function saved other values when it was run again, or was used in a way that it forbids."""


class GradcheckError(RuntimeError):
    """Analytical and numerical derivatives differ, or a derivative rule misbehaves."""


class TraceWarning(UserWarning):
    """A trace made a constant of something that varies from call to call."""


class DetachedScalarWarning(UserWarning):
    """A number was taken out of a tensor that requires grad, and carries no gradient."""


class PerformanceWarning(UserWarning):
    """The result is right, but it was computed the slow way."""
