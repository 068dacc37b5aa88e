"""What the systematic tests share: every family loaded, and questions about declared operators and their samples."""

from __future__ import annotations

import importlib

import numpy as np

from pullback.declare.op import registry
from pullback.operators import LATER
from pullback.operators.names import FUNCTIONS

__all__ = ["has_rule", "is_floating", "random_like", "registry", "tolerance"]

for family in (*LATER, "random"):
    importlib.import_module(f"pullback.{family}")
for family in FUNCTIONS:
    importlib.import_module(f"pullback.operators.{family}")


def is_floating(x):
    """Is this an array of real or complex numbers?"""
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def has_rule(op, position):
    """Is there a reverse rule for this operand?"""
    return op.joint is not None or op.rule_for(position) is not None


def random_like(x, seed):
    """Numbers between -1 and 1 in the shape and dtype of `x`, the same ones for the same seed."""
    random = np.random.default_rng(seed)
    values = random.uniform(-1, 1, x.shape)
    if x.dtype.kind == "c":
        values = values + 1j * random.uniform(-1, 1, x.shape)
    return np.asarray(values, dtype=x.dtype)


def tolerance(sample):
    """How far results on this sample may be apart."""
    single = any(is_floating(x) and x.dtype.char in "fF" for x in sample.inputs())
    return {"rtol": 2e-4, "atol": 2e-4} if single else {"rtol": 1e-9, "atol": 1e-9}
