"""What few calls of compiled functions need, loaded when one does: `_later.partition(...)`.

Only a function that is differentiated from outside has its graph split in two, for instance. Names that are in this
table are not imported by the modules that `pb.compile` loads (docs/design/import-time.md).
"""

from __future__ import annotations

from pullback.core.lazy import deferred

__getattr__, __dir__ = deferred(
    globals(),
    {
        "DummyAOTInput": "pullback.graph.descriptors",
        "DummyAOTOutput": "pullback.graph.descriptors",
        "DynamicCapture": "pullback.aot._dynamic.capture",
        "WrappedEntry": "pullback.aot._wrapper.entry",
        "cond": "pullback.aot._control",
        "capture_wrapped": "pullback.aot._wrapper.capture",
        "gradients_of_loops": "pullback.aot._trace.rolled",
        "joint_of_loops": "pullback.aot._trace.rolled",
        "on_values": "pullback.aot._ragged",
        "partition": "pullback.aot._partition",
        "ragged_key": "pullback.aot._ragged",
        "run_flow_of": "pullback.aot._control.run",
        "run_ragged": "pullback.aot._ragged",
        "run_wrapped": "pullback.aot._wrapper.entry",
        "saved_sizes": "pullback.aot._dynamic.saved",
        "stored_partition": "pullback.aot._stored_partition",
        "while_loop": "pullback.aot._control",
        "with_private_copies": "pullback.aot._partition.private",
    },
)
