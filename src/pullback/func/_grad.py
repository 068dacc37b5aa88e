"""`grad`, `grad_and_value`, `value_and_grad` and `vjp`: the tape with leaves of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.pytree import flatten
from pullback.core.spec import describe
from pullback.core.state import current
from pullback.errors import AutogradError
from pullback.func._made import kept_here, made_by
from pullback.payloads.wrappers import filled, is_wrapper
from pullback.tape.transform.body import split_aux
from pullback.tape.transform.recording import Recording, check_outputs
from pullback.tensors.tensor import Tensor, as_constant, wrap

# Which positional arguments a transform is about.

Argnums = int | tuple[int, ...]


def normalized_argnums(who: str, argnums: Any, count: int) -> tuple[int, ...]:
    """Positions of the arguments meant, non-negative and in the order given."""
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"{who}: argnums must be int or Tuple[int, ...], got {type(argnums).__name__}")
    if not given:
        raise RuntimeError(f"{who}: argnums must be non-empty")
    positions = []
    for position in given:
        if not isinstance(position, int):
            raise RuntimeError(f"{who}: elements of argnums must be int, got {type(position).__name__}")
        if not -count <= position < count:
            raise RuntimeError(f"{who}: got argnums={argnums!r}, but only {count} positional inputs")
        positions.append(position % count)
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"{who}: elements of argnums must be unique, got {argnums!r}")
    return tuple(positions)


def picked(argnums: Any, results: list[Any]) -> Any:
    """One result for an int, a tuple of them otherwise."""
    return results[0] if isinstance(argnums, int) else tuple(results)


def _check_scalar(who: str, output: Any) -> Tensor:
    if not isinstance(output, Tensor):
        raise RuntimeError(
            f"{who}: Expected f(*args) to return a Tensor, got {type(output).__name__}; with extra results return "
            "(value, extra) and set has_aux=True"
        )
    if output.ndim:
        raise RuntimeError(
            f"{who}: Expected f(*args) to return a scalar, a Tensor without axes, got "
            f"{describe(output.shape, output.dtype)}; reduce it with .sum() or .mean(), or use pb.func.jacrev"
        )
    if not output._spec.is_real:
        raise RuntimeError(f"{who}: Expected f(*args) to return a real scalar, got dtype {output.dtype}")
    return output


def grad_and_value(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """The function that returns the gradient of a scalar function, and its value.

    With `has_aux` the function returns `(value, aux)`, and the result is `(gradient, (value, aux))`.

    >>> pb.func.grad_and_value(lambda x: (x * x).sum())(pb.tensor([1.0, 3.0]))
    (tensor([2., 6.]), tensor(10.))
    """

    @made_by(grad_and_value, function, argnums, has_aux)
    def transformed(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        positions = normalized_argnums("grad", argnums, len(args))
        recording = Recording("grad", positions)
        returned = recording.run(function, args, kwargs)
        output, aux = split_aux("grad", returned, has_aux)
        recording.keep_outputs([_check_scalar("grad", output)])
        seed = wrap(filled(output._data, 1)) if is_wrapper(output._data) else as_constant(np.ones((), output.dtype))
        gradients = recording.pull([seed], False, recording.keeps_history)
        in_order = dict(zip(sorted(positions), gradients, strict=True))
        result = picked(argnums, [in_order[position] for position in positions])
        value = recording.finish(output)
        if has_aux:
            return result, (value, recording.finish(aux))
        return result, value

    return transformed


def value_and_grad(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """The function that returns the value of a scalar function, and its gradient: `grad_and_value` in JAX's order.

    With `has_aux` the function returns `(value, aux)`, and the result is `((value, aux), gradient)`.

    >>> pb.func.value_and_grad(lambda x: (x * x).sum())(pb.tensor([1.0, 3.0]))
    (tensor(10.), tensor([2., 6.]))
    """
    with_gradient = grad_and_value(function, argnums, has_aux)

    @made_by(value_and_grad, function, argnums, has_aux)
    def transformed(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        gradient, value = with_gradient(*args, **kwargs)
        return value, gradient

    return transformed


def grad(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a scalar function with respect to the arguments that `argnums` names.

    Arguments may be nested containers of tensors; the gradient has their structure. Works inside itself and inside
    every other transform. With `has_aux` the function returns `(value, aux)`, and the result is `(gradient, aux)`.

    >>> pb.func.grad(pb.sin)(pb.tensor(0.0))
    tensor(1.)
    """
    with_value = grad_and_value(function, argnums, has_aux)

    @made_by(grad, function, argnums, has_aux)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        gradient, value = with_value(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return transformed


def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and the function that multiplies gradients of the value with its Jacobian.

    Returns `(output, vjp_fn)`, or `(output, vjp_fn, aux)` with `has_aux`. `vjp_fn(cotangents)` may be called any
    number of times; it returns a tuple with one entry per primal.

    >>> output, vjp_fn = pb.func.vjp(lambda x: x * x, pb.tensor([1.0, 3.0]))
    >>> vjp_fn(pb.tensor([1.0, 1.0]))
    (tensor([2., 6.]),)
    """
    return vjp_at("vjp", function, primals, {}, None, has_aux)


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
        raise RuntimeError(
            f"vjp_fn: Mismatch in shape: cotangent {index} has shape {list(value.shape)}, but the output has shape "
            f"{list(out.shape)}"
        )
    if value.dtype.kind == "c" and out.dtype.kind != "c":
        raise AutogradError(
            "GRADOUT_COMPLEX",
            f"vjp_fn: cotangent {index} is complex, but the output is {out.dtype}",
            why="its imaginary part has no meaning for a real output",
            fix="pass its real part: cotangent.real",
        )
    return value
