"""The functions of `pb.aot` that capture and compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.aot import _later
from pullback.aot._call.runtime import input_of
from pullback.aot._compilers import Compiler, Compilers
from pullback.aot._compiling import capture
from pullback.aot._dynamic import DynamicTable
from pullback.aot._entry import specialised
from pullback.aot._explain import Explanation
from pullback.aot._function import CompiledFunction
from pullback.aot._metadata import MutationType, ViewAndMutationMeta
from pullback.aot._partition import Partition
from pullback.aot._partition import partition as split
from pullback.aot._trace.leaves import ArraySpec, flatten_arguments, memory_of
from pullback.aot._trace.records import Capture, GraphInput, Options
from pullback.core.axes import normalize_shape
from pullback.core.pytree import unflatten
from pullback.core.records import Record, field, replace
from pullback.graph.descriptors import GradAOTOutput, InputMutationAOTOutput, PlainAOTOutput
from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD
from pullback.graph.pipeline import JOINT, run
from pullback.payloads.wrappers import arrays_of
from pullback.tensors.tensor import Tensor

# `Signature`: what the inputs and outputs of a graph mean, for those who store the graph and call it elsewhere.
#
# Parameters and buffers are what the function holds, or is said to be given unchanged (`static_inputs`): parameters
# require grad, buffers do not. Everything else that it is given is a user input. Inputs and outputs are named as the
# graph names them, parameters and buffers by the name that the function has for them.

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
    names = _names(found)
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


def _names(found: Capture) -> list[str]:
    """The names of inputs: what the function calls those that it holds, and what the graph calls the others."""
    return [
        given.desc.expr() if given.capture is None
        else given.capture.name or found.texts.get(id(given.capture), given.desc.expr())
        for given in found.inputs
    ]  # fmt: skip


_CAPTURE_OPTIONS = Options.fields


def spec(shape: Any, dtype: Any = float, requires_grad: bool = False, leaf: bool = True) -> ArraySpec:
    """A stand-in for an array argument of `trace`, `collect_metadata` and `joint_graph`.

    >>> pb.aot.spec((2, 2), "f8")
    spec((2, 2), '<f8', requires_grad=False, leaf=True)
    """
    return ArraySpec(normalize_shape(shape), np.dtype(dtype), requires_grad, leaf)


class Traced(Record):
    """The forward graph of a function."""

    graph: Graph
    meta: ViewAndMutationMeta
    in_tree: Any
    out_tree: Any
    signature: Signature  # which inputs and outputs are what to the caller
    captured: Capture

    def eval(self, *args: Any, **kwargs: Any) -> Any:
        """The graph on real arguments, which stay as they are: `(outputs, mutated values by slot)`."""
        leaves, _ = flatten_arguments(args, kwargs)
        given = [input_of(each, leaves) for each in self.captured.inputs]
        arrays = [np.array(array) for leaf in given for array in arrays_of(memory_of(leaf))]
        results = self.graph.eval(*arrays)
        by_desc = dict(zip((desc.expr() for desc in self.graph.output_descs), results, strict=True))
        outs = []
        for position, info in enumerate(self.meta.output_info):
            made = info.literal if info.raw_type is not Tensor else self.captured.payload_of(position, results)
            is_plain = made is None and info.raw_type is Tensor
            outs.append(by_desc[PlainAOTOutput(position).expr()] if is_plain else made)
        mutated = {text: value for text, value in by_desc.items() if text.startswith("mutated(")}
        for node in self.graph.nodes:
            if node.op == "store":
                position = self.graph.inputs.index(node.operands[0])
                mutated[f"mutated({self.graph.input_descs[position].expr()})"] = arrays[position]
        return unflatten(self.out_tree, outs), mutated


class Joint(Record):
    """Forward and backward of a function in one graph."""

    graph: Graph
    meta: ViewAndMutationMeta
    num_forward_outputs: int
    in_tree: Any
    out_tree: Any
    captured: Capture
    signature: Signature  # which inputs and outputs are what to the caller


def trace(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Traced:
    """The forward graph of `fn` for arguments of this kind. Nothing is written and nothing computed.

    Options such as `keep_input_mutations` are given by keyword, beside the keywords of `fn`.
    """
    options, kwargs = _separate(kwargs)
    found = _captured(fn, args, kwargs, options, backward=False)
    graph = found.graph.simplify().dce()
    graph.name = "forward"
    signature = signature_of(found, graph, fn, options.static_inputs)
    return Traced(graph, found.meta, found.in_tree, found.out_tree, signature, found)


def collect_metadata(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ViewAndMutationMeta:
    """What `fn` does to its inputs, what its outputs are, and which gradients its backward takes.

    Where lengths of arguments vary, by `mark_dynamic` or with `dynamic=True`, it says which lengths of outputs and of
    values saved for backward do.
    """
    options, kwargs = _separate(kwargs)
    leaves, structure = flatten_arguments(args, kwargs)
    found = DynamicTable(fn, options).capture(leaves, structure)
    if found is None:
        return _captured(fn, args, kwargs, options, backward=True).meta
    if found.meta.traced_tangents:
        nearby = found.at_other_sizes
        found.meta.saved_sizes = lambda: _later.saved_sizes(
            nearby(), lambda each: split(run(JOINT, each.graph), each.num_forward_outputs)
        )
    return found.meta


def joint_graph(fn: Callable[..., Any], *args: Any, loss_index: int | None = None, **kwargs: Any) -> Joint:
    """Forward and backward of `fn` in one graph. With `loss_index` that output is the loss: its gradient is one, and
    there is no tangent input."""
    options, kwargs = _separate(kwargs)
    found = _captured(fn, args, kwargs, options, backward=True)
    graph = found.graph
    if options.joint_pass is not None:
        graph = options.joint_pass(graph)
    if loss_index is not None:
        graph = _with_loss(graph, found.flat or found, loss_index)
    graph = run(JOINT, graph)
    signature = signature_of(found, graph, fn, options.static_inputs, loss_index)
    count = (found.flat or found).num_forward_outputs
    return Joint(graph, found.meta, count, found.in_tree, found.out_tree, found, signature)


def _with_loss(graph: Graph, found: Capture, loss_index: int) -> Graph:
    """The joint graph in which the gradient of one output is one, and there are no others."""
    count = len(found.inputs)
    wanted = f"tangent({PlainAOTOutput(loss_index).expr()})"
    defined = tuple([desc.expr() == wanted for desc in graph.input_descs[count:]])
    if True not in defined or graph.inputs[count + defined.index(True)].type.shape != ():
        raise ValueError(f"loss_index={loss_index}: output {loss_index} is not a scalar that requires grad")
    graph = specialised(graph, count, defined, found.meta.effect_sources)
    seed = graph.inputs[count]
    one = np.ones((), seed.type.dtype)
    one.flags.writeable = False
    node = graph.add("constant", [], {"value": one}, [seed.type], BACKWARD)
    first = next((k for k, each in enumerate(graph.nodes) if each.tag == BACKWARD), 0)
    graph.nodes.insert(first, graph.nodes.pop())
    graph = graph.replace_uses(seed, node.result)
    graph.inputs, graph.input_descs = graph.inputs[:count], graph.input_descs[:count]
    return graph


def partition(
    joint: Joint, method: str = "auto", memory_budget: float = 1.0, static_inputs: tuple[int, ...] = (),
    policy: Any = None, cost: Any = "flops",
) -> Partition:  # fmt: skip
    """A joint graph split into forward and backward, with what is saved between them and what is recomputed."""
    return split(
        joint.graph, joint.num_forward_outputs, method=method, memory_budget=memory_budget,
        static_inputs=static_inputs, policy=policy, cost=cost,
    )  # fmt: skip


def aot_function(
    fn: Callable[..., Any], fw_compiler: Compiler, bw_compiler: Compiler | None = None, *,
    inference_compiler: Compiler | None = None, partitioner: Any = "auto", memory_budget: float = 1.0,
    recompile_limit: int = 8, fallback: str = "raise", **options: Any,
) -> CompiledFunction:  # fmt: skip
    """`fn`, captured at its first call and compiled by functions of your own.

    A compiler is called with a graph and the types of its inputs, and returns a function that takes one list of arrays
    and returns one. `Graph.eval_boxed` is such a function. A Python loop of many steps is a `scan` in the graph, unless
    `reroll=False` is given.
    """
    compilers = Compilers(fw_compiler, bw_compiler, inference_compiler, partitioner, memory_budget)
    return CompiledFunction(
        fn, compilers, Options(**options), fallback=fallback, recompile_limit=recompile_limit
    )


def explain(
    fn: Callable[..., Any], *args: Any, partitioner: Any = "auto", memory_budget: float = 1.0, **kwargs: Any
) -> Explanation:
    """What a compiled call of `fn` with these arguments does: what it mutates, aliases, saves and recomputes.

    Nothing is run, and nothing compiled.
    """
    options, kwargs = _separate(kwargs)
    compilers = Compilers(
        lambda graph, types: graph.eval_boxed, partitioner=partitioner, memory_budget=memory_budget
    )
    return CompiledFunction(fn, compilers, options).explain(*args, **kwargs)


def _separate(kwargs: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Keywords of the capture, and keywords of the function."""
    own = {name: kwargs[name] for name in _CAPTURE_OPTIONS if name in kwargs}
    return Options(**own), {name: value for name, value in kwargs.items() if name not in own}


def _captured(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, backward: bool
) -> Capture:
    leaves, structure = flatten_arguments(args, kwargs)
    # What was traced, as it was traced: loops are what a compiler makes of it.
    found = capture(fn, leaves, structure, replace(options, reroll=False), backward=backward)
    found.in_tree = structure
    return found
