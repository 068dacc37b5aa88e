"""Payloads of the examples, and what the cases about payloads share."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> Any:
    """The module of an example, once."""
    path = EXAMPLES / f"payload_{name}.py"
    spec = importlib.util.spec_from_file_location(f"tests_of_payload_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


Two = example("two").Two
units = example("units")
masks = example("masked")
lowrank = example("lowrank")
Quantity, quantity, UnitError = units.Quantity, units.quantity, units.UnitError
Masked = masks.Masked

A, B = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


def two(a: Any = A, b: Any = B) -> pb.Tensor:
    return pb.wrap(Two(np.array(a, float), np.array(b, float)))


def leaf(a: Any = A, b: Any = B) -> pb.Tensor:
    return two(a, b).requires_grad_()


def halves(tensor: Any) -> list[Any]:
    """The two arrays of a Two."""
    payload = tensor._data
    assert type(payload) is Two, type(payload)
    return [payload.a, payload.b]


def plain_runs(f: Any, *args: Any) -> list[Any]:
    """`f` of the first parts, and of the second."""
    return [f(*[getattr(x, name) if isinstance(x, Two) else x for x in args]) for name in ("a", "b")]


def close(got: Any, expected: Any) -> None:
    for mine, theirs in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine, np.asarray(theirs), rtol=1e-12, atol=1e-14)
