"""Fast paths for elementwise operators on plain tensors.

This is the hottest code of the project (bench/eager.py). A call is fast when the modes are normal, no operand has an
`Extra` other than that of a light view (`ViewInfo`), all tensors are real floating (of one spec, so that the result has
it too, or broadcast, which the engine then undoes), and the rest are Python numbers. Any other call goes to the general
function, which alone defines the meaning; tests run the samples through both.

The functions are written out from the declaration (eager/source.py) and compiled when they are first called: compiling
all of them at import would cost tens of milliseconds. `python -c "import pullback; print(pullback.multiply.source())"`
shows one.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.core.state import current, next_stamp, observers, open_levels, switch
from pullback.declare.op import Op
from pullback.eager.failures import failed
from pullback.eager.large import kernels_of, large_function, meter_kernels, metered_pull
from pullback.eager.native_tape import Call, elementwise_call
from pullback.eager.nodes import FastNode, TokenNode, fast_node_classes, large_node_classes, token_node_classes
from pullback.eager.pull import NOT_SAVED
from pullback.eager.record import watched
from pullback.eager.source import Variant, compiled, elementwise_source
from pullback.payloads.evaluate import innermost
from pullback.tape.accumulate import accumulator_of
from pullback.tape.history import is_foreign, refresh_view
from pullback.tape.transform.tokens import Deps, is_live, union
from pullback.tensors.overwrites import UNWRITTEN
from pullback.tensors.tensor import AWAY, Extra, Leaf, Tensor
from pullback.tensors.versions import dated_counter
from pullback.tensors.views import ViewInfo

ndarray = np.ndarray
_NOTHING: dict[str, Any] = {}
_SHARED: dict[str, Any] = {
    "__builtins__": builtins,  # warnings look for it, as of Python 3.14
    "AWAY": AWAY, "INNERMOST": innermost, "Leaf": Leaf, "NOTHING": _NOTHING, "NOT_SAVED": NOT_SAVED, "Tensor": Tensor,
    "UNWRITTEN": UNWRITTEN, "accumulator_of": accumulator_of,
    "View": ViewInfo, "asarray": np.asarray, "current": current, "failed": failed, "ndarray": np.ndarray,
    "is_foreign": is_foreign, "next_stamp": next_stamp, "open_levels": open_levels, "refresh": refresh_view,
    "spec_for": spec_for, "switch": switch, "watched": watched, "PLAIN": frozenset({Tensor, float, int}),
}  # fmt: skip


def fast_function(op: Op, duals: Any, arrays: str) -> Callable[..., Any]:
    """The function of an elementwise op with its fast path; for other calls there is `duals` (eager/forward.py).

    `arrays` says what becomes of arrays that it is called with: see `Variant`.
    """
    scope = {**_SHARED, "op": op, "kernel": op.kernel, "kernels": kernels_of(op), "general": duals.general}
    scope["unusual"], scope["inside"] = duals.in_normal_modes, duals.in_modes
    scope["away"] = _away(op, duals.in_normal_modes)
    scope["untracked"] = (_untracked_unary if len(op.operands) == 1 else _untracked_binary)(op, duals.anywhere)
    function = FunctionType(_STUBS[len(op.operands) - 1], scope, op.name, (None,))
    scope["call"] = function

    def large_classes() -> Any:
        if op.large_nodes is None:
            op.large_nodes = large_node_classes(op, op.fast_rules or (), FastNode, metered_pull)
        return op.large_nodes

    scope["large"] = large_function(op, _code(op, Variant("normal", "large", arrays)), scope, large_classes)

    def code(is_native: bool) -> CodeType:
        return _code(op, Variant("normal", "small", arrays, is_native))()

    def compile_now() -> None:
        scope["Saved"], scope["Loose"] = _node_classes(op)
        Call(function, scope, code, lambda: elementwise_call(op, scope["Saved"], scope["Loose"]))

    scope["compile_now"] = compile_now
    function.source = lambda: elementwise_source(op, Variant("normal", "small", arrays))  # type: ignore[attr-defined]
    return function


def _code(op: Op, variant: Variant) -> Callable[[], CodeType]:
    return lambda: compiled(elementwise_source(op, variant), f"fast path of {op.name}")


def _node_classes(op: Op) -> tuple[type[FastNode], type[FastNode]]:
    if op.fast_nodes is None:
        op.fast_nodes = fast_node_classes(op, op.fast_rules or ())
    return op.fast_nodes


def _away(op: Op, general: Callable[..., Any]) -> Callable[..., Any]:
    """The op on tensors that are on arrays of another library, in normal modes (eager/elsewhere.py)."""
    plain = _SHARED["PLAIN"].issuperset

    def away(*operands: Any) -> Any:
        if not plain(map(type, operands)):
            return general(*operands)
        return (op.elsewhere or op.make_elsewhere(operands))(operands, _NOTHING)

    return away


def _is_light(x: Any) -> bool:
    return type(x._extra) is ViewInfo and not open_levels and type(x._data) is ndarray


def _untracked_unary(op: Op, general: Callable[..., Any]) -> Callable[..., Any]:
    """The op under no_grad."""
    kernel = op.kernel

    def untracked(x: Any) -> Any:
        if type(x) is not Tensor or (x._extra is not None and not _is_light(x)):
            return general(x)
        spec = x._spec
        if spec.is_plain:
            payload = kernel(x._data)
        elif spec.is_real:
            payload = meter_kernels(op).large(x._data)
        else:
            return general(x)
        # path: eager without recording
        result = Tensor()
        result._data = payload if type(payload) is ndarray else np.asarray(payload)
        result._spec = spec
        result._node = result._counter = result._extra = result._meta = None
        return result

    return untracked


def _untracked_binary(op: Op, general: Callable[..., Any]) -> Callable[..., Any]:
    """The op under no_grad."""
    kernel = op.kernel

    def untracked(x: Any, y: Any) -> Any:
        if type(x) is not Tensor or (x._extra is not None and not _is_light(x)):
            return general(x, y)
        spec = x._spec
        if type(y) is Tensor:
            if (y._extra is not None and not _is_light(y)) or y._spec is not spec:
                return general(x, y)
            other = y._data
        elif type(y) is float or type(y) is int:
            other = y
        else:
            return general(x, y)
        if spec.is_plain:
            payload = kernel(x._data, other)
        elif spec.is_real:
            payload = meter_kernels(op).large(x._data, other)
        else:
            return general(x, y)
        # path: eager without recording
        result = Tensor()
        result._data = payload if type(payload) is ndarray else np.asarray(payload)
        result._spec = spec
        result._node = result._counter = result._extra = result._meta = None
        return result

    return untracked


def _code_of(function: Any) -> CodeType:
    return function.__code__


# The first call makes the fast path, unless it is one inside of a trace, or of transforms that have no use for it: most
# functions that are compiled never run in another way.


def _unary_stub(x, /, out=None):
    modes = current()
    is_other = modes.usual is not switch.normal and (modes.trace is not None or modes.transforms)
    if is_other and type(x) is Tensor and out is None:
        if modes.transforms:
            return inside(x, modes)  # type: ignore[name-defined]  # noqa: F821
        found = modes.trace.elementwise_again(op, (x,), modes)  # type: ignore[name-defined]  # noqa: F821
        return general(x) if found is None else found  # type: ignore[name-defined]  # noqa: F821
    compile_now()  # type: ignore[name-defined]  # noqa: F821
    try:
        return call(x, out)  # type: ignore[name-defined]  # noqa: F821
    except Exception as error:
        failed(error, op, (x,))  # type: ignore[name-defined]  # noqa: F821
        raise


def _binary_stub(x, y, /, out=None):
    modes = current()
    is_other = modes.usual is not switch.normal and (modes.trace is not None or modes.transforms)
    if is_other and out is None:
        if modes.transforms:
            return inside(x, y, modes)  # type: ignore[name-defined]  # noqa: F821
        found = modes.trace.elementwise_again(op, (x, y), modes)  # type: ignore[name-defined]  # noqa: F821
        return general(x, y) if found is None else found  # type: ignore[name-defined]  # noqa: F821
    compile_now()  # type: ignore[name-defined]  # noqa: F821
    try:
        return call(x, y, out)  # type: ignore[name-defined]  # noqa: F821
    except Exception as error:
        failed(error, op, (x, y))  # type: ignore[name-defined]  # noqa: F821
        raise


_STUBS = (_code_of(_unary_stub), _code_of(_binary_stub))


# The same inside the body of a reverse transform (bench/transforms.py).


def is_heavy(x: Tensor) -> bool:
    """Is there more to a tensor than an array, and a history that depends on transforms?"""
    extra = x._extra
    return extra is not None and bool(
        type(x._data) is not ndarray
        or extra.view is not None
        or extra.forward is not None
        or extra.output_nr
        or extra.inference
        or extra.readonly
    )


def living(x: Tensor) -> Any:
    """The node behind a tensor if somebody still asks for its derivative."""
    extra = x._extra
    return x._node if extra is None or extra.deps is None or is_live(extra.deps) else None


def finish(result: Tensor, node: Any, x: Any, y: Any = None) -> None:
    """Say what the result of a recorded call depends on, and that it was made here."""
    if result._counter is None:
        result._counter = dated_counter()
    first, second = node.next if len(node.next) == 2 else (node.next[0], None)
    node.operand_deps = None
    if first is None:
        deps = _deps(y)
    elif second is None:
        deps = _deps(x)
    else:
        deps, other = _deps(x), _deps(y)
        if other is not deps:
            node.operand_deps = (deps, other)
            deps = union((deps, other))
    node.deps = deps
    # path: elementwise in a transform
    if deps is not None:
        result._extra = extra = Extra()
        extra.deps = deps


def _deps(x: Tensor) -> Deps:
    extra = x._extra
    return None if extra is None else extra.deps


def with_tokens(op: Op, general: Callable[..., Any]) -> Callable[..., Any]:
    """The general function of an elementwise op, with the fast path inside reverse transforms before it."""
    scope: dict[str, Any] = {
        **_SHARED, "op": op, "kernel": op.kernel, "kernels": kernels_of(op), "general": general, "unusual": general,
        "dated_counter": dated_counter, "finish": finish, "is_heavy": is_heavy, "living": living,
        "observers": observers,
    }  # fmt: skip
    scope["large"] = large_function(op, _code(op, Variant("transform", "large")), scope, lambda: large_node_classes(
        op, op.fast_rules or (), TokenNode, metered_pull
    ))  # fmt: skip
    made: list[Callable[..., Any]] = []

    def call(*operands: Any, out: Any = None) -> Any:
        if out is None and current().records:
            if not made:
                scope["Saved"], scope["Loose"] = token_node_classes(op, op.fast_rules or ())
                made.append(FunctionType(_code(op, Variant("transform"))(), scope, op.name, (None,)))
            return made[0](*operands)
        return general(*operands) if out is None else general(*operands, out=out)

    return call
