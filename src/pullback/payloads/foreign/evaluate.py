"""Evaluating operators on foreign arrays.

For each operator and device a way is found once, in this order: a spelling that the kind has for it; one that its
declaration has (`@op.spelling(...)`), for the kind or for every namespace of the array API; the library's function for
a kernel that is a ufunc; the declared kernel, on foreign arrays that behave as NumPy's. Operators whose kernels read
memory (`reads_memory`) have spellings or are refused. What has no way is FOREIGN_OP, and nothing is copied to the host,
except inside of `pb.interop.on_host()`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.frames import PACKAGE, user_place, warn
from pullback.core.spec import spec_of
from pullback.declare.op import Op
from pullback.errors import AutogradError, PerformanceWarning
from pullback.payloads.devices import device, drawn_later
from pullback.payloads.evaluate import evaluate_outermost
from pullback.payloads.foreign.array import ForeignArray, Unspelled, synced, uploaded
from pullback.payloads.foreign.kernels import Translated
from pullback.payloads.foreign.members import common_device
from pullback.payloads.foreign.modes import in_kernel, on_host_mode
from pullback.payloads.foreign.numpy_names import names_on
from pullback.payloads.foreign.ufuncs import NumPyRefuses, direct

_CONSTANTS = frozenset({np.ndarray, int, float, complex, bool, type(None)})
Way = Callable[[Any, dict[str, Any]], Any]
checks_results = False
"""Are shape and dtype of every result compared with the declared rule? In tests; otherwise those of the first are."""


def evaluate_foreign(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The results of `op` on operands of which at least one is a foreign array."""
    place: Any = None
    for x in operands:
        cls = type(x)
        if cls is ForeignArray:
            if place is None:
                place = x.device
            elif x.device is not place:
                common_device(operands)
        elif cls not in _CONSTANTS and hasattr(cls, "evaluate_op"):
            return evaluate_outermost(op, operands, params, cls.evaluate_op)  # made of foreign arrays: a batch, a lift
    way = place.functions.get(op)
    if way is None or checks_results:
        way = _checked(op, place, way)
    present = None if place.kind.streams is None else synced(place, operands)
    try:
        out = way(operands, params) if not place.kind.lazy else _without_values(way, operands, params)
    except Unspelled as error:
        return _refused(op, operands, params, place, error)
    except (AutogradError, np.linalg.LinAlgError, IndexError, PerformanceWarning, NumPyRefuses):
        raise
    except Exception as error:
        return _refused(op, operands, params, place, error)
    if present is not None:
        for each in out if type(out) is tuple else (out,):
            each.made_on = present
    return out


def _checked(op: Op, place: device, known: Way | None) -> Way:
    """A way that compares its results with the declaration, and is the way from then on without doing so."""
    way = known or _way(op, place)

    def checked(operands: Any, params: dict[str, Any]) -> Any:
        out = way(operands, params)
        _check(op, operands, params, out, place)
        place.functions[op] = way
        return out

    return checked


def _without_values(way: Way, operands: Any, params: dict[str, Any]) -> Any:
    """A call in which nobody may ask for values: those of a lazy kind would be computed for that."""
    token = in_kernel.set(True)
    try:
        return way(operands, params)
    finally:
        in_kernel.reset(token)


def _way(op: Op, place: device) -> Way:
    kind = place.kind
    is_spelled = op.name in kind.spellings or kind.name in op.spellings or "array_api" in op.spellings
    if isinstance(op.kernel, np.ufunc) and op.kernel is not np.matmul and not is_spelled:
        return direct(op.kernel, place)
    if op.family == "random":
        return lambda operands, params: _drawn(op, operands, params, place)
    names = names_on(place)
    kernel = _translator(place).kernel_of(op)

    def way(operands: Any, params: dict[str, Any]) -> Any:
        out = kernel(*operands, **params)
        if isinstance(out, (tuple, list)):
            return tuple([names.asarray_there(part) for part in out])
        return names.asarray_there(out)

    return way


def _translator(place: device) -> Translated:
    found: Any = place.functions.get("kernels")
    if found is None:
        found = place.functions["kernels"] = Translated(names_on(place))  # type: ignore[assignment]
    return found


def _drawn(op: Op, operands: Any, params: dict[str, Any], place: device) -> Any:
    """Random numbers: those that the host draws for the same parameters, so that they are the same everywhere."""
    if place.kind.lazy:
        raise drawn_later(place)
    return uploaded(op.kernel(*[x.downloaded() if type(x) is ForeignArray else x for x in operands], **params), place)


def _check(op: Op, operands: Any, params: dict[str, Any], out: Any, place: device) -> None:
    """Compare a result with what the declaration says of it."""
    if op.spec_rule is None or op.dynamic == len(operands):
        return
    given = [spec_of(x) if hasattr(x, "dtype") else x for x in operands]
    expected = op.specs_of(*given, **params)
    if expected is None:
        return
    several = isinstance(expected, (tuple, list))
    found = out if type(out) is tuple else (out,)
    for spec, part in zip(expected if several else (expected,), found, strict=False):
        if spec.shape != part.shape or spec.dtype != part.dtype:
            raise AutogradError(
                "FOREIGN_RESULT",
                f"{op.name} on {place} gave {spec_of(part)}, and should give {spec}",
                why="a result has the shape and dtype that NumPy would give it, or everything behind it is wrong",
                fix="correct the spelling of this operator for this kind, or report it if it is Pullback's",
            )


_KERNELS = os.path.join(PACKAGE, "operators", "")
_warned: set[tuple[str, str]] = set()


def _refused(op: Op, operands: Any, params: dict[str, Any], place: device, error: Exception) -> Any:
    """What an operator gives that a library cannot compute: an error, or the result of NumPy's kernel, if allowed."""
    if isinstance(error, ValueError) and _is_of_a_kernel(error):
        raise error
    if op.spec_rule is not None and op.dynamic != len(operands):
        given = [spec_of(x) if hasattr(x, "dtype") else x for x in operands]
        op.specs_of(*given, **params)  # operands that do not fit are the caller's mistake, and it says which
    if on_host_mode.get():
        return _on_host(op, operands, params, place)
    name = op.name.lstrip("_")
    shown = place_text()
    words = error.why if isinstance(error, Unspelled) else f"{type(error).__name__}: {error}"
    raise AutogradError(
        "FOREIGN_OP",
        f"{name} cannot be computed on {place}",
        where=shown,
        why=words,
        fix="write it with other operators, convert with x.to('cpu'), or allow copies to the host: "
        "with pb.interop.on_host():",
    ) from error


def _is_of_a_kernel(error: BaseException) -> bool:
    """Does a kernel itself say that its operands will not do, and not the library?"""
    entry: Any = error.__traceback__
    while entry.tb_next is not None:
        entry = entry.tb_next
    return entry.tb_frame.f_code.co_filename.startswith(_KERNELS)


def place_text() -> str:
    """The user's line, for messages."""
    found = user_place()
    return "" if found is None else f"{found[0]}, line {found[1]}, in {found[2]}"


def _on_host(op: Op, operands: Any, params: dict[str, Any], place: device) -> Any:
    if (op.name, place.kind.name) not in _warned:
        _warned.add((op.name, place.kind.name))
        warn(
            f"{op.name.lstrip('_')} runs on the host, on copies of arrays of {place.kind.name}, which lacks it",
            PerformanceWarning,
        )
    host = [np.array(x.downloaded()) if type(x) is ForeignArray else x for x in operands]
    out = op.kernel(*host, **params)
    if isinstance(out, (tuple, list)):
        return tuple([uploaded(part, place) for part in out])
    return uploaded(out, place)
