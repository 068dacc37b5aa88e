"""`effect_op` and `debug_print`: operators that do something besides computing, also when compiled code runs.

Python's own effects happen while a function is traced, once. An operator with an ordered effect is a node of the graph
that is never dropped, merged, moved past another one or computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pullback.library._custom_op import custom_op
from pullback.tensors.tensor import Tensor


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
