"""Build the functions of an operator from its declaration.

Every operator gets two. `op.call` is what derivative rules use: arrays in, arrays out; Tensors in, Tensors out.
`op.function` is what users get: the same, except that arrays and lists count as constant Tensors. They are built when
the operator is first used, since most programs use few of them (docs/design/import-time.md).
Elementwise operators of one and two operands get fast paths for plain tensors in normal modes (eager/fast.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import Parameter, Signature
from sys import _getframe
from types import NoneType
from typing import Any

import numpy as np

from pullback.core.frames import adapted_call, adapting, asking_call
from pullback.core.outside import as_operand_numbers
from pullback.core.spec import LARGE, Spec, is_complex_dtype, spec_for
from pullback.core.state import current, open_levels
from pullback.declare.composite import composites
from pullback.declare.op import Op
from pullback.eager.direct import Run, direct
from pullback.eager.elsewhere import make_elsewhere
from pullback.eager.failures import failed
from pullback.eager.fast import fast_function, with_tokens
from pullback.eager.forward import Duals
from pullback.eager.inplace import check_writable, write, write_plain, write_recorded
from pullback.eager.record import apply
from pullback.eager.segments import watch
from pullback.eager.small import Settings, has_kinds, is_no_key
from pullback.errors import AutogradError
from pullback.payloads.devices import is_foreign, taken_over
from pullback.payloads.evaluate import evaluate
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import bump_version, requires_grad
from pullback.tensors.overwrites import make_way, watched
from pullback.tensors.tensor import Tensor, as_constant

_NUMBERS = (int, float, complex, bool)
_ARE_OPERANDS = frozenset({Tensor, *_NUMBERS})
# Parameters that say how an array lies or is cut. The others may be numbers that somebody wants a derivative by.
_OF_FORM = {
    "accumulate", "axes", "axis", "axis1", "axis2", "checked", "dilation", "distinct", "dtype", "function", "groups",
    "index", "k", "keepdims", "layout", "lengths", "offset", "optimize", "order", "padding", "pieces", "repeats",
    "reverse", "shape", "shift", "singular", "stride", "strides", "subscripts", "template", "triangle", "upper",
    "widths", "window",
}  # fmt: skip


def build(op: Op) -> None:
    """Give an operator its functions. Should two threads do so at once, either's serve."""
    watch(op)
    run = direct(op)
    op.run = run or (lambda operands, params: apply(op, operands, params))
    general = _general(op, run)
    public = _public(op, run)
    if "complex128" in op.refused:
        general, public = _of_real_numbers(op, general), _of_real_numbers(op, public)
    op.call, op.function = general, public
    if op.fast_rules is not None:
        op.call = fast_function(op, Duals(op, with_tokens(op, general)), "kept")
        op.function = fast_function(op, Duals(op, with_tokens(op, public)), "wrapped")
    for function in (op.call, op.function):
        function.__name__ = function.__qualname__ = op.name.rpartition(".")[2]
        function.__doc__ = op.doc
        function.__module__ = "pullback"
    op.function.op = op  # type: ignore[attr-defined]


Op.build, Op.make_elsewhere = build, make_elsewhere


def _has_settings(op: Op) -> bool:
    """May a parameter of this operator be a number that somebody wants a derivative by?"""
    return not _OF_FORM.issuperset(op.params)


def _take_numbers(op: Op, params: dict[str, Any]) -> None:
    """Put the numbers of tensors that are given for parameters in their place. Raise if somebody differentiates one,
    since parameters have no derivative; in a trace and under vmap a tensor has no number, and says so."""
    for name, value in params.items():
        if isinstance(value, Tensor):
            if (open_levels and live_levels((value,))) or (current().grad and requires_grad(value)):
                raise TypeError(
                    f"{op.name.lstrip('_')}: there is no derivative by `{name}`, and it is given as a tensor that "
                    f"requires grad; give {name}.item() if none is wanted, or write the function with operators"
                )
            params[name] = value.detach().numpy() if value.ndim else value.item()


def _general(op: Op, run: Run | None) -> Callable[..., Any]:
    door = op.door_rule
    has_settings = _has_settings(op)
    count = len(op.operands)
    fewest = count if op.variadic_from < 0 else op.variadic_from
    is_fixed = op.variadic_from < 0
    if run is not None and count == 1 and is_fixed and op.num_outputs == 1:
        kernel = op.inner_kernel or op.kernel
        names = set(op.params) if op.keywords_are_canonical else None

        def call_one(*operands: Any, **params: Any) -> Any:
            try:
                if door is not None and (len(operands) != 1 or params.keys() != names):
                    operands, params = _through_door(op, door, operands, params)
                if has_settings:
                    _take_numbers(op, params)
                (x,) = operands
                if type(x) is np.ndarray:  # most calls that derivative rules make
                    out = (kernel if x.size < LARGE or op.native is None else op.native)(x, **params)
                    return out if type(out) is np.ndarray else np.asarray(out)
                if type(x) is Tensor or isinstance(x, Tensor):
                    return run(operands, params)
                return evaluate(op, operands, params)
            except Exception as error:
                failed(error, op, operands)
                raise

        return call_one

    def call(*operands: Any, **params: Any) -> Any:
        try:
            if door is not None:
                operands, params = door(*operands, **params)
            if has_settings:
                _take_numbers(op, params)
            are_arrays = True
            for x in operands:
                kind = type(x)
                if kind is Tensor or (kind not in _RAW and isinstance(x, Tensor)):
                    if run is not None and (len(operands) == count if is_fixed else len(operands) > fewest):
                        return run(operands, params)
                    return apply(op, operands, params)
                are_arrays = are_arrays and kind in _RAW
            if are_arrays and has_one and type(operands[0]) is np.ndarray and operands[0].size < LARGE:
                out = quick(*operands, **params)  # most calls that derivative rules make
                return out if type(out) is np.ndarray else np.asarray(out)
            return evaluate(op, operands, params)
        except Exception as error:
            failed(error, op, operands)
            raise

    has_one = op.num_outputs == 1 and not op.takes_payloads
    quick = op.inner_kernel or op.kernel
    return call


_RAW = frozenset({np.ndarray, *_NUMBERS, NoneType})


def _through_door(op: Op, door: Callable[..., Any], operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """What the door makes of the arguments of a rule or composite; that is found once for parameters by keyword."""
    if len(operands) != 1:
        return door(*operands, **params)
    x = operands[0]
    if type(x) is np.ndarray:
        spec = spec_for(x.shape, x.dtype)
    elif type(x) is Tensor and type(x._data) is np.ndarray:
        spec = x._spec
    else:
        return door(*operands, **params)
    if not _is_plain_data(params.values()):
        return door(*operands, **params)
    key = (op, *params.items(), *map(type, params.values()))
    try:
        known = spec.known.get(key)
    except TypeError:
        return door(*operands, **params)
    if known is None:
        known = _known_params(x, spec, key, door, (), params)
        if known is None:
            return door(*operands, **params)
    return operands, known


def _of_real_numbers(op: Op, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of an op that refuses complex numbers. Fast paths are for real ones only, and do without this."""

    @functools.wraps(function)
    def checked(*operands: Any, **params: Any) -> Any:
        try:
            if op.variadic_from < 0:
                operands = tuple([as_operand(x) if isinstance(x, (list, tuple)) else x for x in operands])
            check_real(op, operands)
            return function(*operands, **params)
        except Exception as error:
            failed(error, op, operands)
            raise

    return checked


def check_real(op: Op, operands: tuple[Any, ...]) -> None:
    """Refuse complex operands with the reason that the declaration gives."""
    for x in operands:
        if x is None or (type(x) is Tensor and not x._spec.is_complex):
            continue
        dtype = getattr(x, "dtype", None)
        if is_complex_dtype(dtype) if dtype is not None else np.iscomplexobj(x):
            name = (op.torch or op.name).lstrip("_")
            raise TypeError(f"{name} does not take complex numbers: {op.refused['complex128']}")


def _public(op: Op, run: Run | None) -> Callable[..., Any]:
    door = op.door_rule
    count = len(op.operands)
    has_settings = _has_settings(op)
    is_fast = op.fast_rules is not None
    scope = {} if run is None else run.__globals__

    def function(*operands: Any, out: Tensor | None = None, **params: Any) -> Any:
        try:
            if door is None and out is None and not params:
                natively = scope.get("at_once")  # eager/native_tape.py
                if natively is not None and (result := natively(operands, params)) is not None:
                    # path: native call at once
                    return result
            if door is not None:
                if operands and not isinstance(operands[0], (Tensor, *_NUMBERS, tuple, list)):
                    first = operands[0]
                    is_beside = type(first) is np.ndarray and any(isinstance(each, Tensor) for each in operands[1:])
                    operands = (as_constant(own_value(first) if is_beside else first), *operands[1:])
                elif operands and op.variadic_from < 0 and isinstance(operands[0], (tuple, list)):
                    operands = (as_operand(operands[0]), *operands[1:])
                try:
                    operands, params = door(*operands, **params)
                except np.exceptions.AxisError:
                    if not op.along_axis or operands[0].ndim:
                        raise
                    return as_vectors(function, operands, params)
            if has_settings:
                _take_numbers(op, params)
            if (
                run is not None
                and out is None
                and len(operands) == count
                and type(operands[0]) is Tensor
                and (count == 1 or _ARE_OPERANDS.issuperset(map(type, operands)))
            ):
                return run(operands, params)
            if len(operands) > count and op.variadic_from < 0:  # a ufunc would write to it, unseen by the tape
                name = op.name.lstrip("_")
                raise TypeError(f"{name} takes {count} operands, got {len(operands)}; use out= for a result")
            has_tensor = False
            for x in operands:
                if type(x) is Tensor or isinstance(x, Tensor):
                    has_tensor = True
                elif type(x) not in _NUMBERS:
                    beside = any(isinstance(each, Tensor) for each in operands)
                    given, operands = operands, tuple([as_operand(each, beside) for each in operands])
                    has_tensor = any(isinstance(each, Tensor) for each in operands)
                    if is_fast and has_tensor and out is None:
                        operands = _with_plain_numbers(operands)
                        if any(new is not old for new, old in zip(operands, given, strict=True)):
                            return op.function(*operands)  # arrays are tensors now, for which there is a fast path
                    break
            if not has_tensor:
                operands = tuple(as_constant(x) if isinstance(x, (*_NUMBERS, np.generic)) else x for x in operands)
            if out is not None:
                return write_out(op, operands, params, out)
            return apply(op, operands, params)
        except Exception as error:
            failed(error, op, operands)
            raise

    if run is not None and door is not None and count == 1 and op.variadic_from < 0:
        function = _remembering(op, run, function)
    if door is not None:
        functools.update_wrapper(function, door)
    else:
        function.__signature__ = signature_of(op.operands, op.params)  # type: ignore[attr-defined]
    return function


def _with_plain_numbers(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """NumPy's float64 as Python's, where all others are as wide, so that it changes no dtype."""
    if not all(x.dtype == np.float64 for x in operands if isinstance(x, Tensor)):
        return operands
    return tuple([float(x) if type(x) is np.float64 else x for x in operands])


def as_vectors(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function along an axis on tensors without axes, as on vectors of one element, whose axis the results drop."""
    vectors = [x.reshape((1,)) if isinstance(x, Tensor) and not x.ndim else x for x in args]
    out = function(*vectors, **options)
    if out is vectors[0]:
        return args[0]  # it was written in place
    if isinstance(out, tuple):
        parts = [_without_first_axis(x) for x in out]
        return out._make(parts) if hasattr(out, "_make") else tuple(parts)
    return _without_first_axis(out)


def _without_first_axis(x: Any) -> Any:
    return x.reshape(x.shape[1:]) if x.ndim else x


@functools.cache
def signature_of(operands: tuple[str, ...], params: tuple[str, ...], out: bool = True) -> Signature:
    """What `help` shows of a function that takes operands and parameters as they are declared.

    Most operators without a door have the operands `x`, or `x` and `y`, so there are few different ones to build.
    """
    shown = [
        Parameter(name[1:], Parameter.VAR_POSITIONAL) if name.startswith("*") else
        Parameter(name, Parameter.POSITIONAL_ONLY)
        for name in operands
    ]  # fmt: skip
    shown += [Parameter(name, Parameter.KEYWORD_ONLY) for name in params]
    return Signature([*shown, Parameter("out", Parameter.KEYWORD_ONLY, default=None)] if out else shown)


_OF_A_DOOR = frozenset({NoneType, bool, float, int, str, tuple})
_MOST_KNOWN = 256


def _remembering(op: Op, run: Run, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which finds canonical parameters once for each kind of array and what users gave with it."""
    door: Any = op.door_rule
    scope = run.__globals__

    def call(x: Any, *args: Any, **options: Any) -> Any:
        try:
            natively = scope.get("known_natively")  # eager/native_tape.py
            if natively is not None and (result := natively(x, *args, **options)) is not None:
                # path: native call of known parameters
                return result
            if type(x) is not Tensor or "out" in options:
                return function(x, *args, **options)
            kinds = tuple(map(type, args))
            # Before they are compared with others: a length that varies writes down what it was compared with.
            is_looked_at = bool(options) or tuple in kinds
            if is_looked_at and not (_is_plain_data(args) and (not options or _is_plain_data(options.values()))):
                return function(x, *args, **options)
            # The types as well: 1, 1.0 and True are one key.
            key = (op, args, kinds, *options.items(), *map(type, options.values())) if options else (op, args, kinds)
            try:
                params = x._spec.known.get(key)
            except TypeError:
                return function(x, *args, **options)
            if params is None:
                if not is_looked_at and not _is_plain_data(args):
                    return function(x, *args, **options)
                params = _known_params(x, x._spec, key, door, args, options)
                if params is None:
                    return function(x, *args, **options)
            # path: remembered parameters
            return run((x,), params)
        except Exception as error:
            failed(error, op, (x,))
            raise

    return call


def _known_params(
    x: Any, spec: Spec, key: Any, door: Callable[..., Any], args: Any, options: Any
) -> dict[str, Any] | None:
    """What the door makes of these arguments, if that is nothing but parameters; errors are left to others."""
    try:
        operands, params = door(x, *args, **options)
    except Exception:
        return None
    if len(operands) != 1 or operands[0] is not x or not _is_plain_data(params.values(), np.dtype, type):
        return None
    known = spec.known
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[key] = params = Settings(params, spec) if has_kinds(key[0]) else params
    return params


def _is_plain_data(values: Any, *more: type) -> bool:
    """Nothing but numbers that are keys, texts, None, and tuples of ints."""
    for value in values:
        kind = type(value)
        if kind is int:
            continue
        if kind is tuple:
            if not _INTS.issuperset(map(type, value)):
                return False
        elif (kind not in _OF_A_DOOR and not (more and isinstance(value, more))) or is_no_key(value):
            return False
    return True


_INTS = frozenset({int})


def _holds_tensors(x: Any) -> bool:
    return isinstance(x, Tensor) or (isinstance(x, (list, tuple)) and any(map(_holds_tensors, x)))


# Larger arrays are not copied, but watched: from 128 KiB on the C library asks the system for memory, page by page.
COPIED = 1 << 14


def may_be_written(x: Any) -> bool:
    """By NumPy, through the array itself or through one that it is a view of."""
    while x is not None:
        if isinstance(x, np.ndarray) and x.flags.writeable:
            return True
        x = getattr(x, "base", None)
    return False


def own_value(x: Any) -> Any:
    """An array that meets a tensor, as a copy: nobody tells what NumPy writes to it later, and backward may read it.
    What is too large for that is watched, as a Tensor: to write to it before backward is an error then."""
    modes = current()
    if not modes.grad or modes.trace is not None or not may_be_written(x):
        return x
    return x.copy() if x.size <= COPIED else watched(as_constant(x))


def as_operand(x: Any, beside: bool = False) -> Any:
    """Numbers stay numbers: Python's promote weakly, and none is ever a saved tensor. Everything else is a Tensor.

    A list with Tensors in it is what `asarray` makes of it: recorded, as by `stack`.
    `beside` a Tensor, an array of another library keeps its kind."""
    if isinstance(x, (Tensor, np.generic)) or type(x) in _NUMBERS or x is None or hasattr(type(x), "evaluate_op"):
        return x
    if issubclass(type(x), int):
        return int.__index__(x)
    if isinstance(x, (list, tuple)) and any(map(_holds_tensors, x)):
        if adapting and asking_call() is not None:
            return asking_call().array_of(x)
        return composites["asarray"].function(x)
    if beside:
        if type(x) is np.ndarray:
            return as_constant(own_value(x))
        if is_foreign(x) and (payload := taken_over(x)) is not None:
            return as_constant(payload)
    if type(x) is np.ndarray or isinstance(x, (list, tuple)):
        return as_constant(np.asarray(x))
    numbers = as_operand_numbers(x)
    return as_constant(own_value(numbers) if beside else numbers)


def write_out(op: Op, operands: tuple[Any, ...], params: dict[str, Any], out: Tensor) -> Tensor:
    """Evaluate into `out`, which is only allowed where nobody differentiates."""
    modes = current()
    if modes.vmaps or (open_levels and live_levels((*operands, out))):
        raise AutogradError(
            "OUT_TRANSFORM",
            f"{op.name}: an out= function does not support forward mode or vmap",
            why="writing into it would replace a value without its tangent, or for one example only",
            fix="assign the result instead",
        )
    if not isinstance(out, Tensor):
        raise TypeError(f"out= must be a Tensor, got {type(out).__name__}")
    if modes.grad and any(isinstance(x, Tensor) and requires_grad(x) for x in (*operands, out)):
        raise AutogradError(
            "OUT_GRAD",
            f"{op.name}: out= cannot be used when an input or the out= tensor requires grad",
            why="writing into it would replace a value without a history",
            fix="assign the result instead, or work under pb.no_grad()",
        )
    check_writable(out, modes)
    if modes.interceptors:  # a trace has others in place of what comes from outside
        modes.interceptors[-1](op, (out, *operands), params, _write_result)
    else:
        _write_result(op, (out, *operands), params)
    return out


def _write_result(op: Op, given: tuple[Any, ...], params: dict[str, Any]) -> None:
    out, *operands = given
    result = evaluate(op, [x._data if isinstance(x, Tensor) else x for x in operands], params)
    if result.shape != out.shape:
        raise ValueError(f"{op.name}: out= has shape {list(out.shape)}, but the result has {list(result.shape)}")
    make_way(out, name=op.name)
    np.copyto(out._data, result, casting="same_kind")
    bump_version(out)


def inplace_twin(op: Op, is_operator: bool = False) -> Callable[..., Tensor]:
    """The method `name_` of an operator: writes the result into its first operand.

    As one of Python's operators, `x += y`, it gives adapted code a new number in the place of one without axes.
    """

    quick = isinstance(op.kernel, np.ufunc) and op.inplace_kernel is None
    has_settings = _has_settings(op)

    def twin(self: Tensor, *others: Any, **params: Any) -> Tensor:
        try:
            if is_operator and adapting and not self._spec.ndim and adapted_call(_getframe(1)) is not None:
                out: Tensor = op.function(self, *others)
                return out
            if quick and not params and len(others) == 1:
                other = others[0]
                if write_plain(op, self, other) or write_recorded(op, self, other):
                    return self
            if op.door_rule is not None:
                operands, params = op.door_rule(self, *others, **params)
                others = operands[1:]
            if has_settings:
                _take_numbers(op, params)
            if "complex128" in op.refused:
                check_real(op, (self, *others))
            return write(op, self, tuple(as_operand(x, True) for x in others), params)
        except Exception as error:
            failed(error, op, (self, *others))
            raise

    if op.door_rule is not None:
        twin.__wrapped__ = op.door_rule  # type: ignore[attr-defined]
    else:
        twin.__signature__ = signature_of(op.operands, op.params, False)  # type: ignore[attr-defined]
    twin.__name__ = twin.__qualname__ = f"{op.name}_"
    twin.__doc__ = f"In-place version of `{op.name}`."
    return twin
