"""`grad`, `grad_and_value` and `vjp`: the tape with leaves of its own, see `autograd/_recording.py`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._bodies import split_aux
from pullback.autograd._recording import Recording, check_outputs
from pullback.core.pytree import flatten
from pullback.core.spec import describe
from pullback.core.state import current
from pullback.errors import AutogradError
from pullback.func._argnums import Argnums, normalized_argnums, picked
from pullback.tensors.tensor import Tensor, as_constant


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

    @functools.wraps(function)
    def transformed(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        positions = normalized_argnums("grad", argnums, len(args))
        recording = Recording("grad", positions)
        returned = recording.run(function, args, kwargs)
        output, aux = split_aux("grad", returned, has_aux)
        recording.keep_outputs([_check_scalar("grad", output)])
        seed = as_constant(np.ones((), output.dtype))
        gradients = recording.pull([seed], False, recording.keeps_history)
        in_order = dict(zip(sorted(positions), gradients, strict=True))
        result = picked(argnums, [in_order[position] for position in positions])
        value = recording.finish(output)
        if has_aux:
            return result, (value, recording.finish(aux))
        return result, value

    return transformed


def grad(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a scalar function with respect to the arguments that `argnums` names.

    Arguments may be nested containers of tensors; the gradient has their structure. Works inside itself and inside
    every other transform. With `has_aux` the function returns `(value, aux)`, and the result is `(gradient, aux)`.

    >>> pb.func.grad(pb.sin)(pb.tensor(0.0))
    tensor(1.)
    """
    with_value = grad_and_value(function, argnums, has_aux)

    @functools.wraps(function)
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
    recording = Recording("vjp")
    returned = recording.run(function, primals, {})
    output, aux = split_aux("vjp", returned, has_aux)
    outputs, structure = check_outputs("vjp", output, allow_integers=False)
    recording.keep_outputs(outputs)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple[Any, ...]:
        """The cotangents of the output times the Jacobian: a tuple with one entry per primal.

        `cotangents` has the structure of the output, with None for zeros. `retain_graph=False` frees what was recorded,
        and makes this the last call. `create_graph`, which follows the grad mode, says whether the result depends on
        tensors outside in a way that can be differentiated.
        """
        given, given_structure = flatten(cotangents)
        if given_structure != structure:
            raise RuntimeError(
                f"vjp_fn: the cotangents have the pytree structure {given_structure}, but the output of the function "
                f"has {structure}"
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
