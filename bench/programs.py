"""Whole programs and who compiles them: value and derivative of one function, by Pullback's backends and by the peers.

A `Program` is the mathematics, once for each framework and way of writing it (a loop may be a `scan` or Python's own),
and the goal for Pullback's time over the best peer's. A framework that can not run a version says why, on the screen,
and is left out; one that computes something else is an error.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench.frameworks import THREADS, Arrays, Case
from bench.runner import Options

Function = Callable[..., Any]


@dataclass(frozen=True)
class Program:
    """A function, written for every framework, its operands, and which of them (`wanted`) are differentiated.

    `versions[framework][way]` is called as `function(namespace, *operands)`. It returns a number, whose value and
    gradient are asked for, or, if `rows` says so, a tuple of that many arrays whose elements each depend on one row of
    the operands: then all of their gradients are asked for, which are the blocks of a Jacobian.
    """

    name: str
    versions: Mapping[str, Mapping[str, Function]]
    operands: Callable[[np.random.Generator], Arrays]
    wanted: tuple[int, ...]
    goal: float
    small: bool = True
    rows: int = 0
    tolerance: float = 1e-8
    remarks: tuple[str, ...] = ()

    def arrays(self) -> Arrays:
        """The operands, the same for everybody."""
        return self.operands(np.random.default_rng(7))


def everywhere(function: Function, *, without: Sequence[str] = ()) -> dict[str, dict[str, Function]]:
    """The versions of a function that reads the same in all frameworks."""
    return {name: {"": function} for name in ("pullback", "jax", "torch", "autograd") if name not in without}


def loops(
    scan: Function, plain: Mapping[str, Function], longest: Mapping[str, int], steps: int
) -> tuple[dict[str, dict[str, Function]], tuple[str, ...]]:
    """The versions of a program that loops, and a remark on those who get no plain loop of so many steps."""
    versions: dict[str, dict[str, Function]] = {"pullback": {"scan": scan}, "jax": {"scan": scan}}
    left_out = [framework for framework in plain if steps > longest[framework]]
    for framework in plain:
        if framework not in left_out:
            versions.setdefault(framework, {})["loop"] = plain[framework]
    remark = f"plain loop left out for {', '.join(left_out)}: too long to compile or to run"
    return versions, (remark,) if left_out else ()


def of_module(module: str, name: str) -> Function:
    """A framework's function, imported when it is called: the framework may be missing here."""
    return lambda *arguments: getattr(importlib.import_module(module), name)(*arguments)


def arrays_in(result: Any) -> list[np.ndarray]:
    """The arrays of a result, which may be tuples of tuples of any framework's."""
    if isinstance(result, (tuple, list)):
        return [array for part in result for array in arrays_in(part)]
    return [np.asarray(result.detach() if hasattr(result, "detach") else result)]


def row_of(function: Function, row: int) -> Function:
    """The sum of one of the arrays that `function` returns, and the array itself."""

    def total(*operands: Any) -> Any:
        values = function(*operands)[row]
        return values.sum(), values

    return total


class Pullback:
    """One backend of `pb.compile`, on the whole value and gradient."""

    framework = "pullback"

    def __init__(self, backend: str) -> None:
        self.pb: Any = importlib.import_module("pullback")
        self.backend, self.name = backend, f"pullback {backend}"

    def case(self, program: Program, function: Function) -> Case:
        """Traced and compiled at the first call."""
        pb, bound = self.pb, partial(function, self.pb)
        whole = self.blocks(program, bound) if program.rows else pb.func.grad_and_value(bound, program.wanted)
        call = pb.compile(whole, backend=self.backend, fallback="raise")
        operands = [pb.asarray(array) for array in program.arrays()]
        return Case(lambda: call(*operands), lambda result: arrays_in(result[::-1]))

    def blocks(self, program: Program, function: Function) -> Function:
        """The gradients of all rows, then their values."""
        differentiate = self.pb.func.grad_and_value
        rows = [differentiate(row_of(function, row), program.wanted, has_aux=True) for row in range(program.rows)]

        def whole(*operands: Any) -> Any:
            results = [row(*operands) for row in rows]
            return [gradients for gradients, _ in results], [values for _, (_, values) in results]

        return whole


class Jax:
    """`jax.jit` of the whole value and gradient."""

    framework, name = "jax", "jax.jit"

    def __init__(self) -> None:
        self.jax: Any = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.namespace = importlib.import_module("jax.numpy")

    def case(self, program: Program, function: Function) -> Case:
        """Compiled at the first call."""
        jax, bound = self.jax, partial(function, self.namespace)
        whole = self.blocks(program, bound) if program.rows else jax.value_and_grad(bound, program.wanted)
        call = jax.jit(whole)
        operands = [self.namespace.asarray(array) for array in program.arrays()]
        return Case(lambda: jax.block_until_ready(call(*operands)), arrays_in)

    def blocks(self, program: Program, function: Function) -> Function:
        """The values of all rows, then their gradients."""
        differentiate = partial(self.jax.value_and_grad, argnums=program.wanted, has_aux=True)
        rows = [differentiate(row_of(function, row)) for row in range(program.rows)]

        def whole(*operands: Any) -> Any:
            results = [row(*operands) for row in rows]
            return [values for (_, values), _ in results], [gradients for _, gradients in results]

        return whole


class Torch:
    """Torch eager, or the forward given to `torch.compile`, which compiles the backward with it.

    Eager torch enters twice, with two threads and with one: on small arrays, or when others use the machine, its
    threads wait for each other, up to a hundred times as long as the work takes, and it would be no peer to speak of.
    """

    framework = "torch"

    def __init__(self, threads: int = THREADS, compiled: bool = False) -> None:
        self.torch: Any = importlib.import_module("torch")
        self.threads, self.compiled = threads, compiled
        self.name = "torch.compile" if compiled else "torch" if threads == THREADS else f"torch, {threads} thread"

    def case(self, program: Program, function: Function) -> Case:
        """Forward and backward."""
        torch, threads = self.torch, self.threads
        torch.set_num_threads(threads)
        forward = partial(function, torch)
        if self.compiled:
            forward = torch.compile(forward)
        operands = [torch.from_numpy(array.copy()) for array in program.arrays()]
        leaves = [operands[position].requires_grad_() for position in program.wanted]

        def gradient() -> Any:
            torch.set_num_threads(threads)
            value = forward(*operands)
            return value, torch.autograd.grad(value, leaves)

        def blocks() -> Any:
            torch.set_num_threads(threads)
            values = forward(*operands)
            last = len(values) - 1
            gradients = [
                torch.autograd.grad(array, leaves, torch.ones_like(array), retain_graph=row < last)
                for row, array in enumerate(values)
            ]
            return values, gradients

        return Case(blocks if program.rows else gradient, arrays_in)


class HipsAutograd:
    """HIPS autograd, which has nothing to compile."""

    framework, name = "autograd", "autograd"

    def __init__(self) -> None:
        self.autograd: Any = importlib.import_module("autograd")
        self.namespace = importlib.import_module("autograd.numpy")

    def case(self, program: Program, function: Function) -> Case:
        """Forward and backward."""
        operands, wanted = list(program.arrays()), program.wanted
        bound = partial(function, self.namespace)
        if not program.rows:
            differentiate = self.autograd.value_and_grad(bound, wanted)
            return Case(lambda: differentiate(*operands), arrays_in)
        # A tuple of results has one pull-back, asked once for every row.
        forward = self.autograd.make_vjp(lambda *all_of_them: self.autograd.builtins.tuple(bound(*all_of_them)), wanted)

        def blocks() -> Any:
            pull_back, values = forward(*operands)
            seeds = [
                tuple(np.ones_like(v) if row == other else np.zeros_like(v) for other, v in enumerate(values))
                for row in range(program.rows)
            ]
            return values, [pull_back(seed) for seed in seeds]

        return Case(blocks, arrays_in)


def load(options: Options) -> Iterator[Any]:
    """Everybody who can be imported here. Who is missing is named on the screen."""
    makers: dict[str, Callable[[], Any]] = {
        "pullback numpy": lambda: Pullback("numpy"),
        "pullback llvm": lambda: importlib.import_module("llvmlite") and Pullback("llvm"),
        "jax.jit": Jax,
        "torch": Torch,
        "torch, 1 thread": lambda: Torch(threads=1),
        "torch.compile": lambda: Torch(compiled=True),
        "autograd": HipsAutograd,
    }
    if not options.torch_compile:
        del makers["torch.compile"]
    for name, make in makers.items():
        try:
            yield make()
        except ImportError as error:
            print(f"without {name}: {error}")
