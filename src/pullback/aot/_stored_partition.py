"""Partitions in the cache on disk: both halves as text, and what is said of the saved values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.aot._disk import is_storable, key_of, load, store
from pullback.aot._partition import Partition, SavedValue
from pullback.core.disk import cache_dir
from pullback.core.records import field
from pullback.errors import AutogradError
from pullback.graph.graph import Graph

_FLAGS = ("name", "is_input", "is_output", "is_copy", "is_target", "is_checked", "is_donated", "input_index",
          "output_index")  # fmt: skip


class StoredPartition(Partition, frozen=True):
    """A partition that was read. Its statistics were counted when it was made."""

    counted: dict[str, int] = field(default_factory=dict, repr=False)

    @functools.cached_property
    def stats(self) -> dict[str, int]:
        """Bytes and operations."""
        return self.counted


def stored_partition(graph: Graph, settings: dict[str, Any], make: Callable[[], Partition]) -> Partition:
    """The partition of a joint graph, from the cache if it is there, and else made and put there."""
    if cache_dir() is None or not is_storable(graph):
        return make()
    key = key_of("partition", graph.to_text(), repr(sorted(settings.items())))
    found = _read(load(key))
    if found is None:
        found = make()
        store(key, _record(found))
    return found


def _record(split: Partition) -> dict[str, Any]:
    repeated = {id(node) for node in split.recomputed}
    return {
        "forward": split.forward.to_text(), "backward": split.backward.to_text(), "method": split.method,
        "count": split.num_forward_outputs, "stats": split.stats,
        "saved": [{name: getattr(each, name) for name in _FLAGS} for each in split.saved],
        "recomputed": [k for k, node in enumerate(split.backward.nodes) if id(node) in repeated],
    }  # fmt: skip


def _read(record: Any) -> Partition | None:
    if record is None:
        return None
    try:
        forward, backward = Graph.from_text(record["forward"]), Graph.from_text(record["backward"])
        count = record["count"]
        outputs = list(zip(forward.outputs[count:], forward.output_descs[count:], strict=True))
        saved = [
            SavedValue(value=value, descriptor=desc, nbytes=value.nbytes, **each)  # type: ignore[union-attr, arg-type]
            for (value, desc), each in zip(outputs, record["saved"], strict=True)
        ]
        recomputed = [backward.nodes[k] for k in record["recomputed"]]
        # path: partition from disk
        return StoredPartition(
            forward, backward, saved, recomputed, record["method"], count, None, record["stats"]  # type: ignore[arg-type]
        )
    except (KeyError, TypeError, ValueError, LookupError, AttributeError, AutogradError):
        return None  # written by something else
