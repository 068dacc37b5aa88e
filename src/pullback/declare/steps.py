"""`ViewStep`: one view operation with its parameters, which can be taken again of another value."""

from __future__ import annotations

from typing import Any, NamedTuple


class ViewStep(NamedTuple):
    """One view operation with its static parameters."""

    op: Any
    params: dict[str, Any]

    def __call__(self, value: Any) -> Any:
        """The view of `value`."""
        return self.op(value, **self.params)
