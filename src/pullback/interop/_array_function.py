"""`__array_function__`: NumPy's other functions on tensors.

`np.sum(x)` becomes `pb.sum(x)`: a function of NumPy goes to the Pullback function of its name, with the arguments read
by NumPy's signature, so that NumPy's positional calls and names (`ddof`, `a_min`) are understood. Where Pullback has
no such function, NumPy computes on plain arrays if no derivative is asked for; otherwise the call is refused.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pullback.declare.composite import composites
from pullback.eager.build import own_value
from pullback.interop._conversion import is_attached, is_solver, lost_gradient, payload_of
from pullback.interop._numpy_forms import FORMS
from pullback.interop._ufuncs import (
    Function,
    assign,
    cast,
    prepare_write,
    refuse_arrays,
    refuse_attached,
    tensors_in,
    with_payloads,
    with_tensors,
)
from pullback.operators import LATER, functions
from pullback.operators.arguments import plain, tensor_from
from pullback.operators.loading import load_family
from pullback.operators.public import namespace
from pullback.tape.history import bump_version
from pullback.tensors.tensor import Tensor, as_constant

# `np.emath` on tensors: real arguments outside of a function's domain become complex, and then it is applied.
#
# Whether they are outside depends on values, so these are for eager code only.

def _complex_where(name: str, x: Any, is_outside: Callable[[Any], Any]) -> Any:
    """`x`, as complex numbers if it is real and an element is outside of the domain."""
    x = tensor_from(x)
    if x.dtype.kind == "c" or not np.any(is_outside(plain(f"np.emath.{name}", x))):
        return x
    return functions["astype"](x, np.complex64 if x.dtype.char in "fbhBH" else np.complex128)


def _is_negative(values: Any) -> Any:
    return values < 0


def _is_beyond_one(values: Any) -> Any:
    return np.abs(values) > 1


def _extended(name: str, is_outside: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return functions[name](_complex_where(name, x, is_outside))

    function.__name__ = name
    return function


def logn(n: Any, x: Any) -> Any:
    """The logarithm of `x` to base `n`."""
    log = EMATH["log"]
    return log(x) / log(n)


def power(x: Any, p: Any) -> Any:
    """`x ** p`."""
    p = tensor_from(p)
    if p.dtype.kind in "iu" and bool((plain("np.emath.power", p) < 0).any()):
        p = functions["astype"](p, np.float64)
    return functions["power"](_complex_where("power", x, _is_negative), p)


EMATH: dict[str, Callable[..., Any]] = {
    **{name: _extended(name, _is_negative) for name in ("sqrt", "log", "log2", "log10")},
    **{name: _extended(name, _is_beyond_one) for name in ("arccos", "arcsin", "arctanh")},
    "logn": logn,
    "power": power,
}
"""The functions by their names in `np.emath`."""


# Names that differ, and parameters that do.
RENAMED = {"concatenate": "concat", "amax": "max", "amin": "min", "around": "round", "copy": "clone"}
SYNONYMS = {"a_min": "min", "a_max": "max", "ddof": "correction", "newshape": "shape"}
# What changes how NumPy computes and not what.
IGNORED = {"order", "subok", "kind", "casting", "overwrite_input", "writeable", "device"}

# Answered from shape and dtype, which the values of a batch have as well.
ABOUT_ITS_FORM = {
    "ndim", "result_type", "can_cast", "common_type", "iscomplexobj", "isrealobj",
}  # fmt: skip
# Meant for the eye, or about memory: no derivative is lost, and the answer is not an array.
ABOUT_THE_ARRAY = {"min_scalar_type", "may_share_memory", "shares_memory", "array2string", "array_repr", "array_str"}


def array_function(
    tensor: Tensor, function: Function, types: Sequence[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What NumPy calls when an argument of one of its functions is a Tensor."""
    # A number of a trace is an argument like any other.
    if not all(issubclass(kind, (Tensor, np.ndarray)) or hasattr(kind, "as_tensor") for kind in types):
        return NotImplemented
    name = function.__name__
    if "scipy" in sys.modules and is_solver(sys._getframe(1)):
        attached = next(filter(is_attached, tensors_in((args, kwargs))), None)
        if attached is None:  # `np.atleast_1d(jac(x))`: what it hands to compiled code has to be an array
            return function(*with_payloads(args), **with_payloads(kwargs))
        if sys._getframe(1).f_code.co_name == "_check_func":  # ... which says something else about a tensor
            raise lost_gradient(attached, "a NumPy array")
    if name in ABOUT_ITS_FORM:
        return function(*_with_forms(args), **_with_forms(kwargs))
    if name in ABOUT_THE_ARRAY:
        return function(*with_payloads(args), **with_payloads(kwargs))
    if name in MUTATIONS and is_toplevel(function):
        return mutate(name, function, args, kwargs)
    if next(tensors_in((args, kwargs)), None) is None:
        return with_tensors(function(*args, **kwargs), ())  # a creation function with like=
    result = call_twin(function, args, kwargs)
    return compute_with_numpy(function, args, kwargs) if result is NotImplemented else result


def _with_forms(value: Any) -> Any:
    """An argument with arrays of the same shape and dtype in the place of tensors."""
    if isinstance(value, Tensor):
        return np.broadcast_to(np.zeros((), value.dtype), value.shape)
    if type(value) in (list, tuple):
        return type(value)(_with_forms(part) for part in value)
    return {name: _with_forms(part) for name, part in value.items()} if type(value) is dict else value


def is_toplevel(function: Function) -> bool:
    """Is this `np.name`, and not a function of that name in `np.linalg` or another namespace?"""
    return getattr(np, function.__name__, None) is function


def full_name(function: Function) -> str:
    """How users write the function: `np.linalg.norm`."""
    namespace = "np" if is_toplevel(function) else function.__module__.replace("numpy", "np", 1)
    return f"{namespace}.{function.__name__}"


def compute_with_numpy(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that Pullback does not have, where no derivative would be lost."""
    out = kwargs.get("out")
    targets = [target for target in (out if isinstance(out, tuple) else (out,)) if isinstance(target, Tensor)]
    refuse_attached(full_name(function), (args, kwargs))
    for target in targets:
        prepare_write(target)
    sources = [payload_of(tensor) for tensor in tensors_in((args, kwargs))]
    result = function(*with_payloads(args), **with_payloads(kwargs))
    for target in targets:
        bump_version(target)
    return out if targets else with_tensors(result, sources)


def call_twin(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The Pullback function of this name on these arguments; NotImplemented if there is none that takes them."""
    name = function.__name__
    form = FORMS.get(name)
    if form is not None and is_toplevel(function):
        given, rest = given_arguments(function, args, kwargs)
        out = _taken_out(function, given)
        result = form(*rest, **_own_arrays(given))
        return result if out is None else store(full_name(function), result, out, (args, kwargs))
    twin = twin_of(function)
    if twin is None:
        return NotImplemented
    if name == "where" and len(args) == 1:
        return functions["nonzero"](*args)
    leading, _, names, has_star, _ = accepted_by(twin, name)
    if len(args) <= leading and not has_star and kwargs.keys() <= names:
        return twin(*args, **_own_arrays(kwargs))  # the common call, such as np.sum(x, axis=0), needs no translation
    given, rest = given_arguments(function, args, kwargs)
    out = _taken_out(function, given)
    arguments = place_arguments(twin, function, given, rest)
    if arguments is None:
        return NotImplemented
    positional, named = arguments
    result = twin(*positional, **_own_arrays(named))
    return result if out is None else store(full_name(function), result, out, (args, kwargs))


def _own_arrays(given: dict[str, Any]) -> dict[str, Any]:
    return {name: own_value(value) if type(value) is np.ndarray else value for name, value in given.items()}


def _taken_out(function: Function, given: dict[str, Any]) -> Any:
    """The target of a call, which has a say in what running sums and products are computed in."""
    out = given.pop("out", None)
    if out is not None and function.__name__ in SCANS:
        given.setdefault("dtype", np.result_type(as_constant(given["a"]).dtype, out.dtype))
    return out


def direct_twin(function: Function) -> tuple[Function, int, int, frozenset[str]] | None:
    """The Pullback function that takes calls of a NumPy function as they are, and which: with how many positional
    arguments, at least and at most, and with arguments of which names. None if there is none.

    It is for those who know that nobody else has to be asked; it may say NotImplemented to others.
    """
    name = function.__name__
    if name in ABOUT_ITS_FORM or name in ABOUT_THE_ARRAY or name in MUTATIONS:
        return None
    theirs = parameters_of(function)
    places = [each.name for each in theirs.values() if each.kind in _PLACED and each.name != "out"]
    if name in FORMS and is_toplevel(function):
        if len(places) != len(theirs) - ("out" in theirs):
            return None
        return _in_form(FORMS[name], theirs), 1, len(places), frozenset(places)
    twin = twin_of(function)
    if twin is None:
        return None
    count, ours, names, has_star, _ = accepted_by(twin, name)
    if has_star:
        return None
    for here, there in list(zip(ours, places, strict=False))[count:]:
        if here != SYNONYMS.get(there, there) and here in theirs:
            break
        count += 1
    return twin, 3 if name == "where" else 1, count, names


def _in_form(form: Function, parameters: Mapping[str, inspect.Parameter]) -> Function:
    """A function of `FORMS` as one of positional arguments."""
    places = [(each.name, each.default) for each in parameters.values() if each.name != "out"]

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {name: value for (name, default), value in zip(places, args, strict=False) if value is not default}
        return form(**given, **kwargs)

    return call


@lru_cache(maxsize=1024)
def twin_of(function: Function) -> Function | None:
    """The Pullback function that stands for a NumPy function; None if there is none."""
    name = function.__name__
    if is_toplevel(function) or function.__module__ == "numpy.lib.stride_tricks":
        return functions.get(name) or functions.get(RENAMED.get(name, ""))
    family = function.__module__.removeprefix("numpy.")
    if family == "lib.scimath":
        return EMATH.get(name)
    if family not in LATER:
        return None
    load_family(family)
    return namespace(family).get(name)


def given_arguments(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """The arguments by NumPy's names, without those that are at their default, and those of a starred parameter."""
    parameters = parameters_of(function)
    bound = signature_of(function).bind(*args, **kwargs).arguments
    given: dict[str, Any] = {}
    rest: tuple[Any, ...] = ()
    for name, value in bound.items():
        parameter = parameters[name]
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            rest = tuple(value)
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            given.update(value)
        elif value is not parameter.default:
            given[name] = value
    return given, rest


@lru_cache(maxsize=1024)
def signature_of(function: Function) -> inspect.Signature:
    """How a function is called."""
    return inspect.signature(function)


def parameters_of(function: Function) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function by name."""
    return signature_of(function).parameters


_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def place_arguments(
    twin: Function, function: Function, given: dict[str, Any], rest: tuple[Any, ...]
) -> tuple[list[Any], dict[str, Any]] | None:
    """NumPy's arguments as the twin takes them: positional ones and named ones. None if it does not take them all.

    `rest` are those of a starred parameter: they follow the parameters before the star, and what comes after it is
    named, in NumPy's signature and so in the twin's.
    """
    leading, places, names, has_star, takes_any_name = accepted_by(twin, function.__name__)
    parameters = parameters_of(function)
    numpy_names = list(parameters)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    dtype = None
    for index, (numpy_name, value) in enumerate(given.items()):
        parameter = parameters.get(numpy_name)  # None for one of `**kwargs`
        name = numpy_name if numpy_name in names else SYNONYMS.get(numpy_name, numpy_name)
        is_next = index == len(positional) and not named and parameter is not None and parameter.kind in _PLACED
        place = places[index] if index < len(places) else ""
        # The same place under another name, such as `indices_or_sections`.
        is_same_place = is_next and numpy_names.index(numpy_name) == index and (
            place not in numpy_names if place else has_star
        )
        if is_next and (index < leading or place == name):
            positional.append(value)
        elif name in names:
            named[name] = value
        elif name == "dtype":
            dtype = value
        elif is_same_place:
            positional.append(value)
        elif parameter is None and takes_any_name:
            named[numpy_name] = value
        elif name not in IGNORED:
            return None
    if rest and not has_star:
        return None
    positional += rest
    if dtype is not None:
        casting = given.get("casting", "same_kind" if "casting" in numpy_names else "unsafe")
        positional = [_cast_all(x, dtype, casting) for x in positional]
    return positional, named


def _cast_all(x: Any, dtype: Any, casting: str) -> Any:
    """An argument in the dtype that the computation is to be done in; of a sequence of arrays, all of them."""
    if isinstance(x, (list, tuple)) and any(isinstance(part, (Tensor, np.ndarray)) for part in x):
        return type(x)(cast(part, dtype, casting) if hasattr(part, "dtype") else part for part in x)
    return cast(x, dtype, casting) if isinstance(x, Tensor) else x


@lru_cache(maxsize=1024)
def accepted_by(twin: Function, name: str) -> tuple[int, tuple[str, ...], frozenset[str], bool, bool]:
    """How many arrays a public function takes, its positional parameters, all names, and whether it has one star or
    two."""
    op = getattr(twin, "op", None)
    if op is not None and op.door_rule is None:
        return len(op.operands), op.operands, frozenset(op.params), False, False
    kinds = inspect.Parameter
    parameters = parameters_of(twin).values()
    places = tuple(p.name for p in parameters if p.kind in _PLACED)
    names = frozenset(p.name for p in parameters if p.kind in (kinds.KEYWORD_ONLY, kinds.POSITIONAL_OR_KEYWORD))
    has_star = any(p.kind is kinds.VAR_POSITIONAL for p in parameters)
    takes_any_name = any(p.kind is kinds.VAR_KEYWORD for p in parameters)
    if op is not None:
        return 1, places, names | frozenset(op.params), has_star, takes_any_name
    composite = composites.get(name) or composites.get(RENAMED.get(name, ""))
    leading = max(1, min(composite.arrays, len(places)) if composite else 1)
    return leading, places, names, has_star, takes_any_name


SCANS = {"cumsum", "cumprod", "nancumsum", "nancumprod"}
# Reductions cast to the dtype of `out=`, whatever it is.
CASTING = {
    *(f"np.{name}" for name in SCANS),
    "np.all", "np.any", "np.amax", "np.amin", "np.ptp",
    *(f"np.{nan}{name}" for nan in ("", "nan") for name in ("sum", "prod", "max", "min", "mean", "std", "var")),
}  # fmt: skip


def store(name: str, result: Any, out: Any, arguments: Any) -> Any:
    """Write a result into `out=`."""
    if isinstance(out, tuple):
        (out,) = out
    if tuple(out.shape) != tuple(result.shape):
        raise ValueError(f"{name}: out= has shape {list(out.shape)}, but the result has {list(result.shape)}")
    refuse_arrays(name, arguments, (out,))
    casting: Any = "unsafe" if name in CASTING else "same_kind"
    if isinstance(out, Tensor):
        return assign(name, out, result, casting=casting)
    np.copyto(out, payload_of(result), casting=casting)
    return out


# Functions that write into their first argument -----------------------------------------------------------------------


def mutate(name: str, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """`np.copyto(target, value)` and its like: an assignment to the tensor, or NumPy's own work on an array."""
    given, _ = given_arguments(function, args, kwargs)
    target, *others = given.values()
    if not isinstance(target, Tensor):
        refuse_arrays(full_name(function), others, (target,))
        function(*with_payloads(args), **with_payloads(kwargs))
        return
    given.pop(next(iter(given)))
    given.pop("casting", None)
    MUTATIONS[name](target, **given)


def copyto(dst: Tensor, src: Any, where: Any = True) -> None:
    """Assign `src`, where `where` is true."""
    dst[...] = src if where is True else functions["where"](where, src, dst)


def put(a: Tensor, ind: Any, v: Any, mode: str = "raise") -> None:
    """Assign to positions in the flattened tensor."""
    places = np.asarray(with_payloads(ind))
    if mode == "raise" and places.size and not -a.size <= places.min() <= places.max() < a.size:
        raise IndexError(f"np.put: an index is out of range for {a.size} elements")
    places = np.clip(places, 0, a.size - 1) if mode == "clip" else places % max(a.size, 1)
    _assign_cyclically(a, np.unravel_index(places.reshape(-1), a.shape), places.size, v)


def place(arr: Tensor, mask: Any, vals: Any) -> None:
    """Assign the first values to the elements where `mask` is true."""
    places = np.flatnonzero(np.asarray(with_payloads(mask)))
    if arr.ndim:
        _assign_cyclically(arr, np.unravel_index(places, arr.shape), len(places), vals)
    elif len(places):
        arr[...] = as_constant(vals).reshape(-1)[0]


def _assign_cyclically(target: Tensor, index: Any, count: int, values: Any) -> None:
    """Assign to `count` elements; values that are too few are repeated, too many are cut."""
    if count:
        values = as_constant(values).reshape(-1)
        target[tuple(index)] = values[np.arange(count) % values.size]


def putmask(a: Tensor, mask: Any, values: Any) -> None:
    """Assign where `mask` is true; values that are too few are repeated along the flattened tensor."""
    values = as_constant(values)
    if not values.size:
        return
    if values.shape != a.shape:
        values = values.reshape(-1)[(np.arange(a.size) % values.size).reshape(a.shape)]
    copyto(a, values, with_payloads(mask))


def put_along_axis(arr: Tensor, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Assign to the elements that `take_along_axis` reads."""
    places = np.asarray(with_payloads(indices))
    if axis is None:
        put(arr, places, values)
        return
    axis = range(arr.ndim)[axis]
    shape = [1] * arr.ndim
    grid = []
    for other, length in enumerate(arr.shape):
        form = shape[:other] + [length] + shape[other + 1 :]
        grid.append(places if other == axis else np.arange(length).reshape(form))
    arr[tuple(grid)] = values


def fill_diagonal(a: Tensor, val: Any, wrap: bool = False) -> None:
    """Assign to the main diagonal."""
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) != 1):
        raise ValueError(f"np.fill_diagonal: shape {list(a.shape)} has no main diagonal")
    step = a.shape[1] + 1 if a.ndim == 2 else sum(np.cumprod(a.shape[:-1]).tolist()) + 1
    end = a.size if wrap or a.ndim > 2 else min(a.size, a.shape[1] * a.shape[1])
    places = np.unravel_index(np.arange(0, end, step), a.shape)
    _assign_cyclically(a, places, len(places[0]), val)


MUTATIONS: dict[str, Callable[..., None]] = {
    "copyto": copyto,
    "put": put,
    "place": place,
    "putmask": putmask,
    "put_along_axis": put_along_axis,
    "fill_diagonal": fill_diagonal,
}
