"""`Residuals`: the reverse formula of `defvjp_all`, and what its `fwd` was seen to keep.

`fwd` is NumPy code, as a kernel is, so a trace can not run it. What a run with arguments of the same form has kept
tells the shapes of the residuals; without such a run a trace is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pullback.core.pytree import flatten, unflatten
from pullback.errors import TraceError
from pullback.library._call import Call
from pullback.library._gradients import flat_gradients
from pullback.library._kernel import _arguments, checked
from pullback.library._memory import root_of
from pullback.library._recorded import constants_of, form_of
from pullback.library._reverse_base import Reverse
from pullback.payloads.traced import user_location
from pullback.tensors.tensor import Tensor

_MOST_RUNS = 64
Place = tuple[str | None, Any]


class ForwardRun(NamedTuple):
    """One run of `fwd`: arrays, or only their forms where the run is remembered."""

    outputs: Sequence[Any]
    saved: Sequence[Any]  # the residuals that are neither argument nor output
    places: list[Place]  # where each leaf of the residuals is found
    structure: Any
    counts: Any

    @property
    def statics(self) -> tuple[Any, ...]:
        """The residuals that are no arrays."""
        return tuple([value for source, value in self.places if source is None])


class Residuals(Reverse):
    """`fwd(*args, **kw) -> (output, residuals)` in place of the kernel, and `bwd(residuals, *g)`."""

    reads_values = True

    def __init__(self, forward: Any, backward: Any, location: str) -> None:
        self.forward = forward
        self.function = backward
        self.location = location
        self._runs: dict[Any, ForwardRun] = {}

    def run(self, call: Call, arrays: Sequence[Any]) -> ForwardRun:
        """Run `fwd`, and remember the form of what it returned."""
        given = _arguments(call, arrays)
        returned = self.forward(*given, **call.keywords)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(
                f"the fwd of {call.definition.qualname}, registered at {self.location}, must return a pair "
                f"(output, residuals), got {type(returned).__name__}"
            )
        flat = checked(call, returned[0], arrays, given, call.keywords)
        leaves, structure = flatten(returned[1])
        places, saved = _placed(leaves, arrays, flat, returned[0])
        found = ForwardRun(flat, saved, places, structure, call.counts)
        constants = constants_of(call)
        if constants is not None and all(hasattr(each, "dtype") for each in flat):
            if len(self._runs) >= _MOST_RUNS:
                self._runs.clear()
            self._runs[constants, form_of(arrays)] = found._replace(outputs=form_of(flat), saved=form_of(saved))
        return found

    def known_run(self, call: Call, operands: Sequence[Any]) -> ForwardRun:
        """The forms of what `fwd` returns for operands like these. Sets the call's `counts`."""
        constants = constants_of(call)
        found = None if constants is None else self._runs.get((constants, form_of(operands)))
        if found is None:
            name = call.definition.qualname
            raise TraceError(
                f"there is no fake impl for the fwd of {name}, so the shapes of its residuals are not known without "
                "running it",
                location=user_location(),
                why=f"fwd, registered at {self.location}, is NumPy code, which does not run while a function is traced",
                fix="call the operator once on arguments of these shapes that require grad before, or give it a "
                "formula with register_autograd, which can be traced",
            )
        call.counts = found.counts
        return found

    def backward(self, ctx: Any, call: Call, gradients: list[Any]) -> list[Any]:
        operands, outputs = ctx._values()
        structure, places = ctx._residuals
        saved = ctx.saved_tensors
        sources = {"operand": operands, "output": outputs, "saved": saved}
        leaves = [value if source is None else sources[source][value] for source, value in places]
        returned = self.function(unflatten(structure, leaves), *gradients)
        return flat_gradients(call, returned, self.location)


def _placed(leaves: list[Any], arrays: Any, outputs: Any, returned: Any) -> tuple[list[Place], list[Any]]:
    """For every leaf of the residuals where it is kept, and the arrays that are neither argument nor output."""
    results = returned if isinstance(returned, (tuple, list)) else (returned,)
    places: list[Place] = []
    saved: list[Any] = []
    for leaf in leaves:
        payload = leaf._data if isinstance(leaf, Tensor) else leaf
        if not hasattr(payload, "__array_interface__"):
            places.append((None, leaf))
            continue
        operand = next((k for k, x in enumerate(arrays) if _is_whole(payload, x)), None)
        output = next((k for k, x in enumerate(outputs) if payload is x or payload is results[k]), None)
        if operand is not None:
            places.append(("operand", operand))
        elif output is not None:
            places.append(("output", output))
        else:
            places.append(("saved", len(saved)))
            saved.append(payload)
    return places, saved


def _is_whole(view: Any, array: Any) -> bool:
    """Is one the other, or a plain view of all of it?"""
    return view is array or (
        root_of(view) is root_of(array)
        and view.__array_interface__["data"][0] == array.__array_interface__["data"][0]
        and view.shape == array.shape
        and view.strides == array.strides
        and view.dtype == array.dtype
    )
