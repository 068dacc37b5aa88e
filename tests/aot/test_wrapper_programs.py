"""Random functions of tensors on payloads of two arrays: compiled, they leave behind what eager code does.

The functions compute, take views, write in place, detach, and return arguments, views and intermediates. What is
compared: values, types, versions, flags, which results are one object, which parts share memory, and gradients.

Two things may differ, and are meant to. A gradient has the kind that it had when all results were differentiated, also
when some are not: two equal parts in place of a plain array. And a view that is overwritten completely gets no gradient
where eager code sends zeros.
"""

import random
import warnings
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from tests.conformance.aot import VARIANTS
from tests.conformance.wrappers import TwoPart, contents

SHAPE = (4, 3)
STEPS = (
    "scale", "add", "product", "shift", "sin", "slice", "transpose", "flatten", "detach", "clone", "scale_", "product_",
    "copy_", "row_", "quiet_",
)  # fmt: skip
KINDS = ("pair leaf", "pair inner", "pair view", "pair constant", "plain leaf", "plain inner", "plain constant")


class Program:
    """A function of tensors, made from a seed."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.seed = seed
        self.kinds = [rng.choice(KINDS[:4]), *rng.choices(KINDS, k=rng.choice((0, 1, 1, 2)))]
        self.steps = [(rng.choice(STEPS), rng.randrange(100), rng.randrange(100)) for _ in range(rng.randrange(1, 8))]
        self.returned = [rng.randrange(100) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        self.differentiated = rng.randrange(1, 8)  # the results that a backward pass starts from, as bits
        self.repeats_first = rng.random() < 0.1
        self.variant = rng.choice(list(VARIANTS))

    def __call__(self, *args: pb.Tensor) -> Any:
        values = list(args)
        for name, first, second in self.steps:
            apply(name, values, values[first % len(values)], values[second % len(values)])
        return tuple(values[k % len(values)] for k in self.returned)

    def arguments(self) -> tuple[list[pb.Tensor], list[pb.Tensor]]:
        """New arguments, always equal ones, and the leaves behind them."""
        rng = np.random.default_rng(self.seed)
        pairs = [argument(kind, rng) for kind in self.kinds]
        pairs += pairs[:1] if self.repeats_first else []
        return [each for each, _ in pairs], [leaf for _, leaf in pairs]


def argument(kind: str, rng: np.random.Generator) -> tuple[pb.Tensor, pb.Tensor]:
    payload, role = kind.split()
    first, second = rng.normal(size=SHAPE), rng.normal(size=SHAPE)
    tensor = pb.aot.wrap_payload(TwoPart(first, second)) if payload == "pair" else pb.asarray(first)
    if role != "constant":
        tensor.requires_grad_()
    inner = tensor * 1 if role in ("inner", "view") else tensor
    return (inner[...] if role == "view" else inner), tensor


def apply(name: str, values: list[pb.Tensor], x: pb.Tensor, y: pb.Tensor) -> None:
    """One step of a program."""
    if name in ("add", "product", "product_", "copy_") and x.shape != y.shape:
        return
    new = {
        "scale": lambda: x * 1.5, "add": lambda: x + y, "product": lambda: x * y, "shift": lambda: x + 2,
        "sin": lambda: pb.sin(x), "slice": lambda: x[1:] if x.shape[0] > 1 else x[...], "transpose": lambda: x.T,
        "flatten": lambda: x.reshape(-1), "detach": x.detach, "clone": x.clone,
    }.get(name)  # fmt: skip
    if new is not None:
        values.append(new())
    elif name == "row_":
        x[0] = 3.0
    elif name == "quiet_":
        with pb.no_grad():
            x.add_(1.0)
    else:
        getattr(x, {"scale_": "mul_", "product_": "mul_"}.get(name, name))(2.0 if name == "scale_" else y)


def arrays(tensor: pb.Tensor) -> list[Any]:
    payload = tensor._data
    return [payload.a, payload.b] if isinstance(payload, TwoPart) else [payload]


def left_behind(program: Program, function: Any) -> Any:
    """Everything that can be observed after a call; the name of the error if it raises one of eager code."""
    args, leaves = program.arguments()
    try:
        outs = function(*args)
    except aot.AOTError:
        raise
    except Exception as error:
        return type(error).__name__, getattr(error, "code", None)
    things = [*args, *leaves, *outs]
    seen = [(contents(x), x.requires_grad, x.is_leaf, x._version) for x in things]
    same = [[x is y for y in things] for x in things]
    shared = [[np.shares_memory(a, b) for a in arrays(x) for b in arrays(y)] for x in things for y in things]
    return seen, same, shared, gradients(program, leaves, outs)


def gradients(program: Program, leaves: list[pb.Tensor], outs: Any) -> Any:
    roots = [x for k, x in enumerate(outs) if x.requires_grad and program.differentiated >> k & 1]
    roots = list({id(x): x for x in roots}.values())
    if not roots:
        return None
    rng = np.random.default_rng(0)
    tangents = []
    for root in roots:
        first, second = rng.normal(size=root.shape), rng.normal(size=root.shape)
        is_pair = isinstance(root._data, TwoPart)
        tangents.append(pb.aot.wrap_payload(TwoPart(first, second)) if is_pair else pb.asarray(first))
    try:
        pb.autograd.backward(roots, tangents)
    except aot.AOTError:
        raise
    except Exception as error:
        return type(error).__name__, getattr(error, "code", None)
    return [normal(leaf.grad) if leaf.is_leaf else None for leaf in leaves]


def normal(gradient: Any) -> Any:
    """A gradient without the differences that are meant."""
    if gradient is None or not any(np.any(part) for part in arrays(gradient)):
        return None
    parts = [part.tolist() for part in arrays(gradient)]
    return parts[:1] if parts[0] == parts[-1] else parts


def is_close(mine: Any, theirs: Any) -> bool:
    """Equal, up to the order of sums in gradients."""
    if isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(mine) == len(theirs) and all(map(is_close, mine, theirs))
    if isinstance(mine, float) and isinstance(theirs, float):
        return bool(np.isclose(mine, theirs, rtol=1e-12, atol=1e-12, equal_nan=True))
    return mine == theirs


@pytest.mark.parametrize("block", range(4))
def test_random_functions_of_wrappers(block: int) -> None:
    refused = 0
    for seed in range(50 * block, 50 * (block + 1)):
        program = Program(seed)
        compiled = VARIANTS[program.variant](program.__call__)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = left_behind(program, program)
            try:
                found = [left_behind(program, compiled) for _ in range(2)]
            except aot.AliasError as error:
                assert "views of one intermediate" in str(error)
                refused += 1
                continue
        assert is_close(found, [expected, expected]), (seed, program.kinds, program.steps, program.returned)
    assert refused < 5
