from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar, overload

from pullback.tape.history import GradientEdge
from pullback.tensors.tensor import Tensor
from pullback.typing import ArrayLike

_K = TypeVar("_K")

@overload
def grad(outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], inputs: Mapping[_K, Tensor], grad_outputs: ArrayLike | Sequence[ArrayLike | None] | None = None, retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False) -> dict[_K, Tensor]: ...
@overload
def grad(outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], grad_outputs: ArrayLike | Sequence[ArrayLike | None] | None = None, retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True, allow_unused: Literal[False] | None = None, is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor, ...]: ...
@overload
def grad(outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], grad_outputs: ArrayLike | Sequence[ArrayLike | None] | None = None, retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor | None, ...]: ...
