"""`grad`, `grad_and_value`, `value_and_grad` and `vjp`: the tape with leaves of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.core.doors import door, leave, leaving
from pullback.core.pytree import flatten
from pullback.core.spec import describe
from pullback.core.state import current, put_back
from pullback.errors import AutogradError
from pullback.func._made import check_function, kept_here, made_by
from pullback.payloads.kinds import filled, has_kind
from pullback.tape.engine import one
from pullback.tape.transform.body import split_aux
from pullback.tape.transform.recording import Recording, check_outputs
from pullback.tensors.tensor import Tensor, as_constant, wrap

# Which positional arguments a transform is about.

Argnums = int | tuple[int, ...]


def normalized_argnums(who: str, argnums: Any, count: int, function: Any = None) -> tuple[int, ...]:
    """Positions of the arguments meant, non-negative and in the order given."""
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    if not isinstance(argnums, (int, tuple)):
        is_name = isinstance(argnums, str)
        raise told(
            RuntimeError(f"{who}: argnums must be int or Tuple[int, ...], got {type(argnums).__name__} {argnums!r}"),
            why="argnums are positions; argument names are not" if is_name else f"{who} returns a function, and has no "
            "arguments for it yet",
            fix="give the index of the argument, or put it first" if is_name else f"write {who}(f)(x)",
        )
    if not given:
        raise RuntimeError(f"{who}: argnums must be non-empty")
    positions = []
    for position in given:
        if not isinstance(position, int):
            raise RuntimeError(f"{who}: elements of argnums must be int, got {type(position).__name__}")
        if not -count <= position < count:
            raise told(
                RuntimeError(f"{who}: got argnums={argnums!r}, but only {count} positional inputs"),
                why=f"{_shown(function)} was called with {count} positional argument{'' if count == 1 else 's'}",
                fix="pass the argument by position, or name another one in argnums",
            )
        positions.append(position % count)
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"{who}: elements of argnums must be unique, got {argnums!r}")
    return tuple(positions)


def _check_argnums(argnums: Any, function: Any) -> None:
    if not isinstance(argnums, (int, tuple)):
        normalized_argnums("grad", argnums, 0, function)


def _shown(function: Any) -> str:
    """A function with its parameters."""
    name = getattr(function, "__name__", "<lambda>").replace("<lambda>", "the function ")
    try:
        return f"{name}{inspect.signature(function)}"
    except (TypeError, ValueError):
        return name.strip()


def picked(argnums: Any, results: list[Any]) -> Any:
    """One result for an int, a tuple of them otherwise."""
    return results[0] if isinstance(argnums, int) else tuple(results)


def _check_scalar(who: str, output: Any, number_site: str) -> Tensor:
    if not isinstance(output, Tensor):
        raise _no_tensor(who, output, number_site)
    if output.ndim:
        shown = describe(output.shape, output.dtype)
        raise told(
            RuntimeError(f"{who}: Expected f(*args) to return a scalar, a Tensor without axes, got {shown}"),
            why="a gradient is the derivative of one number",
            fix="reduce it with .sum() or .mean(); pb.func.jacrev has all derivatives, and pb.func.vmap(grad(f)) one "
            "gradient per row",
        )
    if output.dtype.kind in "biu":
        raise told(
            RuntimeError(f"{who}: Expected f(*args) to return a real scalar, got dtype {output.dtype}"),
            why="integers and truth values stay the same, or jump, when an argument changes a little: positions, "
            "counts, ranks and comparisons have no derivative",
            fix="return a floating-point number: the value (pb.max, not pb.argmax), or something smooth in its place",
        )
    if output.dtype.kind != "f":
        raise told(
            RuntimeError(f"{who}: Expected f(*args) to return a real scalar, got dtype {output.dtype}"),
            why="a complex number has two derivatives, that of its real part and that of its imaginary part",
            fix="return .real, or abs(...), or use pb.func.vjp with a cotangent",
        )
    return output


def _no_tensor(who: str, output: Any, number_site: str) -> Exception:
    """The error for a function whose result has no derivative."""
    what = f"{who}: Expected f(*args) to return a Tensor, got {type(output).__name__}"
    why, fix = "", "return a Tensor; with extra results return (value, extra) and set has_aux=True"
    if output is None:
        what, fix = f"{what}: it returned nothing", "is a `return` missing?"
    elif isinstance(output, (bool, int, float, complex, np.number)):
        why = "the result is a number without history"
        if number_site:
            why += f": it was taken out of a tensor by .item() or float() at {number_site}"
        fix = "return the tensor itself"
    elif isinstance(output, (tuple, list)):
        tensors = [k for k, part in enumerate(output) if isinstance(part, Tensor) and not part.ndim]
        why = f"which element is the loss? It could be element {tensors[0]}" if tensors else ""
        fix = "return (loss, extra) and set has_aux=True"
    error: Exception = told(RuntimeError(what), why=why, fix=fix)
    return error


@door
def grad_and_value(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """The function that returns the gradient of a scalar function, and its value.

    With `has_aux` the function returns `(value, aux)`, and the result is `(gradient, (value, aux))`.

    >>> pb.func.grad_and_value(lambda x: (x * x).sum())(pb.tensor([1.0, 3.0]))
    (tensor([2., 6.]), tensor(10.))
    """
    _check_argnums(argnums, function)

    @made_by(grad_and_value, function, argnums, has_aux)
    def transformed(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        try:
            return _gradient(function, argnums, has_aux, args, kwargs)
        except BaseException as error:
            leave(error)
            raise

    return transformed


def _gradient(
    function: Callable[..., Any], argnums: Argnums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any],
    wants_value: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """The gradient, and the value with what was returned beside it; without the value there is nothing in its place."""
    before = current()
    try:
        is_first = argnums == 0 and type(argnums) is int and args
        positions = (0,) if is_first else normalized_argnums("grad", argnums, len(args), function)
        recording = Recording("grad", positions)
        returned = recording.run(function, args, kwargs)
        output, aux = split_aux("grad", returned, has_aux)
        recording.keep_outputs([_check_scalar("grad", output, recording.transform.number_site)])
        payload = output._data
        seed = wrap(filled(payload, 1, payload)) if has_kind(payload) else wrap(one(output.dtype))
        gradients = recording.pull([seed], False, recording.keeps_history)
        if len(positions) > 1:
            in_order = dict(zip(sorted(positions), gradients, strict=True))
            gradients = [in_order[position] for position in positions]
        result = picked(argnums, gradients)
        value = recording.finish(output) if wants_value else None
        return result, (value, recording.finish(aux)) if has_aux else value
    except BaseException as error:
        put_back(error, before)
        raise


@door
def value_and_grad(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """The function that returns the value of a scalar function, and its gradient: `grad_and_value` in JAX's order.

    With `has_aux` the function returns `(value, aux)`, and the result is `((value, aux), gradient)`.

    >>> pb.func.value_and_grad(lambda x: (x * x).sum())(pb.tensor([1.0, 3.0]))
    (tensor(10.), tensor([2., 6.]))
    """
    check_function("value_and_grad", function)
    _check_argnums(argnums, function)

    @made_by(value_and_grad, function, argnums, has_aux)
    def transformed(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        try:
            gradient, value = _gradient(function, argnums, has_aux, args, kwargs)
            return value, gradient
        except BaseException as error:
            leave(error)
            raise

    return transformed


@door
def grad(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a scalar function with respect to the arguments that `argnums` names.

    Arguments may be nested containers of tensors; the gradient has their structure. Works inside itself and inside
    every other transform. With `has_aux` the function returns `(value, aux)`, and the result is `(gradient, aux)`.

    >>> pb.func.grad(pb.sin)(pb.tensor(0.0))
    tensor(1.)
    """
    check_function("grad", function)
    _check_argnums(argnums, function)

    @made_by(grad, function, argnums, has_aux)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        try:
            gradient, value = _gradient(function, argnums, has_aux, args, kwargs, wants_value=False)
            return (gradient, value[1]) if has_aux else gradient
        except BaseException as error:
            leave(error)
            raise

    return transformed


@door
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and the function that multiplies gradients of the value with its Jacobian.

    Returns `(output, vjp_fn)`, or `(output, vjp_fn, aux)` with `has_aux`. `vjp_fn(cotangents)` may be called any
    number of times; it returns a tuple with one entry per primal.

    >>> output, vjp_fn = pb.func.vjp(lambda x: x * x, pb.tensor([1.0, 3.0]))
    >>> vjp_fn(pb.tensor([1.0, 1.0]))
    (tensor([2., 6.]),)
    """
    before = current()
    try:
        return vjp_at("vjp", function, primals, {}, None, has_aux)
    except BaseException as error:
        put_back(error, before)
        leave(error)
        raise


def vjp_at(
    who: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
    positions: tuple[int, ...] | None, has_aux: bool,
) -> Any:  # fmt: skip
    """`vjp` for the arguments at these positions, which is where the tuple of `vjp_fn` has its entries, in order."""
    recording = Recording(who, positions)
    returned = recording.run(function, args, kwargs)
    output, aux = split_aux(who, returned, has_aux)
    outputs, structure = check_outputs(who, output, allow_integers=False)
    recording.keep_outputs(outputs)

    @kept_here
    @leaving
    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple[Any, ...]:
        """The cotangents of the output times the Jacobian: a tuple with one entry per primal.

        `cotangents` has the structure of the output, with None for zeros. `retain_graph=False` frees what was recorded,
        and makes this the last call. `create_graph`, which follows the grad mode, says whether the result depends on
        tensors outside in a way that can be differentiated.
        """
        given, given_structure = flatten(cotangents)
        if given_structure != structure:
            raise RuntimeError(
                f"vjp_fn: Expected pytree structure of cotangents to be that of the output, {structure}, got "
                f"{given_structure}"
            )
        seeds = [_cotangent(index, value, out) for index, (value, out) in enumerate(zip(given, outputs, strict=True))]
        create = current().grad if create_graph is None else create_graph
        return tuple(recording.pull(seeds, retain_graph, create))

    finished = recording.finish(output)
    if has_aux:
        return finished, vjp_fn, recording.finish(aux)
    return finished, vjp_fn


def _cotangent(index: int, value: Any, out: Tensor) -> Tensor | None:
    if value is None:
        return None
    value = as_constant(value)
    if value.shape != out.shape:
        raise told(
            RuntimeError(
                f"vjp_fn: Mismatch in shape: cotangent {index} has shape {list(value.shape)}, but the output has shape "
                f"{list(out.shape)}"
            ),
            why="there is one number for each element of the output",
            fix=f"pass an array of shape {list(out.shape)}",
        )
    if value.dtype.kind == "c" and out.dtype.kind != "c":
        raise AutogradError(
            "GRADOUT_COMPLEX",
            f"vjp_fn: cotangent {index} is complex, but the output is {out.dtype}",
            why="its imaginary part has no meaning for a real output",
            fix="pass its real part: cotangent.real",
        )
    return value
