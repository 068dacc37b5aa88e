"""The graph behind tensors: nodes and edges, hooks on saved values and on gradients, and the pass that is running."""

from pullback.autograd._gradient_edge import GradientEdge, get_gradient_edge
from pullback.autograd._hooks import RemovableHandle
from pullback.autograd._input_metadata import InputMetadata
from pullback.autograd._manual_versions import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
)
from pullback.autograd._manual_versions import (
    _unsafe_set_version_counter as _unsafe_set_version_counter,
)
from pullback.autograd._manual_versions import increment_version
from pullback.autograd._multi_hook import register_multi_grad_hook
from pullback.autograd._mutation import allow_mutation_on_saved_tensors
from pullback.autograd._node import Node
from pullback.autograd._saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from pullback.autograd._task import (
    current_graph_task_id,
    current_node,
    execution_order,
    queue_callback,
    will_execute,
)

__all__ = [
    "GradientEdge",
    "InputMetadata",
    "Node",
    "RemovableHandle",
    "allow_mutation_on_saved_tensors",
    "current_graph_task_id",
    "current_node",
    "disable_saved_tensors_hooks",
    "execution_order",
    "get_gradient_edge",
    "increment_version",
    "queue_callback",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "will_execute",
]
