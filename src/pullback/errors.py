"""Every exception that Pullback raises on purpose.

    RuntimeError
      AutogradError            a rule of differentiation was broken; `.code` names the rule
        InternalError          the mistake is Pullback's, not the caller's
      CheckpointError          a checkpointed function did not repeat itself
      GradcheckError           analytical and numerical derivatives differ
    UserWarning
      DetachedScalarWarning    a number left the graph, and carries no gradient
      PerformanceWarning       the result is right, and a faster way exists

An `AutogradError` says what happened, where, why it is not allowed and what to write instead. It derives from
`RuntimeError`, so that code written for torch still catches it, and tests look at `.code`, never at the wording.
"""

from __future__ import annotations

__all__ = [
    "AutogradError", "CheckpointError", "DetachedScalarWarning", "GradcheckError", "InternalError",
    "PerformanceWarning",
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


class CheckpointError(RuntimeError):
    """A checkpointed function saved other values when it was run again, or was used in a way that it forbids."""


class GradcheckError(RuntimeError):
    """Analytical and numerical derivatives differ, or a derivative rule misbehaves."""


class DetachedScalarWarning(UserWarning):
    """A number was taken out of a tensor that requires grad, and carries no gradient."""


class PerformanceWarning(UserWarning):
    """The result is right, but it was computed the slow way."""
