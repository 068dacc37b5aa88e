"""What functions return, found by running the examples of the reference."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings
from functools import cache
from typing import Any

import numpy as np

import pullback as pb
from docs._ext import examples, names


@cache
def observed_results() -> dict[int, str]:
    """The type of what an array function returned, by the identity of the function."""
    found = {}
    for entry in names.entries():
        if names.is_array_function(entry):
            returned = run(examples.call_of(entry.names, entry.value, entry.op))
            found[id(inspect.unwrap(entry.value))] = described(returned)
    return found


def run(call: examples.Call) -> Any:
    """What the call of an example returns."""
    space: dict[str, Any] = {"pb": pb, "np": np, "nan": math.nan, "inf": math.inf}
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(None):
        warnings.simplefilter("ignore")
        for name, value in call.inputs.items():
            exec(f"{name} = {value}", space)
        return eval(call.call, space)


def described(value: Any) -> str:
    """The type of a result as it is written; of a tuple, those of its elements."""
    if value is None:
        return "None"
    if type(value) is tuple or type(value) is list:
        inner = [described(each) for each in value]
        if type(value) is list:
            return f"list[{' | '.join(dict.fromkeys(inner))}]"
        return f"tuple[{', '.join(inner)}]"
    return "np.dtype[Any]" if isinstance(value, np.dtype) else type(value).__name__
