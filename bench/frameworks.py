"""What a workload needs of each framework: its array namespace, recording, and a full forward and backward.

`record(function, arrays)` returns a call that evaluates `function(namespace, *operands)` the way the framework does
when a gradient is wanted, and `differentiate` one that also pulls a cotangent of ones back to all operands. Both return
`Case`s. NumPy is here as the floor: the time of the kernels alone, without any derivative.
"""

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

NAMES = ("pullback", "torch", "autograd", "jax", "numpy")
THREADS = 2
REPEATED = 32

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class Case:
    """One framework's version of a workload. `run()` does the work; `read(result)` gives arrays to compare."""

    run: Callable[[], Any]
    read: Callable[[Any], list[np.ndarray]]


class Taped:
    """Torch and Pullback: leaves that require gradients, `backward`, `.grad`. The two differ only in names."""

    def __init__(self, namespace: ModuleType, from_array: Callable[[np.ndarray], Any]) -> None:
        self.namespace = namespace
        self.from_array = from_array

    def leaves(self, arrays: Arrays) -> list[Any]:
        """A leaf for every array; integer arrays become constants."""
        made = [self.from_array(array.copy()) for array in arrays]
        for leaf, array in zip(made, arrays, strict=True):
            leaf.requires_grad_(array.dtype.kind in "fc")
        return made

    def read(self, results: Sequence[Any]) -> list[np.ndarray]:
        """Tensors as arrays."""
        return [np.asarray(result.detach().numpy()) for result in results]

    def record(self, function: Callable[..., Any], arrays: Arrays, grad: bool = True) -> Case:
        """Forward on the tape, or beside it with `grad=False`."""
        namespace, leaves = self.namespace, self.leaves(arrays)

        def run_beside() -> Any:
            with namespace.no_grad():
                return function(namespace, *leaves)

        run = (lambda: function(namespace, *leaves)) if grad else run_beside
        return Case(run, lambda result: self.read([result]))

    def differentiate(self, function: Callable[..., Any], arrays: Arrays) -> Case:
        """Forward and backward; the gradients end up in the leaves."""
        namespace, leaves = self.namespace, self.leaves(arrays)
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        shape = tuple(function(namespace, *leaves).shape)
        dtype = next(array.dtype for array in arrays if array.dtype.kind in "fc")
        seed = None if shape == () else self.from_array(np.ones(shape, dtype))

        def run() -> Any:
            for leaf in wanted:
                leaf.grad = None
            result = function(namespace, *leaves)
            result.backward(seed)
            return result

        return Case(run, lambda result: self.read([result, *(leaf.grad for leaf in wanted)]))

    def repeat(self, function: Callable[..., Any], arrays: Arrays) -> Case:
        """The function is called 32 times, and one pass visits what all calls have recorded."""
        namespace, leaves = self.namespace, self.leaves(arrays)
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        shape = tuple(function(namespace, *leaves).shape)
        dtype = next(array.dtype for array in arrays if array.dtype.kind in "fc")
        seeds = [self.from_array(np.ones(shape, dtype)) for _ in range(REPEATED)]
        backward = namespace.autograd.backward

        def run() -> Any:
            for leaf in wanted:
                leaf.grad = None
            results = [function(namespace, *leaves) for _ in range(REPEATED)]
            backward(results, seeds)
            return results[0]

        return Case(run, lambda result: self.read([result, *(leaf.grad for leaf in wanted)]))


class HipsAutograd:
    """HIPS autograd: `make_vjp` records, and its result pulls back."""

    def __init__(self) -> None:
        self.make_vjp = importlib.import_module("autograd").make_vjp
        self.namespace = importlib.import_module("autograd.numpy")

    def record(self, function: Callable[..., Any], arrays: Arrays, grad: bool = True) -> Case:
        """Forward on the tape, or beside it with `grad=False`."""
        namespace = self.namespace
        if not grad:
            return Case(lambda: function(namespace, *arrays), lambda result: [np.asarray(result)])
        forward = self.make_vjp(lambda *operands: function(namespace, *operands), floating_positions(arrays))
        return Case(lambda: forward(*arrays), lambda result: [np.asarray(result[1])])

    def differentiate(self, function: Callable[..., Any], arrays: Arrays) -> Case:
        """Forward and backward."""
        namespace = self.namespace
        forward = self.make_vjp(lambda *operands: function(namespace, *operands), floating_positions(arrays))
        seed = np.ones_like(forward(*arrays)[1])

        def run() -> Any:
            pull_back, result = forward(*arrays)
            return result, pull_back(seed)

        return Case(run, lambda result: [np.asarray(result[0]), *(np.asarray(g) for g in result[1])])


class JaxEager:
    """JAX without `jit`: `jax.vjp` records, and its result pulls back."""

    def __init__(self) -> None:
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.namespace = importlib.import_module("jax.numpy")

    def record(self, function: Callable[..., Any], arrays: Arrays, grad: bool = True) -> Case:
        """Forward with linearisation, or plain evaluation with `grad=False`."""
        jax, namespace = self.jax, self.namespace
        operands = [namespace.asarray(array) for array in arrays]
        if not grad:
            run = lambda: function(namespace, *operands).block_until_ready()
            return Case(run, lambda result: [np.asarray(result)])
        forward, variables = self.close_over_integers(function, operands)
        return Case(
            lambda: jax.vjp(forward, *variables)[0].block_until_ready(), lambda result: [np.asarray(result)]
        )

    def differentiate(self, function: Callable[..., Any], arrays: Arrays) -> Case:
        """Forward and backward."""
        jax, namespace = self.jax, self.namespace
        forward, variables = self.close_over_integers(function, [namespace.asarray(array) for array in arrays])
        seed = namespace.ones_like(forward(*variables))

        def run() -> Any:
            result, pull_back = jax.vjp(forward, *variables)
            return jax.block_until_ready((result, pull_back(seed)))

        return Case(run, lambda result: [np.asarray(result[0]), *(np.asarray(g) for g in result[1])])

    def close_over_integers(self, function: Callable[..., Any], operands: list[Any]) -> tuple[Callable[..., Any], list]:
        """`function` of its floating operands alone, and those operands."""
        positions = floating_positions(operands)

        def of_floating(*variables: Any) -> Any:
            full = list(operands)
            for position, variable in zip(positions, variables, strict=True):
                full[position] = variable
            return function(self.namespace, *full)

        return of_floating, [operands[position] for position in positions]


class Kernels:
    """NumPy itself. It can only evaluate."""

    namespace = np

    def record(self, function: Callable[..., Any], arrays: Arrays, grad: bool = True) -> Case:
        """Plain evaluation; there is nothing to record."""
        del grad
        return Case(lambda: function(np, *arrays), lambda result: [np.asarray(result)])


def floating_positions(arrays: Sequence[Any]) -> tuple[int, ...]:
    """Positions of the operands that can have a gradient."""
    return tuple(i for i, array in enumerate(arrays) if array.dtype.kind in "fc")


def make_pullback() -> Taped:
    """Pullback, as this repository has it."""
    pullback = importlib.import_module("pullback")
    return Taped(pullback, pullback.asarray)


def make_torch() -> Taped:
    """Torch eager, with as many threads as there are cores in the machine the aims were set for."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(THREADS)
    return Taped(torch, torch.from_numpy)


MAKERS: dict[str, Callable[[], Any]] = {
    "pullback": make_pullback,
    "torch": make_torch,
    "autograd": HipsAutograd,
    "jax": JaxEager,
    "numpy": Kernels,
}


def load() -> Iterator[tuple[str, Any]]:
    """The frameworks that can be imported here, by name. A missing one is named on the screen."""
    for name in NAMES:
        try:
            yield name, MAKERS[name]()
        except ImportError as error:
            print(f"without {name}: {error}")
