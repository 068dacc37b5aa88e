"""`effect_op` and `debug_print`: operators that do something besides computing, also when compiled code runs.

Python's own effects happen while a function is traced, once. An operator with an ordered effect is a node of the graph
that is never dropped, merged, moved past another one or computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core.pytree import flatten, unflatten
from pullback.core.spec import describe
from pullback.core.state import current, open_levels
from pullback.library._define import custom_op
from pullback.library._errors import FakeMismatchError
from pullback.library._fake import ShapeDtype
from pullback.library._operator import CustomOpDef
from pullback.library._schema import Schema
from pullback.library._slots import registered_at
from pullback.payloads.batched import levels_of
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, as_constant, wrap


def effect_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Iterable[str] | str = ()) -> Any:
    """A custom operator with an ordered effect; see `pb.library.custom_op`. Serves as a decorator.

    Its fake says that the result looks like the first argument; another one can be given with `register_fake`.

    >>> seen = []
    >>> @pb.aot.effect_op("mine::noted")
    ... def noted(x: np.ndarray) -> np.ndarray:
    ...     seen.append(x.sum())
    ...     return x.copy()
    >>> f = pb.compile(lambda x: noted(x) * 2)
    >>> f(pb.ones(3)), f(pb.ones(4))
    (tensor([2., 2., 2.]), tensor([2., 2., 2., 2.]))
    >>> seen
    [np.float64(3.0), np.float64(4.0)]
    """
    if fn is None:
        return lambda function: effect_op(name, function, mutates_args=mutates_args)
    made = custom_op(name, fn, mutates_args=mutates_args)
    made.register_fake(_like_first)
    made.register_effect("ordered")
    return made


def _like_first(x: Any, *others: Any, **keywords: Any) -> Any:
    return x.new_empty(x.shape) if hasattr(x, "new_empty") else np.empty(x.shape, x.dtype)


def debug_print(message: str, x: Any) -> Tensor:
    """`x` itself, printed whenever it is computed: `{}` in the message stands for it. Gradients go through.

    >>> f = pb.compile(lambda x: pb.aot.debug_print("x is {}", x * 2) + 1)
    >>> f(pb.tensor([1.0, 2.0]))
    x is [2. 4.]
    tensor([3., 5.])
    """
    if not isinstance(message, str):
        raise TypeError(f"debug_print: the message is a str, got {type(message).__name__}")
    return _debug_print(x, message)


def _printed(x: np.ndarray, message: str) -> np.ndarray:
    print(message.format(x))
    return x.copy()


_debug_print = effect_op("debug::print", _printed)
_debug_print.register_autograd(lambda ctx, g: (g, None))
_debug_print.register_jvp(lambda ctx, t, _: t)


# `pure_callback` and `io_callback`: NumPy code in the middle of a computation, without a definition of its own.
#
# A callback is an operator without name: the same call, the same batching, no derivative.

_SCHEMA = Schema((), (), False, is_dynamic=True, text="(Any *args) -> Any")


def pure_callback(fn: Callable[..., Any], result: Any, *args: Any, vmap_method: str | None = None) -> Any:
    """Call `fn` with the arguments as NumPy arrays; its results must be as `result` says.

    `result` is a `pb.ShapeDtype`, or a nested container of them. `fn` must be a pure function: it may be called more
    than once, or not at all. It has no derivative. `vmap_method` says what to do inside `vmap`: `"sequential"`,
    `"expand_dims"` or `"broadcast_all"`.

    >>> pb.library.pure_callback(np.sort, pb.ShapeDtype(3), pb.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """
    return _call("pure_callback", fn, result, args, vmap_method, has_effects=False)


def io_callback(fn: Callable[..., Any], result: Any, *args: Any, ordered: bool = True) -> Any:
    """Call `fn`, which has effects, with the arguments as NumPy arrays; its results must be as `result` says.

    It is called exactly once, and with `ordered` in the order of the program. `result` may be None.

    >>> pb.library.io_callback(lambda x: print(x.sum()), None, pb.tensor([3.0, 1.0]))
    4.0
    """
    return _call("io_callback", fn, result, args, "sequential", has_effects=True, ordered=ordered)


def _call(
    who: str, fn: Any, result: Any, args: Sequence[Any], vmap_method: str | None, has_effects: bool,
    ordered: bool = False,
) -> Any:  # fmt: skip
    if not callable(fn):
        raise TypeError(f"{who}: {fn!r} is not callable")
    trace = current().trace
    if trace is not None:
        fn = trace.outward(fn)
    expected, structure = ([], None) if result is None else flatten(result)
    for each in expected:
        if not isinstance(each, ShapeDtype):
            raise TypeError(f"{who}: the result is described by pb.ShapeDtype, got {type(each).__name__}")
    tensors = [as_constant(x) for x in args]
    name = getattr(fn, "__qualname__", type(fn).__name__)
    is_watched = current().grad and any(requires_grad(x) for x in tensors)
    if is_watched or (open_levels and live_levels(tensors)):
        raise RuntimeError(
            f"{who}: an argument of {name} is differentiated, and a callback has no derivative: use primitive, and "
            "give it one"
        )
    if vmap_method is None and any(levels_of(x._data) for x in tensors):
        raise NotImplementedError(f"{who}: {name} is called inside vmap, and no vmap_method says what that means")
    ranks = [x.ndim for x in tensors]

    def batch_shape(arrays: Sequence[Any]) -> tuple[int, ...]:
        return np.broadcast_shapes(*(a.shape[: a.ndim - rank] for a, rank in zip(arrays, ranks, strict=True)))

    def fake(*arrays: Any) -> tuple[Any, ...]:
        lead = batch_shape(arrays)
        return tuple(wrap(np.empty((*lead, *each.shape), each.dtype)) for each in expected)

    def kernel(*arrays: Any) -> tuple[Any, ...]:
        returned = fn(*arrays)
        if structure is None:
            return ()
        leaves, got = flatten(returned)
        if got != structure:
            raise FakeMismatchError(f"{who}: {name} returned {got}, but {structure} was promised")
        lead = batch_shape(arrays)
        return tuple(_checked(who, name, leaf, each, lead) for leaf, each in zip(leaves, expected, strict=True))

    definition = CustomOpDef(f"callback::{who}", _SCHEMA, kernel, frozenset(), "nondiff", registered_at())
    definition.signature = None
    definition.register_kernel(None, kernel)
    definition.register_fake(fake)
    if vmap_method is not None:
        definition.register_vmap(vmap_method)
    if has_effects:
        definition.effect = ("ordered" if ordered else "unordered", registered_at())
    flat = definition(*tensors)
    return None if structure is None else unflatten(structure, flat)


def _checked(who: str, name: str, value: Any, expected: ShapeDtype, lead: tuple[int, ...]) -> Any:
    array = np.asarray(value._data if isinstance(value, Tensor) else value)
    shape = (*lead, *expected.shape)
    if array.shape != shape or array.dtype != expected.dtype:
        raise FakeMismatchError(
            f"{who}: {name} returned {describe(array.shape, array.dtype)}, but {describe(shape, expected.dtype)} was "
            "promised"
        )
    return array
