"""Tensors as NumPy arrays and Python numbers.

A gradient must not be lost without notice. An *attached* tensor (it requires grad and grad mode is on, or it carries a
tangent) does not become an array: `!NUMPY_ON_GRAD`. One number of it may be taken out on purpose, with `item()`,
`tolist()`, `int()` or `bool()`; `float()` and `complex()` warn, since they are also what `math.sin(x)` calls, and are
refused where a library calls them: no user asked for that number. And `array[i] = x`, which NumPy turns into
`float(x)`, is refused like any other conversion to an array. docs/design/where-gradients-end.md has the whole list.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.autograd import grad
from pullback.core.doors import leave
from pullback.core.frames import is_own, user_place, warn, who_asks
from pullback.core.spec import describe
from pullback.core.state import current, open_levels
from pullback.errors import AutogradError, DetachedScalarWarning
from pullback.operators import functions
from pullback.payloads.array_members import ArrayMembers
from pullback.payloads.kinds import has_kind
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import requires_grad
from pullback.tape.modes import enable_grad
from pullback.tape.tensor_members import here
from pullback.tape.transform.interception import number_taken
from pullback.tensors.tensor import Tensor, to_outside

Array = np.ndarray[Any, Any]

_STORE_ITEM = dis.opmap["STORE_SUBSCR"]


def is_attached(tensor: Tensor) -> bool:
    """Would turning this tensor into an array lose a derivative?"""
    return bool(open_levels and live_levels((tensor,))) or (current().grad and requires_grad(tensor))


def payload_of(tensor: Tensor, into: str = "a NumPy array") -> Array:
    """The ndarray behind a tensor, whether or not it is attached; refused for values that only exist symbolically."""
    payload = here(tensor)._data
    if isinstance(payload, ArrayMembers):
        return payload.plain_values(into)
    to_numpy = getattr(payload, "to_numpy", None)
    if to_numpy is not None:
        return np.asarray(to_numpy())
    if has_kind(payload):
        raise TypeError(
            f"a {type(payload).__name__} {describe(tensor.shape, tensor.dtype)} cannot become {into}: it is no array, "
            "and its class has no method to_numpy(); x.payload has its parts"
        )
    if type(payload) is not np.ndarray:
        raise TypeError(
            f"a {type(payload).__name__} {describe(tensor.shape, tensor.dtype)} cannot become {into}: it stands for "
            "values that a transform has not computed one by one; use pb functions inside of it"
        )
    return payload


def detached_payload(tensor: Tensor, into: str = "a NumPy array") -> Array:
    """The ndarray behind a tensor that is not attached."""
    payload = here(tensor)._data
    has_values = not hasattr(payload, "refused") or hasattr(payload, "taken")  # a trace may give one number of them
    if has_values and is_attached(tensor):
        raise lost_gradient(tensor, into)
    return payload_of(tensor, into)


def lost_gradient(tensor: Tensor, into: str) -> AutogradError:
    """The error for an attached tensor that is about to become `into`."""
    if live_levels((tensor,)):
        return AutogradError(
            "NUMPY_ON_DUAL",
            f"a tensor {describe(tensor.shape, tensor.dtype)} that carries a tangent cannot become {into}",
            why="a NumPy array carries no tangent, so the derivative would be lost without notice",
            fix="use x.detach().numpy() if that is intended, or pb functions to keep the tangent",
        )
    asker = scipy_function(sys._getframe(1))
    if asker:
        return _lost_in_scipy(asker)
    library, is_vectorize = _asking_library(sys._getframe(1))
    by = f"; {library} asked for it" if library else ""
    fix = (
        "use pb functions (pb.zeros for what is filled, pb.stack for a list), or run the code as pb.func.adapt(f); "
        "x.detach() if no gradient is wanted"
    )
    if library in ("pandas", "polars"):
        fix = "write the tensor first, x * series or x @ frame; x.detach() if no gradient is wanted"
    return AutogradError(
        "NUMPY_ON_GRAD",
        f"a tensor {describe(tensor.shape, tensor.dtype)} that requires grad cannot become {into}{by}",
        why="a NumPy array carries no gradient, so the derivative would be lost without notice",
        fix="np.vectorize calls a function with plain numbers: use pb.func.vmap(f)(x)" if is_vectorize else fix,
    )


def _asking_library(frame: FrameType | None) -> tuple[str, bool]:
    """The library that asks for an array, if it is not the user's own code, and whether it is `np.vectorize`."""
    is_vectorize = False
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        package = module.partition(".")[0]
        if package == "numpy":
            is_vectorize = is_vectorize or frame.f_code.co_qualname.startswith("vectorize.")
        elif package != "pullback":
            is_installed = "site-packages" in frame.f_code.co_filename or "dist-packages" in frame.f_code.co_filename
            return (package if is_installed else ""), is_vectorize
        frame = frame.f_back
    return "", is_vectorize


def lost_in_library(tensor: Tensor, caller: FrameType) -> AutogradError:
    """The error for an attached tensor of which a library is about to take the number: a setting of a function of
    ours, or what a callback returned to a function of SciPy's."""
    module, name = caller.f_globals.get("__name__", ""), caller.f_code.co_name
    if module.startswith("pullback"):
        frame: FrameType | None = caller
        # The outermost of the operators; what leads to them from NumPy is none.
        while frame is not None and frame.f_globals.get("__name__", "").startswith("pullback"):
            # A function that a module defines, and no wrapper around it.
            if frame.f_globals["__name__"].startswith("pullback.operators") and frame.f_code.co_name in frame.f_globals:
                name = frame.f_code.co_name
            frame = frame.f_back
        return AutogradError(
            "NO_DERIVATIVE",
            f"pb.{name} has no derivative by an argument that requires grad: it is used as a number",
            why="no derivative would flow through that number",
            fix="give argument.item() if none is wanted, or write the function with operators",
        )
    return _lost_in_scipy(scipy_function(caller) or f"{module.rpartition('._')[0] or module}.{name}")


def scipy_function(frame: FrameType | None) -> str:
    """The function of SciPy's that somebody called and that led here, with its public module; "" if there is none."""
    found = ""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        package = module.partition(".")[0]
        if package == "scipy":
            if frame.f_code.co_name in frame.f_globals:  # a function that a module defines, and no wrapper around it
                found = f"{module.partition('._')[0]}.{frame.f_code.co_name}"
            else:
                found = _owner(frame.f_locals.get("self")) or found
        elif package not in ("pullback", "numpy") or found:
            break
        frame = frame.f_back
    return found


def _owner(value: Any) -> str:
    """The public name of a class of SciPy's, or of a distribution, one of whose methods runs; "" for others."""
    module = type(value).__module__.partition("._")[0]
    names = dir(sys.modules[module]) if module.startswith("scipy.") else []
    return next((f"{module}.{n}" for n in (type(value).__name__, getattr(value, "name", "")) if n and n in names), "")


def _lost_in_scipy(name: str) -> AutogradError:
    return AutogradError(
        "SCIPY_ON_GRAD",
        f"{name} takes the number out of a tensor that requires grad",
        why="SciPy computes with plain numbers, so the derivative would be lost without notice",
        fix=f"use pb.{name}, which has the same signature and says what differentiates by what (pb.scipy.rule), or "
        "pb.func.adapt around the whole program; detach() what the result does not depend on",
    )


def numpy(tensor: Tensor, *, force: bool = False) -> Array:
    """The tensor's memory as an ndarray.

    Writes through it are not counted; say so with `pb.autograd.graph.increment_version`. With `force=True` a tensor
    that requires grad is detached first, and otherwise refused.
    """
    payload_of(tensor) if force else detached_payload(tensor)  # refuses what cannot be handed out
    to_outside(tensor)
    return _shared(tensor, payload_of(tensor) if force else detached_payload(tensor))


def payload(tensor: Tensor) -> Any:
    """What a constant tensor computes with: the payload that it was wrapped around or has got, or its array, which may
    be another library's."""
    found = here(tensor)._data
    if not has_kind(found):
        return numpy(tensor)
    if is_attached(tensor):
        raise lost_gradient(tensor, "a payload")
    return found.array if hasattr(found, "downloaded") else found


def _shared(tensor: Tensor, payload: Array) -> Array:
    """The memory as it is handed out: what was only lent stays read-only."""
    if tensor._extra is not None and tensor._extra.readonly:
        payload = payload.view()
        payload.flags.writeable = False
    return payload


def to_array(tensor: Tensor, dtype: Any = None, copy: bool | None = None) -> Array:
    """What `np.asarray(tensor)` calls. Memory is shared unless `dtype` or `copy` ask for a copy.

    Whole numbers and truth values have no derivative to lose, so `np.int64(x)` and `np.asarray(x, int)` are allowed.
    """
    if dtype is None and "scipy.sparse" in sys.modules and _is_left_to_the_tensor(tensor, sys._getframe(1)):
        return _opaque(tensor)
    is_whole = dtype is not None and np.dtype(dtype).kind in "biu" and not _stores_an_item(sys._getframe(1))
    if not copy:
        payload_of(tensor) if is_whole else detached_payload(tensor)  # refuses what cannot be handed out
        to_outside(tensor)
    payload = _shared(tensor, payload_of(tensor) if is_whole else detached_payload(tensor))
    if dtype is not None and np.dtype(dtype) != payload.dtype:
        if copy is False:
            raise ValueError(f"a tensor of dtype {payload.dtype} cannot become {np.dtype(dtype)} without a copy")
        return payload.astype(dtype)
    return payload.copy() if copy else payload


def mask(tensor: Tensor) -> Any:
    """No tensor has one. Functions of `np.ma` ask for it, and take the numbers from `_data`, whatever that is of: what
    cannot be handed out to NumPy is refused here."""
    detached_payload(tensor)
    raise AttributeError("_mask")


_OPERATORS = frozenset(f"__{name}__" for name in ("mul", "rmul", "add", "radd", "sub", "rsub", "truediv"))


def _is_left_to_the_tensor(tensor: Tensor, frame: FrameType | None) -> bool:
    """Does a sparse matrix of SciPy's ask, in an operator that has another side? Arrays it computes with itself."""
    if frame is not None and frame.f_code.co_name == "_matmul_dispatch":
        return True
    if type(here(tensor)._data) is np.ndarray and not is_attached(tensor):
        return False
    while frame is not None and frame.f_globals.get("__name__", "").startswith("scipy.sparse"):
        if frame.f_code.co_name in _OPERATORS:
            return True
        frame = frame.f_back
    return False


def _opaque(tensor: Tensor) -> Array:
    """What is no array for SciPy's sparse matrices, which then leave a product to `Tensor.__rmatmul__`."""
    out = np.empty((), object)
    out[()] = tensor
    return out


def item(tensor: Tensor, *index: Any) -> Any:
    """The only element as a Python number, or the element at `index`."""
    if not index and tensor.size == 1 and (number := _number_of_trace(tensor, sys._getframe(1))) is not None:
        return number
    payload = payload_of(tensor, "a Python number")
    if current().transforms:
        _note_number()
    try:
        return payload.item(*index) if index else _only_element(tensor, payload, "item()").item()
    except Exception as error:
        leave(error, item)
        raise


def _number_of_trace(tensor: Tensor, caller: FrameType) -> Any:
    """What the user's code gets in a trace that computes with numbers taken out of tensors; None elsewhere."""
    taken = getattr(here(tensor)._data, "taken", None)
    return None if taken is None or is_own(who_asks(caller).f_code.co_filename) else taken()


def tolist(tensor: Tensor) -> Any:
    """The elements as Python numbers in nested lists."""
    if tensor.is_nested:
        return tensor._data.tolist()
    return payload_of(tensor, "a list").tolist()


def to_float(tensor: Tensor) -> float:
    """`float(tensor)`."""
    value = _only_element(tensor, payload_of(tensor, "a float"), "float()")
    _leave_the_graph(tensor, sys._getframe(1))
    if value.dtype.kind == "c":
        raise told(TypeError("a complex tensor cannot become a float"), fix="take x.real or abs(x)")
    return float(value)


def to_complex(tensor: Tensor) -> complex:
    """`complex(tensor)`."""
    value = _only_element(tensor, payload_of(tensor, "a complex number"), "complex()")
    _leave_the_graph(tensor, sys._getframe(1))
    return complex(value)


def to_int(tensor: Tensor) -> int:
    """`int(tensor)`."""
    if is_attached(tensor) and _stores_an_item(sys._getframe(1)):
        raise lost_gradient(tensor, "an element of a NumPy array")
    value = _only_element(tensor, payload_of(tensor, "an int"), "int()")
    if value.dtype.kind == "c":
        raise told(TypeError("a complex tensor cannot become an int"), fix="take x.real or abs(x)")
    return int(value)


def to_bool(tensor: Tensor) -> bool:
    """`bool(tensor)`."""
    if "scipy" in sys.modules:
        _refuse_to_decide(sys._getframe(1))
    payload = payload_of(tensor, "a truth value")
    if payload.size != 1:
        raise told(
            ValueError(f"the truth value of a tensor of shape {list(tensor.shape)} is ambiguous"),
            why="some of its elements may hold and others not", fix="use x.any() or x.all()",
        )  # fmt: skip
    return bool(payload)


def to_index(tensor: Tensor) -> int:
    """What `sequence[tensor]` and `range(tensor)` call."""
    if tensor.dtype.kind not in "iu" or tensor.size != 1:
        shown = describe(tensor.shape, tensor.dtype)
        raise told(TypeError(f"only a tensor with one integer is an index, and this one is {shown}"))
    return int(payload_of(tensor, "an index").item())


def length(tensor: Tensor) -> int:
    """The length of the first axis."""
    if not tensor.ndim:
        raise told(TypeError("len() of a tensor without axes"), fix="x.size is 1; pb.atleast_1d(x) has an axis")
    return tensor.shape[0]


def contains(tensor: Tensor, value: Any) -> bool:
    """Is some element equal to `value`?"""
    payload = payload_of(tensor, "a truth value")
    return bool(np.any(payload == (payload_of(value) if isinstance(value, Tensor) else value)))


def _only_element(tensor: Tensor, payload: Array, what: str) -> Any:
    if payload.size != 1:
        raise told(
            ValueError(f"{what} needs a tensor with one element, and this one has shape {list(tensor.shape)}"),
            fix="choose one of them, x[0], or reduce them, x.sum(); x.tolist() has all",
        )
    return payload.reshape(())[()]


def _note_number() -> None:
    """Remember where a number was taken, for the error of a transform whose function returns it."""
    place = user_place()
    if place is not None:
        current().transforms[-1].number_site = f"{place[0]}:{place[1]}"


# Their own code, and what is compiled of it, takes numbers where a user who differentiates gave a tensor.
_TAKE_NUMBERS = ("pullback", "scipy")


def _leave_the_graph(tensor: Tensor, caller: FrameType) -> None:
    if not is_attached(tensor):
        return
    if _stores_an_item(caller):
        raise lost_gradient(tensor, "an element of a NumPy array")
    if caller.f_globals.get("__name__", "").partition(".")[0] in _TAKE_NUMBERS:
        raise lost_in_library(tensor, caller)
    if current().transforms:
        _note_number()
    number_taken()
    warn(
        "a number was taken out of a tensor that requires grad or carries a tangent, and no derivative flows through "
        "it; write x.item() if that is intended, or use pb functions (pb.sin(x), not math.sin(x))",
        DetachedScalarWarning,
    )


def _refuse_to_decide(caller: FrameType) -> None:
    """Raise if a solver of SciPy's decides by the values of an attached tensor: when it stops, or which way it goes.

    What it returns need not depend on that tensor then, as the end of a golden section does not.
    """
    if not is_solver(caller):
        return
    for value in caller.f_locals.values():
        if isinstance(value, Tensor) and is_attached(value) and caller.f_code.co_name != "fixed_quad":
            raise lost_in_library(value, caller)


def is_solver(caller: FrameType) -> bool:
    """Is this code of SciPy's solvers and integrators?"""
    name: str = caller.f_globals.get("__name__", "")
    return name.startswith(("scipy.optimize", "scipy.integrate"))


def _stores_an_item(caller: FrameType) -> bool:
    """Is the caller at `array[i] = tensor`? NumPy then asks for a number, and nothing else tells what it is for."""
    return caller.f_code.co_code[caller.f_lasti] == _STORE_ITEM


MEMBERS: dict[str, Any] = {
    "numpy": numpy,
    "payload": property(payload),
    "item": item,
    "tolist": tolist,
    "__array__": to_array,
    "_mask": property(mask),
    "__float__": to_float,
    "__complex__": to_complex,
    "__int__": to_int,
    "__bool__": to_bool,
    "__index__": to_index,
    "__len__": length,
    "__contains__": contains,
    # For legacy ndarray subclasses; others are led here by __array_ufunc__.
    "__array_priority__": 1000,
    # More than a frame's: `series * x` is asked of the tensor, as `array * x` is.
    "__pandas_priority__": 5000,
}


# For SciPy's optimizers, which want a number and an array of derivatives.

def scipy_value_and_grad(
    function: Callable[..., Any],
) -> Callable[..., tuple[float, np.ndarray[Any, np.dtype[np.float64]]]]:
    """A loss as `scipy.optimize.minimize(..., jac=True)` wants it: of an array, giving a float and the gradient.

        scipy.optimize.minimize(pb.scipy_value_and_grad(loss), x0, jac=True)

    `loss` gets a Tensor of float64 with the shape of the array, and returns one real number. Other arguments are passed
    on. Where the result does not depend on `x` the gradient is 0.

    >>> fun = pb.scipy_value_and_grad(lambda x: (x * x).sum())
    >>> value, gradient = fun(np.array([1.0, 2.0]))
    >>> value, gradient.tolist()
    (5.0, [2.0, 4.0])
    """

    @functools.wraps(function)
    def value_and_grad(x: Any, /, *args: Any, **kwargs: Any) -> tuple[float, np.ndarray[Any, np.dtype[np.float64]]]:
        # A copy, because optimizers write the next point into the same array.
        with enable_grad():
            point = functions["tensor"](np.array(x, np.float64), requires_grad=True)
            value = function(point, *args, **kwargs)
            if not isinstance(value, Tensor) or not value.requires_grad:
                return float(value), np.zeros(point.shape)
            if value.size != 1 or value.dtype.kind == "c":
                raise ValueError(
                    f"scipy_value_and_grad: the function must return one real number, got {value.dtype} of shape "
                    f"{list(value.shape)}"
                )
            (gradient,) = grad(value.reshape(()), point, allow_unused=True)
        return float(value.detach()), np.zeros(point.shape) if gradient is None else gradient.detach().numpy()

    return value_and_grad
