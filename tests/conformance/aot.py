"""Running a function eagerly and compiled on equal arguments, and comparing everything that can be observed.

`check(f, make, I=..., O=..., T=...)` is one conformance case. `make()` returns fresh arguments, always equal ones. What
is compared after every call: the tree of results, which objects are the same, which memory is shared and where, values,
shapes, strides, dtypes, flags, versions, requires_grad, leaf-ness, and the gradients after backward passes: from all
results together, from each alone, and after a write to each result and each argument. The compiled functions are those
of the NumPy backend, of the interpreter, and of the partitioner that recomputes; each is called many times, so that the
first call and calls from the cache are both compared.

Besides, the words that the specification has for inputs (I), outputs (O) and tangents (T) are compared with what the
metadata says:

    I   N, IN, OUT; with * where the write is tracked
    O   NA, II(i), AI(i), UV, CF, SB(i), AB(i), UO(i); a chain of views in trailing parentheses is compared if given
    T   mut i, out i, ibase i
"""

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from pullback._compile import compile
from pullback.core.pytree import flatten
from pullback.graph.text.printing import opaque_in

VARIANTS: dict[str, Callable[..., Any]] = {
    "numpy": lambda f, **options: compile(f, backend="numpy", fallback="raise", **options),
    "interpreted": lambda f, **options: aot.aot_function(f, interpret, **options),
    "min_cut": lambda f, **options: aot.aot_function(f, interpret, partitioner="min_cut", **options),
}


def interpret(graph: aot.Graph, types: list[Any]) -> Callable[[list[Any]], list[Any]]:
    """A compiler that checks the graph and its text (case 171, for the graphs of all cases), and runs it as it is."""
    if not opaque_in(graph):
        again = aot.Graph.from_text(graph.to_text())
        assert again == graph, f"{graph}\nis read as\n{again}"
        again.verify()
    return graph.verify().eval_boxed


# Arguments. ----------------------------------------------------------------------------------------------------------


def rg(shape: Any = (2, 2), start: float = 1.0) -> pb.Tensor:
    """A leaf that requires grad."""
    return plain(shape, start).requires_grad_()


def plain(shape: Any = (2, 2), start: float = 1.0, dtype: Any = float) -> pb.Tensor:
    """A tensor that does not require grad."""
    return pb.tensor((np.arange(np.prod(shape, dtype=int)).reshape(shape) * 0.5 + start).astype(dtype))


def inner(shape: Any = (2, 2), start: float = 1.0) -> pb.Tensor:
    """A tensor with a history; the leaf behind it is its `origin`."""
    leaf = rg(shape, start)
    return behind(leaf * 1, leaf)


def behind(tensor: pb.Tensor, *origins: pb.Tensor) -> pb.Tensor:
    """The tensor, with the tensors that are watched together with it."""
    tensor.origins = origins
    return tensor


def watched(args: Any) -> list[Any]:
    """Everything that a call can change: the arrays among the arguments, their bases and the leaves behind them."""
    found: list[Any] = []
    waiting = [leaf for leaf in leaves_of(args) if isinstance(leaf, (pb.Tensor, np.ndarray))]
    while waiting:
        thing = waiting.pop(0)
        if not any(thing is known for known in found):
            found.append(thing)
            if isinstance(thing, pb.Tensor):
                waiting += [*getattr(thing, "origins", ()), *([thing._base] if thing._base is not None else [])]
    return found


def leaves_of(tree: Any) -> list[Any]:
    """The leaves of a structure."""
    return flatten(tree)[0]


# What can be seen. ---------------------------------------------------------------------------------------------------


def memory(thing: Any) -> np.ndarray:
    """The array behind a tensor."""
    return thing._data if isinstance(thing, pb.Tensor) else thing


def look(thing: Any) -> Any:
    """What can be seen of one object."""
    if not isinstance(thing, (pb.Tensor, np.ndarray)):
        return type(thing), repr(thing)
    array = memory(thing)
    strides = [stride if length != 1 else 0 for stride, length in zip(array.strides, array.shape, strict=True)]
    seen = {
        "type": type(thing), "shape": array.shape, "dtype": array.dtype, "writeable": array.flags.writeable,
        "strides": strides if array.size else None, "values": array.tolist(),
    }  # fmt: skip
    if isinstance(thing, pb.Tensor):
        seen.update(
            requires_grad=thing.requires_grad, is_leaf=is_leaf(thing), is_inference=thing.is_inference(),
            retains_grad=thing.retains_grad, version=None if thing.is_inference() else thing._version,
        )  # fmt: skip
    return seen


def is_leaf(tensor: pb.Tensor) -> Any:
    """Whether a tensor is a leaf, or the error that asking gives: a view may have lost its way to its history."""
    try:
        return tensor.is_leaf
    except pb.autograd.AutogradError as error:
        return error.code


def gradient(thing: Any) -> Any:
    """The gradient that a backward pass has left, if there is one."""
    if not isinstance(thing, pb.Tensor) or not (is_leaf(thing) is True or thing.retains_grad) or thing.grad is None:
        return None
    return memory(thing.grad)


def relations(things: list[Any]) -> list[Any]:
    """Which objects are one, and which share memory, and at what distance."""
    found = []
    for second, other in enumerate(things):
        for first, thing in enumerate(things[:second]):
            if not all(isinstance(x, (pb.Tensor, np.ndarray)) for x in (thing, other)):
                continue
            if thing is other:
                found.append((first, second, "same object"))
            elif np.shares_memory(memory(thing), memory(other)):
                found.append((first, second, "shares memory", address(other) - address(thing)))
    return found


def address(thing: Any) -> int:
    """Where the memory begins."""
    return memory(thing).__array_interface__["data"][0]


def loss_of(tensors: list[Any]) -> Any:
    """A number to which every element of every one of these tensors contributes differently."""
    total: Any = 0.0
    for number, tensor in enumerate(tensors):
        weight = np.arange(1.0, tensor.size + 1).reshape(tensor.shape) + 10 * number
        term = (tensor * pb.tensor(weight)).sum()
        total = total + (term.real if term.dtype.kind == "c" else term)
    return total


# Running. ------------------------------------------------------------------------------------------------------------


class Run:
    """One call on fresh arguments, and what follows it."""

    def __init__(self, function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> None:
        args = make()
        self.before = watched(args)
        self.error: BaseException | None = None
        self.result: Any = None
        grad_mode = pb.is_grad_enabled()
        try:
            self.result = function(*args)
        except (RuntimeError, ValueError, TypeError) as error:
            self.error = error
        self.left_grad_mode = pb.is_grad_enabled()
        pb.set_grad_enabled(grad_mode)
        self.outs = [] if self.error is not None else leaves_of(self.result)
        self.things = [*self.outs, *self.before]
        self.after: Any = None
        self.poke_error: BaseException | None = None

    def differentiable(self) -> list[int]:
        """The positions of everything that a backward pass may start from: no leaves, and every object once."""
        return [
            k for k, thing in enumerate(self.things)
            if isinstance(thing, pb.Tensor) and thing.requires_grad and is_leaf(thing) is False
            and not any(thing is earlier for earlier in self.things[:k])
        ]  # fmt: skip

    def poke(self, position: int) -> None:
        """Write to one of the results or arguments."""
        try:
            self.things[position].mul_(3)
        except (RuntimeError, ValueError, TypeError) as error:
            self.poke_error = error

    def backward(self, positions: list[int]) -> None:
        """A backward pass from these."""
        if not positions:
            return
        with pb.enable_grad():
            loss = loss_of([self.things[k] for k in positions])
        try:
            loss.backward()
        except (RuntimeError, ValueError, TypeError) as error:
            self.after = error

    def seen(self) -> Any:
        """Everything, in a form that can be compared."""
        if self.error is None:
            structure = flatten(self.result)[1]
        else:
            structure = kind_of(self.error)
        return {
            "structure": structure, "grad mode": self.left_grad_mode, "poke": kind_of(self.poke_error),
            "things": [look(thing) for thing in self.things], "relations": relations(self.things),
        }  # fmt: skip


def kind_of(error: BaseException | None) -> Any:
    """An error as it is compared: by its code where there is one, and by its public class otherwise."""
    code = getattr(error, "code", None)
    return code or next((kind for kind in (ValueError, TypeError, RuntimeError) if isinstance(error, kind)), None)


def compare(label: str, eager: Run, compiled: Run, poked: bool) -> None:
    """Raise unless two runs have done the same."""
    if eager.error is not None:
        # Eager code may have written something before. Compiled code changes nothing if it raises.
        assert kind_of(compiled.error) == kind_of(eager.error), f"{label}: {compiled.error!r}, not {eager.error!r}"
        return
    wanted, got = eager.seen(), compiled.seen()
    for part, value in wanted.items():
        if part == "things":
            for k, (one, other) in enumerate(zip(value, got[part], strict=True)):
                what = f"{label}: {'result' if k < len(eager.outs) else 'argument'} {k}"
                assert other == one, f"{what} is\n{other}\nand in eager code\n{one}"
        else:
            assert got[part] == value, f"{label}: {part} {got[part]}, in eager code {value}; {compiled.error!r}"
    if eager.after is not None:
        # A write may have destroyed what eager code had saved. Compiled code may have saved something else.
        assert poked or kind_of(compiled.after) == kind_of(eager.after), f"{label}: backward: {compiled.after!r}"
        return
    assert compiled.after is None, f"{label}: backward raised {compiled.after!r}"
    for k, (one, other) in enumerate(zip(eager.things, compiled.things, strict=True)):
        mine, theirs = gradient(one), gradient(other)
        assert (mine is None) == (theirs is None), f"{label}: gradient of {k} is {theirs}, in eager code {mine}"
        if mine is not None:
            np.testing.assert_allclose(theirs, mine, rtol=1e-12, atol=1e-12, err_msg=f"{label}: gradient of {k}")
            assert theirs.dtype == mine.dtype


def agree(
    f: Callable[..., Any], make: Callable[[], tuple[Any, ...]], *, poke: bool = True, variants: Any = tuple(VARIANTS),
    **options: Any,
) -> None:  # fmt: skip
    """Check that `f` compiled does what `f` does."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = Run(f, make)
        roots = first.differentiable()
        plans = [(None, roots), *((None, [k]) for k in roots if len(roots) > 1)]
        if poke and first.error is None:
            plans += [(k, roots) for k, thing in enumerate(first.things) if _is_floating(thing)]
        for name in variants:
            compiled = VARIANTS[name](f, **options)
            for position, wanted in plans:
                label = f"{name}, " + (f"after a write to {position}" if position is not None else f"from {wanted}")
                runs = []
                for function in (f, compiled):
                    run = Run(function, make)
                    if position is not None:
                        run.poke(position)
                    run.backward([k for k in wanted if k in run.differentiable()] if run.error is None else [])
                    runs.append(run)
                compare(label, *runs, poked=position is not None)


def _is_floating(thing: Any) -> bool:
    return isinstance(thing, pb.Tensor) and thing.dtype.kind in "fc"


# Metadata. -----------------------------------------------------------------------------------------------------------

_KINDS = {
    "non_alias": "NA", "is_input": "II", "alias_of_input": "AI", "unsafe_view_alias": "UV",
    "custom_function_view": "CF", "alias_of_intermediate_save_as_output": "SB", "alias_of_intermediate": "AB",
    "alias_of_intermediate_base_is_user_output": "UO",
}  # fmt: skip
_MUTATIONS = {"NOT_MUTATED": "N", "MUTATED_IN_GRAPH": "IN", "MUTATED_OUT_GRAPH": "OUT"}


def inputs_of(meta: aot.ViewAndMutationMeta) -> list[str]:
    """The words for the inputs."""
    return [_MUTATIONS[info.mutation_type.name] + ("*" if info.tracked else "") for info in meta.input_info]


def outputs_of(meta: aot.ViewAndMutationMeta) -> list[str]:
    """The words for the outputs, with chains."""
    words = []
    for info in meta.output_info:
        if info.duplicate_of is not None and info.output_type.name != "is_input":
            words.append(f"dup {info.duplicate_of}")
            continue
        base = "" if info.base_idx is None else f"({info.base_idx})"
        steps = info.view_meta_sequence
        chain = "" if steps is None else f"({','.join(step.op.name for step in steps)})"
        words.append(_KINDS[info.output_type.name] + base + chain)
    return words


def tangents_of(meta: aot.ViewAndMutationMeta) -> list[str]:
    """The words for the tangents."""
    words = []
    for desc in meta.traced_tangents_descs:
        text = desc.expr()
        number = re.search(r"\[(\d+)\]", text)
        assert number is not None
        kind = "mut" if "mutated" in text else "ibase" if "ibase" in text else "out"
        words.append(f"{kind} {number[1]}")
    return words


def check(
    f: Callable[..., Any], make: Callable[[], tuple[Any, ...]], *, I: Any = None, O: Any = None, T: Any = None,
    poke: bool = True, **options: Any,
) -> aot.ViewAndMutationMeta:  # fmt: skip
    """One case: what the metadata says, and that compiled code does what eager code does. The metadata is returned."""
    grad_mode = pb.is_grad_enabled()
    meta = aot.collect_metadata(f, *make(), **options)
    assert pb.is_grad_enabled() is grad_mode
    if I is not None:
        assert inputs_of(meta) == I, inputs_of(meta)
    if O is not None:
        words = outputs_of(meta)
        # Two pairs of parentheses, or one after a word without a number, are a chain to be compared.
        assert len(words) == len(O), words
        assert [_without_chain(word, wanted) for word, wanted in zip(words, O, strict=True)] == O, words
    if T is not None:
        assert tangents_of(meta) == T, tangents_of(meta)
    agree(f, make, poke=poke, **options)
    return meta


def _without_chain(word: str, wanted: str) -> str:
    return word if wanted.count("(") == word.count("(") else re.sub(r"(?<=\d\))\(.*\)$", "", word)


def trace(f: Callable[..., Any], *args: Any, **options: Any) -> aot.Graph:
    """The forward graph."""
    return aot.trace(f, *args, **options).graph


def ops_of(graph: aot.Graph, tag: str | None = None) -> list[str]:
    """The operators of a graph, or of one half, in order."""
    return [node.op for node in graph.nodes if tag is None or node.tag == tag]


def returned(graph: aot.Graph) -> list[str]:
    """What a graph returns, as descriptors; what is None is left out."""
    return [d.expr() for d, value in zip(graph.output_descs, graph.outputs, strict=True) if value is not None]


def entries_of(f: Callable[..., Any], make: Callable[[], tuple[Any, ...]], **options: Any) -> Any:
    """The captures that one compiled call makes."""
    compiled = VARIANTS["interpreted"](f, **options)
    compiled(*make())
    return compiled.entries()


def is_training(f: Callable[..., Any], make: Callable[[], tuple[Any, ...]], **options: Any) -> bool:
    """Does a compiled call get a backward graph?"""
    (entry,) = entries_of(f, make, **options)
    return bool(entry.is_training)


def unchanged_by_errors(f: Callable[..., Any], make: Callable[[], tuple[Any, ...]], error: Any, **options: Any) -> Any:
    """Every variant raises `error`, and the arguments are as before. The last error is returned."""
    raised: Any = None
    for variant in VARIANTS.values():
        args = make()
        things = watched(args)
        before = [look(thing) for thing in things]
        with pytest.raises(error) as caught:
            variant(f, **options)(*args)
        assert [look(thing) for thing in things] == before
        raised = caught.value
    return raised
