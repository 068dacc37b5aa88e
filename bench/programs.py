"""Whole programs: the mathematics, for each framework and way of writing it (a loop may be a `scan` or Python's own).

Who runs them is in `contestants.py`, which of them there are in `workload_*.py`.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.frameworks import Arrays

Function = Callable[..., Any]


@dataclass(frozen=True)
class Program:
    """A function, written for every framework, its operands, and which of them (`wanted`) are differentiated.

    `versions[framework][way]` is called as `function(namespace, *operands)` and returns a number. What is asked for is
    its value and "gradient"; or the "product" of its Hessian by the first operand with the last operand, which the
    function does not get; or that "hessian" itself; or the "jacobian" of a function that returns an array, or its
    products with all rows of the last operand, the "directions", which is how sparse ones are computed; or the
    gradients of all "examples", the rows of the operands that are not differentiated; or the "blocks" of a Jacobian:
    then the function returns a tuple of `rows` arrays whose elements each depend on one row of the operands, and all of
    their gradients are wanted.
    `unrolled` programs are loops so long that `torch.compile`, which unrolls them, would take minutes.
    """

    name: str
    versions: Mapping[str, Mapping[str, Function]]
    operands: Callable[[np.random.Generator], Arrays]
    wanted: tuple[int, ...]
    goal: float
    asked: str = "gradient"
    small: bool = True
    rows: int = 0
    unrolled: bool = False
    tolerance: float = 1e-8
    remarks: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # contestants, with the way, that would take minutes

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
