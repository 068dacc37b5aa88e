"""`Signature`: what the inputs and outputs of a graph mean, for those who store the graph and call it elsewhere.

Parameters and buffers are what the function holds, or is said to be given unchanged (`static_inputs`): parameters
require grad, buffers do not. Everything else that it is given is a user input. Inputs and outputs are named as the
graph names them, parameters and buffers by the name that the function has for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.aot._capture import Capture, GraphInput
from pullback.aot._captured import name_of, ways_to
from pullback.aot._metadata import MutationType
from pullback.core.records import Record, field
from pullback.graph.descriptors import GradAOTOutput, InputMutationAOTOutput, PlainAOTOutput
from pullback.graph.graph import Graph


class BackwardSignature(Record, frozen=True):
    """What the gradients of a joint graph are the gradients of, and which output is the loss."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str | None


class Signature(Record, frozen=True):
    """What the inputs and outputs of a graph mean."""

    parameters: list[str]
    buffers: list[str]
    user_inputs: list[str]
    user_outputs: list[str]
    inputs_to_parameters: dict[str, str]
    inputs_to_buffers: dict[str, str]
    buffers_to_mutate: dict[str, str]
    parameters_to_mutate: dict[str, str]
    user_inputs_to_mutate: dict[str, str]
    captures: list[str]
    in_tree: Any = field(repr=False)
    out_tree: Any = field(repr=False)
    backward: BackwardSignature | None = None
    input_tokens: tuple[str, ...] = ()  # effects keep their place by the order of the nodes
    output_tokens: tuple[str, ...] = ()

    @property
    def loss_output(self) -> str | None:
        """The output that was differentiated, if the graph begins its backward part by itself."""
        return None if self.backward is None else self.backward.loss_output


def signature_of(
    found: Capture, graph: Graph, function: Callable[..., Any], static: tuple[int, ...], loss_index: int | None = None
) -> Signature:
    """The signature of a graph made from a capture."""
    kinds: dict[str, dict[str, str]] = {"parameter": {}, "buffer": {}, "user input": {}}
    mutated: dict[str, dict[str, str]] = {"parameter": {}, "buffer": {}, "user input": {}}
    gradients: dict[str, dict[str, str]] = {"parameter": {}, "buffer": {}, "user input": {}}
    there = {
        desc.plain.expr() for desc, value in zip(graph.output_descs, graph.outputs, strict=True) if value is not None
    }
    names = _names(found.inputs, function)
    for given, name in zip(found.inputs, names, strict=True):
        kind = _kind(given, static)
        kinds[kind][given.desc.expr()] = name
        if given.info.mutation_type is not MutationType.NOT_MUTATED:
            mutated[kind][InputMutationAOTOutput(given.desc).expr()] = name
        gradient = GradAOTOutput(given.desc).expr()
        if gradient in there:
            gradients[kind][gradient] = name
    return Signature(
        parameters=list(kinds["parameter"].values()), buffers=list(kinds["buffer"].values()),
        user_inputs=list(kinds["user input"]),
        user_outputs=[PlainAOTOutput(k).expr() for k in range(len(found.meta.output_info))],
        inputs_to_parameters=kinds["parameter"], inputs_to_buffers=kinds["buffer"],
        buffers_to_mutate=mutated["buffer"], parameters_to_mutate=mutated["parameter"],
        user_inputs_to_mutate=mutated["user input"],
        captures=[name for given, name in zip(found.inputs, names, strict=True) if given.capture is not None],
        in_tree=found.in_tree, out_tree=found.out_tree,
        backward=None if not found.is_training else BackwardSignature(
            gradients["parameter"], gradients["user input"],
            None if loss_index is None else PlainAOTOutput(loss_index).expr(),
        ),
    )  # fmt: skip


def _kind(given: GraphInput, static: tuple[int, ...]) -> str:
    if given.capture is None and given.slot not in static:
        return "user input"
    return "parameter" if given.wants_grad else "buffer"


def _names(inputs: list[GraphInput], function: Callable[..., Any]) -> list[str]:
    """The names of inputs: what the function calls those that it holds, and what the graph calls the others."""
    held = [given.capture for given in inputs if given.capture is not None]
    ways = iter(ways_to(function, held))
    return [
        given.desc.expr() if given.capture is None else name_of(given.capture, given.desc.expr(), next(ways))
        for given in inputs
    ]
