"""Every exception that Pullback raises on purpose.

    RuntimeError
      AutogradError            a rule of differentiation was broken; `.code` names the rule
        InternalError          the mistake is Pullback's, not the caller's
      AOTError                 a function cannot be captured, or its capture cannot be used as it was
        CaptureError             it uses a tensor that is no argument, and was told not to
        ConcretizationError      it asks for a value, while there are only shapes
        DynamicShapeError        a shape in it depends on values
        LeakedTracerError        a traced tensor is used after its trace
        ConstantMutationError    it writes to an array that is a constant of the graph
        UnsupportedTypeError     an argument or result is of a type that nobody registered
        AliasError               arguments share memory in a way that cannot be replayed
        FunctionalizationError   a write cannot be expressed as a new value
        TraceError               anything else that a trace cannot follow
            SideEffectError      of these: the function does something outside of it, or asks what changes
        PartitionError           the graph cannot be split into forward and backward
        HigherOrderError         a value that a higher derivative needs was overwritten
        DoubleBackwardError      higher derivatives were switched off
        GuardError               a compiled function does not fit its arguments
        RecompileLimitError      too many different kinds of arguments
      CheckpointError          a checkpointed function did not repeat itself
      GradcheckError           analytical and numerical derivatives differ
      PieceError               a piece of work on an executor failed, or was lost
    OSError
      CheckpointFileError      saved state is damaged, or not complete
    UserWarning
      TraceWarning             a trace made a constant of something that varies
      DetachedWarning          a value left the graph, and carries no gradient
        DetachedScalarWarning    it is a number
      ImplicitAccuracyWarning  a solver stopped so early that derivatives of its result are not accurate
      PerformanceWarning       the result is right, and a faster way exists

An `AutogradError` says what happened, where, why it is not allowed, what to write instead, what torch says in the same
place, and what to type for more. It derives from `RuntimeError`, so that code written for torch still catches it, and
tests look at `.code`, never at the wording.

Where an error was made is the user's line: that of the innermost frame that is neither of the package nor of code that
it wrote (`_sites.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback._sites import hide_callers as _hide_callers
from pullback._sites import torch_phrase as _torch_phrase

__all__ = [
    "AOTError", "AliasError", "AutogradError", "CaptureError", "CheckpointError", "CheckpointFileError",
    "ConcretizationError", "ConstantMutationError", "DetachedScalarWarning", "DetachedWarning", "DoubleBackwardError",
    "DynamicShapeError", "FunctionalizationError", "GradcheckError", "GuardError", "HigherOrderError",
    "ImplicitAccuracyWarning", "InternalError", "LeakedTracerError", "NotCompiledError", "PartitionError",
    "PerformanceWarning", "PieceError", "RecompileLimitError", "SideEffectError", "TraceError", "TraceWarning",
    "UnsupportedTypeError",
]  # fmt: skip


class AutogradError(RuntimeError):
    """A rule of differentiation was broken. `code` names the rule; the other fields are the parts of the message.

    `site` is the user's line, as `file:line`; `op` and `argument` say which, where that is known.
    """

    op: str | None = None
    argument: str | int | None = None

    def __init__(
        self, code: str, what: str, *, where: str = "", why: str = "", fix: str = "", site: str | None = None
    ) -> None:
        self.site = site = _hide_callers() if site is None else site
        self.code = code
        self.what = what
        self.where = where = where if site in where else f"{where}, at {site}" if where else site
        self.why = why
        self.fix = fix
        parts = [f"[{code}] {what}"]
        help_ = f'pb.help("{code}")'
        labels = (("where", where), ("why", why), ("fix", fix), ("torch", _torch_phrase(code, what)), ("help", help_))
        parts += [f"  {label:<6}{text}" for label, text in labels if text]
        super().__init__("\n".join(parts))

    @property
    def codes(self) -> tuple[str, ...]:
        """The code, and those of the wider rules that were broken."""
        return (self.code, *_WIDER.get(self.code, ()))

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.code, self.what, self.where, self.why, self.fix, self.site))


def _rebuild(
    cls: type[AutogradError], code: str, what: str, where: str, why: str, fix: str, site: str
) -> AutogradError:
    return cls(code, what, where=where, why=why, fix=fix, site=site)


# What a special case of another rule breaks besides.
_WIDER = {"SCIPY_ON_GRAD": ("NUMPY_ON_GRAD",)}



class InternalError(AutogradError):
    """An invariant of Pullback itself does not hold; please report it with the program that led here."""

    def __init__(self, what: str) -> None:
        super().__init__(
            "INTERNAL", what, why="this is a mistake in Pullback, not in your program",
            fix="please report it with the whole traceback and what pb.show_versions() prints",
        )  # fmt: skip

    def __reduce__(self) -> tuple[object, ...]:
        return (InternalError, (self.what,))


class AOTError(RuntimeError):
    """A function cannot be captured, or its capture cannot be used. `location` is the user's line, if it is known."""

    numbers: Any = None  # what the function had asked about numbers among its arguments, until then
    notice: Any = staticmethod(lambda error: None)  # `core.state` has one: where this is made, a trace may run

    def __init__(self, what: str, *, location: str = "", why: str = "", fix: str = "") -> None:
        self.what = what
        self.location = self.site = location  # doors leave alone what has a site
        self.why = why
        self.fix = fix
        parts = [what]
        parts += [f"  {label:<6}{text}" for label, text in (("where", location), ("why", why), ("fix", fix)) if text]
        super().__init__("\n".join(parts))
        AOTError.notice(self)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_aot, (type(self), self.what, self.location, self.why, self.fix))


def _rebuild_aot(cls: type[AOTError], what: str, location: str, why: str, fix: str) -> AOTError:
    return cls(what, location=location, why=why, fix=fix)


class NotCompiledError(AOTError):
    """A function, or a part of it, can only run in Python. `location` is the line that says so."""


class CaptureError(AOTError):
    """The function uses a tensor that is not among its arguments, and `captures="error"` forbids that."""


class ConcretizationError(NotCompiledError):
    """The function asks for a value while it is traced, when there are only shapes and types."""


class DynamicShapeError(NotCompiledError):
    """The shape of a result depends on values.

    `instead`, if it is there, makes of the captured function the one that is to run without being compiled.
    """

    instead: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None


class LeakedTracerError(AOTError):
    """A traced tensor is used after its trace has ended."""


class ConstantMutationError(AOTError):
    """The function writes to an array that is a constant of its graph."""


class UnsupportedTypeError(AOTError, TypeError):
    """An argument or a result is of a type that a graph cannot have."""


class AliasError(AOTError):
    """Arguments share memory in a way that a capture cannot reproduce."""


class FunctionalizationError(AOTError):
    """A write cannot be expressed as a new value."""


class TraceError(NotCompiledError):
    """Something else happened that a trace cannot follow."""


class SideEffectError(TraceError):
    """The function does something to what is outside of it that a compiled call would not do again."""


class PartitionError(AOTError):
    """A joint graph cannot be split into forward and backward."""


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


class PieceError(RuntimeError):
    """A piece of work on an executor failed, or was lost.

    `index` and `item` say which item of the work it was, `attempts` how often it was tried, `remote_traceback` what the
    worker said. `__cause__` is what the function raised, if that can be pickled. If pieces were lost, `pieces` has the
    numbers of all that were not finished.
    """

    def __init__(
        self, message: str, *, index: int | None = None, item: str = "", attempts: int = 1,
        remote_traceback: str = "", pieces: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.index = index
        self.item = item
        self.attempts = attempts
        self.remote_traceback = remote_traceback
        self.pieces = pieces


class CheckpointFileError(OSError):
    """Saved state cannot be read: a file of it is missing, damaged, or not what `pb.save` writes."""


class TraceWarning(UserWarning):
    """A trace made a constant of something that varies from call to call."""


class DetachedWarning(UserWarning):
    """A value that requires grad went where no gradient follows it."""


class DetachedScalarWarning(DetachedWarning):
    """A number was taken out of a tensor that requires grad, and carries no gradient."""


class ImplicitAccuracyWarning(UserWarning):
    """A solver stopped so far from the solution that the derivative of its result is not accurate."""


class PerformanceWarning(UserWarning):
    """The result is right, but it was computed the slow way."""
