"""Paths of leaves as texts."""

from __future__ import annotations

from typing import Any

from pullback.core.pytree import paths


def path_texts(tree: Any) -> list[str]:
    """How to get to each leaf: keys, positions and names of fields with slashes between them."""
    return ["/".join(_escaped(str(key)) for key in path) for path in paths(tree, by_field=True)]


def _escaped(key: str) -> str:
    return key.replace("%", "%25").replace("/", "%2F")
