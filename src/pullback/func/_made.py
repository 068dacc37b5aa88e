"""What transforms return: functions that remember what they were made of, so that they can be pickled.

    @made_by(grad, function, argnums, has_aux)
    def transformed(*args, **kwargs): ...

looks like `function`, as with `functools.wraps`, and pickles as `grad(function, argnums, has_aux)`: it is made again
on the other side. Pickle knows plain functions by name only, and a function in a function has none; so these are
objects of a class, one of `functools.partial`'s because these are called by C, in 60 ns as the function itself;
with a `__call__` of its own it would be 120.
"""

from __future__ import annotations

import copyreg
import functools
import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any

from pullback._sites import told
from pullback.core.pickling import check_importable, global_name

_WHAT = {
    "grad": "gradient", "grad_and_value": "gradient and value", "value_and_grad": "value and gradient",
    "jacrev": "Jacobian", "jacfwd": "Jacobian", "jacobian": "Jacobian", "sparse_jacobian": "sparse Jacobian",
    "sparse_hessian": "sparse Hessian", "_product_of": "products with the Hessian", "vmap": "vectorized form",
}  # fmt: skip
"""What is made of a function, by who makes it, for the first line of its documentation."""
_SHOWN = tuple(name for name in functools.WRAPPER_ASSIGNMENTS if name != "__doc__")


class Transformed(functools.partial):
    """A function that was made of another one."""

    recipe: tuple[Any, ...]  # who made it, of what, and with which further arguments

    def __reduce__(self) -> Any:
        """By its name if it is a global, as a decorator makes it; otherwise what it was made of."""
        name = global_name(self)
        if name is not None:
            return name
        check_importable(self.recipe[1], f"what {self.recipe[0].__name__} made")
        return _nothing_yet, (), self.recipe  # which comes behind the object itself: it may refer to it

    def __setstate__(self, recipe: Any) -> None:
        make, function, args, kwargs = recipe
        made = make(function, *args, **kwargs)
        super().__setstate__((made.func, (), {}, made.__dict__))  # type: ignore[misc]

    def __copy__(self) -> Transformed:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Transformed:
        return self  # as functions are

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        make, function, _, _ = self.recipe
        return f"<{make.__name__} of {getattr(function, '__qualname__', None) or repr(function)}>"

    @property
    def __doc__(self) -> str | None:
        if "_doc" in self.__dict__:
            return self._doc
        steps, function = [], self
        while isinstance(function, Transformed):
            what = _WHAT.get(function.recipe[0].__name__)
            steps += [what] if what else []
            function = function.recipe[1]
        own = inspect.cleandoc(getattr(function, "__doc__", None) or "")
        name = getattr(function, "__name__", None)
        if not steps or name is None:
            return own or None
        first = " of the ".join(steps)
        return f"{first[0].upper()}{first[1:]} of `{name}`.\n\n{own}".rstrip()

    @__doc__.setter
    def __doc__(self, doc: str | None) -> None:
        self._doc = doc

    def seen_by(self, see: Callable[[Any], Any]) -> Any:
        """The same with the function as a trace sees it, of which it becomes a part."""
        return see(self.func)


def made_by(
    make: Callable[..., Any], function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Callable[[Callable[..., Any]], Any]:
    """A decorator for the function that `make(function, *args, **kwargs)` returns."""
    check_function(make.__name__, function)

    def of_body(body: Callable[..., Any]) -> Transformed:
        made = Transformed(body)
        functools.update_wrapper(made, function, assigned=_SHOWN)
        made.__dict__.pop("_doc", None)  # a text that was given to the function is not about this one
        made.recipe = (make, function, args, kwargs)
        return made

    return of_body


def check_function(who: str, given: Any) -> None:
    """Raise if something else is in the place of the function."""
    if not callable(given):
        fix = f"write {who}(f)(x), with f a function of the arguments"
        if hasattr(given, "shape"):
            fix += "; of what is computed already, pb.autograd.grad(y, x) is the gradient, or y.backward()"
        raise told(TypeError(f"{who} takes a function, and was given an object of {type(given).__name__}"), fix=fix)


def reduced(value: Any) -> Any:
    """How an object with attributes is pickled: by its name if it is a global, as a decorator makes it."""
    name = global_name(value)
    return name if name is not None else (copyreg.__newobj__, (type(value),), value.__dict__)  # type: ignore[attr-defined]


def _nothing_yet() -> Transformed:
    return Transformed(_unfinished)


def _unfinished(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("a function that is being unpickled was called")


class _Kept(functools.partial):
    """A function that holds what was recorded here."""

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self.func.__name__} cannot be pickled: it holds what was recorded in this process; send the inputs "
            "instead, and call pb.func.vjp or pb.func.linearize there"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> _Kept:
        return self

    def seen_by(self, see: Callable[[Any], Any]) -> Any:
        """The same as a trace sees it."""
        return see(self.func)


def kept_here(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which holds a graph, and refuses to be pickled."""
    return functools.update_wrapper(_Kept(function), function)
