"""The exceptions of custom operators.

Each has two bases where code written for torch (`RuntimeError`) and Python's own habits (`TypeError`, `ValueError`)
would catch different ones.
"""

from __future__ import annotations

from pullback.errors import DynamicShapeError

__all__ = [
    "AliasError", "BindError", "DynamicOutputShapeError", "FakeMismatchError", "KernelResultError", "OpCheckError",
    "SchemaError",
]  # fmt: skip


class SchemaError(ValueError, RuntimeError):
    """An operator's name or schema is malformed."""


class BindError(TypeError, RuntimeError):
    """A call does not fit the operator's schema."""


class KernelResultError(TypeError, RuntimeError):
    """A kernel returned something else than its schema says."""


class AliasError(RuntimeError):
    """A kernel's result shares memory in a way that the schema does not declare."""


class FakeMismatchError(RuntimeError):
    """Real results do not have the shapes and dtypes that were promised."""


class DynamicOutputShapeError(DynamicShapeError):
    """A shape depends on data where shapes have to be known beforehand."""


class OpCheckError(Exception):
    """`opcheck` found an operator that does not keep its promises."""
