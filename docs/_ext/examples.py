"""Examples for the reference: a tiny call, its result and its gradient, all of them run when the page is made.

Where the call comes from, in this order: the table `docs/_ext/example_calls.txt`; for operators, their own samples; and
otherwise a guess from the names of the parameters. An example that does not run is an error of the build.
"""

import ast
import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb
from docs._ext.declarations import samples_of
from pullback.declare.op import Op


@dataclass(frozen=True)
class Example:
    """What a reader would see, and what came out."""

    text: str
    nodes: tuple[str, ...]  # the kinds of nodes that were recorded, from the result to the inputs; none if no gradient


@dataclass(frozen=True)
class Call:
    """A line of the table: inputs as Python source, the call, and what is differentiated."""

    inputs: dict[str, str]
    call: str
    loss: str | None


def example_of(names: Sequence[str], function: Any, op: Op | None) -> Example:
    """The example for a function that users write as `pb.<name>`, with any of its names."""
    return run(call_of(names, function, op))


def renumbered(text: str) -> str:
    """An example whose ragged lengths count from j0: their real numbers depend on what ran before."""
    numbers: dict[str, str] = {}
    return re.sub(r"(?<=[(, *])j\d+(?=[,)])", lambda found: numbers.setdefault(found[0], f"j{len(numbers)}"), text)


def call_of(names: Sequence[str], function: Any, op: Op | None) -> Call:
    """The call of this example."""
    values, calls = table()
    for name in names:
        if name in calls:
            return calls[name]
    found = sampled_inputs(op) if op is not None else None
    inputs, keywords = found or (guessed_inputs(function, values), {})
    arguments = ", ".join([*inputs, *(f"{key}={value!r}" for key, value in keywords.items())])
    return Call(inputs, f"pb.{names[0]}({arguments})", None)


@lru_cache
def table() -> tuple[dict[str, str], dict[str, Call]]:
    """The values that inputs have by default, and the calls, by the name of the function."""
    values: dict[str, str] = {}
    calls: dict[str, Call] = {}
    for line in Path(__file__).with_name("example_calls.txt").read_text(encoding="utf-8").splitlines():
        statements = ast.parse(line).body
        assigned = [each for each in statements if isinstance(each, ast.Assign)]
        inputs = {ast.unparse(each.targets[0]): written(each.value) for each in assigned}
        if len(assigned) == len(statements):
            values |= inputs
            continue
        call, *loss = statements[len(assigned) :]
        assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
        name = ast.unparse(call.value.func)
        used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
        bound = {node.arg for node in ast.walk(call) if isinstance(node, ast.arg)}
        inputs |= {each: value for each, value in values.items() if each in used - bound - inputs.keys()}
        calls[name] = Call(inputs, f"pb.{ast.unparse(call)}", ast.unparse(loss[0]) if loss else None)
    return values, calls


def written(value: ast.expr) -> str:
    """The source of an input: lists as tensors, everything else as it is."""
    text = ast.unparse(value)
    if not isinstance(value, ast.List):
        return text
    numbers = [part.value for part in ast.walk(value) if isinstance(part, ast.Constant)]
    needs = any(isinstance(number, (float, complex)) for number in numbers)
    return f"pb.tensor({text}{', requires_grad=True' if needs else ''})"


# Inputs ---------------------------------------------------------------------------------------------------------------

Inputs = tuple[dict[str, str], dict[str, Any]]


def sampled_inputs(op: Op) -> Inputs | None:
    """Operands with few digits and parameters out of a sample of `op`; None if no sample is small and plain."""
    best: tuple[tuple[bool, int], Inputs] | None = None
    names = [each.lstrip("*") for each in op.operands]
    for sample in samples_of(op):
        arrays = [np.asarray(x) for x in sample.operands]
        if sample.prepare is not None or any(x.dtype.kind not in "fbiu" or x.ndim * x.size == 0 for x in arrays):
            continue
        if op.family in ("elementwise", "special") and all(x.shape == (3, 4) for x in arrays):
            arrays = [x.ravel()[:3] for x in arrays]
        size = sum(x.size for x in arrays)
        rank = len({x.shape for x in arrays}) > 1, size  # operands of one shape are easier to read
        if 2 <= size <= 12 and len(names) == len(arrays) and (best is None or rank < best[0]):
            operands = dict(zip(names, map(short, arrays), strict=True))
            best = rank, (operands, {key: unwrapped(value) for key, value in sample.params.items()})
    return None if best is None else best[1]


def short(array: np.ndarray[Any, Any]) -> str:
    """The source of a tensor with the numbers of a sample, two digits after the point."""
    numbers = np.round(array.astype(float), 2) if array.dtype.kind == "f" else array
    return written(ast.parse(repr(numbers.tolist()), mode="eval").body)


def unwrapped(value: Any) -> Any:
    """A parameter in the form in which users write it."""
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value


def guessed_inputs(function: Callable[..., Any], values: dict[str, str]) -> dict[str, str]:
    """A value for every parameter that has no default, by its name."""
    parameters = inspect.signature(function).parameters.values()
    names = [each.name for each in parameters if each.default is each.empty and each.kind in (0, 1)]
    return {name: values[name] for name in names}


# Running --------------------------------------------------------------------------------------------------------------


def run(call: Call) -> Example:
    """Run a call, and differentiate its result by all inputs that it depends on."""
    space: dict[str, Any] = {"pb": pb, "np": np, "nan": math.nan, "inf": math.inf}
    lines: list[str] = []
    pb.random.manual_seed(0)
    start = pb.random.get_state()
    for each, value in call.inputs.items():
        exec(f"{each} = {value}", space)
        lines.append(f">>> {each} = {value}")
    with warnings.catch_warnings(), np.errstate(all="ignore"), pb.printoptions(precision=4, suppress=True):
        warnings.simplefilter("ignore")
        result = eval(call.call, space)
        if result is None:
            lines.append(f">>> {call.call}")
            lines += [line for each in call.inputs if each == "base" for line in (">>> base", repr(space[each]))]
        else:
            space["out"] = result
            lines += [f">>> out = {call.call}", ">>> out", repr(result)]
        if pb.random.get_state() != start:
            lines.insert(0, ">>> pb.random.manual_seed(0)")
        return differentiated(call, result, space, lines)


def differentiated(call: Call, result: Any, space: dict[str, Any], lines: list[str]) -> Example:
    """The example with the gradient by every input that the result depends on, if there is one."""
    loss = call.loss or scalar_of(result, "out")
    root = eval(loss, space) if loss is not None else None
    leaves = [each for each in call.inputs if isinstance(space[each], pb.Tensor) and space[each].requires_grad]
    if not leaves or not isinstance(root, pb.Tensor) or not root.requires_grad:
        text = renumbered("\n".join(lines))
        return Example(text if has_tensor(result) else text.replace(", requires_grad=True", ""), ())
    found = pb.autograd.grad(root, [space[each] for each in leaves], retain_graph=True, allow_unused=True)
    wanted = [each for each, gradient in zip(leaves, found, strict=True) if gradient is not None]
    nodes = tuple(dict.fromkeys(node.name() for node in nodes_under(root.grad_fn)))
    line = f"pb.autograd.grad({loss}, {wanted[0] if len(wanted) == 1 else '[' + ', '.join(wanted) + ']'})"
    return Example(renumbered("\n".join([*lines, f">>> {line}", repr(eval(line, space))])), nodes)


def has_tensor(result: Any) -> bool:
    """Whether a result is a tensor or a tuple that has one."""
    return isinstance(result, pb.Tensor) or (isinstance(result, (tuple, list)) and any(map(has_tensor, result)))


def scalar_of(result: Any, name: str) -> str | None:
    """An expression for a real number made of a result; None if there is nothing to differentiate."""
    if isinstance(result, (tuple, list)):
        parts = (scalar_of(part, f"{name}[{position}]") for position, part in enumerate(result))
        return next((part for part in parts if part is not None), None)
    if not isinstance(result, pb.Tensor) or not result.requires_grad:
        return None
    real = f"{name}.real" if result.dtype.kind == "c" else name
    return f"{real}.sum()" if result.shape else real


def nodes_under(root: Any) -> Iterator[Any]:
    """The nodes of a graph, nearest first, without the accumulators."""
    queue, seen = [root], {id(root)}
    while queue:
        node = queue.pop(0)
        if node.name() != "AccumulateGrad":
            yield node
        for following, _ in node.next_functions:
            if following is not None and id(following) not in seen:
                seen.add(id(following))
                queue.append(following)
