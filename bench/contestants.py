"""Who runs the programs: Pullback's backends and the peers.

Each has a method for everything that can be asked of a program (`gradient`, `product`, `hessian`, `blocks`), which
returns a call without arguments. A framework that cannot run a version says why, on the screen, and is left out; one
that computes something else is an error.
"""

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bench.frameworks import THREADS, Case
from bench.programs import Function, Program, arrays_in
from bench.runner import Options


def row_of(function: Function, row: int) -> Function:
    """The sum of one of the arrays that `function` returns, and the array itself."""

    def total(*operands: Any) -> Any:
        values = function(*operands)[row]
        return values.sum(), values

    return total


class Pullback:
    """One backend of `pb.compile`, on the whole derivative."""

    framework = "pullback"

    def __init__(self, backend: str) -> None:
        self.pb: Any = importlib.import_module("pullback")
        self.backend, self.name = backend, f"pullback {backend}"

    def case(self, program: Program, function: Function) -> Case:
        """Traced and compiled at the first call."""
        whole = getattr(self, program.asked)(program, partial(function, self.pb))
        call = self.pb.compile(whole, backend=self.backend, fallback="raise")
        operands = [self.pb.asarray(array) for array in program.arrays()]
        return Case(lambda: call(*operands), arrays_in)

    def gradient(self, program: Program, function: Function) -> Function:
        """The value, then the gradients."""
        differentiate = self.pb.func.grad_and_value(function, program.wanted)
        return lambda *operands: differentiate(*operands)[::-1]

    def product(self, program: Program, function: Function) -> Function:
        """The Hessian times a direction."""
        hvp = self.pb.func.hvp
        return lambda x, *rest: hvp(lambda x: function(x, *rest[:-1]), (x,), (rest[-1],))[1]

    def hessian(self, program: Program, function: Function) -> Function:
        """The Hessian."""
        return self.pb.func.hessian(function)

    def jacobian(self, program: Program, function: Function) -> Function:
        """The Jacobian."""
        return self.pb.func.jacrev(function)

    def directions(self, program: Program, function: Function) -> Function:
        """Products of the Jacobian with all rows of the last operand."""
        jvp, vmap = self.pb.func.jvp, self.pb.func.vmap
        return lambda x, seeds: vmap(lambda seed: jvp(function, (x,), (seed,))[1])(seeds)

    def examples(self, program: Program, function: Function) -> Function:
        """The gradients of every example, which are the rows of the operands that are not differentiated."""
        axes = tuple(None if k in program.wanted else 0 for k in range(len(program.arrays())))
        return self.pb.func.vmap(self.pb.func.grad(function, program.wanted), in_axes=axes)

    def blocks(self, program: Program, function: Function) -> Function:
        """The values of all rows, then their gradients."""
        differentiate = self.pb.func.grad_and_value
        rows = [differentiate(row_of(function, row), program.wanted, has_aux=True) for row in range(program.rows)]

        def whole(*operands: Any) -> Any:
            results = [row(*operands) for row in rows]
            return [values for _, (_, values) in results], [gradients for gradients, _ in results]

        return whole


class Jax:
    """`jax.jit` of the whole derivative."""

    framework, name = "jax", "jax.jit"

    def __init__(self) -> None:
        self.jax: Any = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.namespace = importlib.import_module("jax.numpy")

    def case(self, program: Program, function: Function) -> Case:
        """Compiled at the first call."""
        jax = self.jax
        call = jax.jit(getattr(self, program.asked)(program, partial(function, self.namespace)))
        operands = [self.namespace.asarray(array) for array in program.arrays()]
        return Case(lambda: jax.block_until_ready(call(*operands)), arrays_in)

    def gradient(self, program: Program, function: Function) -> Function:
        """The value, then the gradients."""
        return self.jax.value_and_grad(function, program.wanted)

    def product(self, program: Program, function: Function) -> Function:
        """The Hessian times a direction."""
        jvp, grad = self.jax.jvp, self.jax.grad
        return lambda x, *rest: jvp(grad(lambda x: function(x, *rest[:-1])), (x,), (rest[-1],))[1]

    def hessian(self, program: Program, function: Function) -> Function:
        """The Hessian."""
        return self.jax.hessian(function)

    def jacobian(self, program: Program, function: Function) -> Function:
        """The Jacobian."""
        return self.jax.jacrev(function)

    def directions(self, program: Program, function: Function) -> Function:
        """Products of the Jacobian with all rows of the last operand."""
        jvp, vmap = self.jax.jvp, self.jax.vmap
        return lambda x, seeds: vmap(lambda seed: jvp(function, (x,), (seed,))[1])(seeds)

    def examples(self, program: Program, function: Function) -> Function:
        """The gradients of every example."""
        axes = tuple(None if k in program.wanted else 0 for k in range(len(program.arrays())))
        return self.jax.vmap(self.jax.grad(function, program.wanted), in_axes=axes)

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
        """Compiled, if at all, at the first call."""
        torch, threads = self.torch, self.threads
        if self.compiled and program.asked in ("product", "hessian", "directions"):
            raise RuntimeError("torch.compile does not differentiate twice, nor forwards")
        if self.compiled and program.unrolled:
            raise RuntimeError("it would unroll the loop and compile for minutes")
        torch.set_num_threads(threads)
        forward: Function = partial(function, torch)
        if self.compiled:
            torch.compiler.reset()  # or it gives up after eight programs, and generalises sizes over different ones
            forward = torch.compile(forward, dynamic=False)
        call = getattr(self, program.asked)(program, forward)
        operands = [torch.from_numpy(array.copy()) for array in program.arrays()]
        for position in program.wanted:
            operands[position].requires_grad_()

        def run() -> Any:
            torch.set_num_threads(threads)
            return call(*operands)

        return Case(run, arrays_in)

    def gradient(self, program: Program, function: Function) -> Function:
        """The value, then the gradients."""

        def whole(*operands: Any) -> Any:
            value = function(*operands)
            return value, self.torch.autograd.grad(value, [operands[position] for position in program.wanted])

        return whole

    def product(self, program: Program, function: Function) -> Function:
        """The Hessian times a direction: backward over backward, which is the fastest that torch has here."""
        grad = self.torch.autograd.grad

        def whole(x: Any, *rest: Any) -> Any:
            (slope,) = grad(function(x, *rest[:-1]), x, create_graph=True)
            return grad(slope, x, rest[-1])

        return whole

    def hessian(self, program: Program, function: Function) -> Function:
        """The Hessian."""
        return self.torch.func.hessian(function)

    def jacobian(self, program: Program, function: Function) -> Function:
        """The Jacobian."""
        return self.torch.func.jacrev(function)

    def directions(self, program: Program, function: Function) -> Function:
        """Products of the Jacobian with all rows of the last operand."""
        jvp, vmap = self.torch.func.jvp, self.torch.func.vmap
        return lambda x, seeds: vmap(lambda seed: jvp(function, (x,), (seed,))[1])(seeds)

    def examples(self, program: Program, function: Function) -> Function:
        """The gradients of every example."""
        axes = tuple(None if k in program.wanted else 0 for k in range(len(program.arrays())))
        return self.torch.func.vmap(self.torch.func.grad(function, program.wanted), in_dims=axes)

    def blocks(self, program: Program, function: Function) -> Function:
        """The values of all rows, then their gradients."""
        torch = self.torch

        def whole(*operands: Any) -> Any:
            values, leaves = function(*operands), [operands[position] for position in program.wanted]
            last = len(values) - 1
            gradients = [
                torch.autograd.grad(array, leaves, torch.ones_like(array), retain_graph=row < last)
                for row, array in enumerate(values)
            ]
            return values, gradients

        return whole


class HipsAutograd:
    """HIPS autograd, which has nothing to compile."""

    framework, name = "autograd", "autograd"

    def __init__(self) -> None:
        self.autograd: Any = importlib.import_module("autograd")
        self.namespace = importlib.import_module("autograd.numpy")

    def case(self, program: Program, function: Function) -> Case:
        """Recorded anew in every call."""
        call = getattr(self, program.asked)(program, partial(function, self.namespace))
        operands = list(program.arrays())
        return Case(lambda: call(*operands), arrays_in)

    def gradient(self, program: Program, function: Function) -> Function:
        """The value, then the gradients."""
        return self.autograd.value_and_grad(function, program.wanted)

    def product(self, program: Program, function: Function) -> Function:
        """The Hessian times a direction."""
        product = self.autograd.hessian_vector_product
        return lambda x, *rest: product(lambda x: function(x, *rest[:-1]))(x, rest[-1])

    def hessian(self, program: Program, function: Function) -> Function:
        """The Hessian."""
        return self.autograd.hessian(function)

    def jacobian(self, program: Program, function: Function) -> Function:
        """The Jacobian."""
        return self.autograd.jacobian(function)

    def blocks(self, program: Program, function: Function) -> Function:
        """The values of all rows, then their gradients: a tuple of results has one pull-back, asked for every row."""
        as_tuple = self.autograd.builtins.tuple
        forward = self.autograd.make_vjp(lambda *operands: as_tuple(function(*operands)), program.wanted)

        def whole(*operands: Any) -> Any:
            pull_back, values = forward(*operands)
            seeds = [
                tuple(np.ones_like(v) if row == other else np.zeros_like(v) for other, v in enumerate(values))
                for row in range(program.rows)
            ]
            return values, [pull_back(seed) for seed in seeds]

        return whole


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
