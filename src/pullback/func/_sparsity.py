"""`jacobian_sparsity`: which outputs of a function depend on which inputs, without computing a derivative."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from pullback.autograd._bodies import as_differentiable
from pullback.autograd._recording import check_outputs
from pullback.core.pytree import flatten, unflatten
from pullback.func._argnums import Argnums, normalized_argnums
from pullback.func._lifted import constant_arguments, lifted_argument, lifting
from pullback.payloads.batched_array import BatchedArray
from pullback.payloads.lifted import innermost
from pullback.payloads.pattern import PatternArray, PatternLift
from pullback.tensors.tensor import Tensor


def scipy_sparse(who: str) -> Any:
    """The module `scipy.sparse`, which is an extra."""
    try:
        return import_module("scipy.sparse")
    except ImportError as error:
        raise ImportError(
            f"{who}: the result is a scipy.sparse matrix, and SciPy is not installed; pip install 'pullback[scipy]'"
        ) from error


def jacobian_sparsity(function: Callable[..., Any], *args: Any, argnums: Argnums = 0) -> Any:
    """Where the Jacobian of a function at these arguments can have entries: a `scipy.sparse.csr_array` of booleans.

    Its rows are the elements of all outputs, one after the other, and its columns the elements of the arguments that
    `argnums` names. It contains every entry that is not zero, and some that are: values do not matter, so `0 * x`
    depends on `x`. Only branches, loops and indices are followed as they are taken at these arguments. Operators that
    nothing is known of make every output depend on every input.

    >>> pb.func.jacobian_sparsity(lambda x: x[1:] - x[:-1], pb.zeros(3)).toarray().astype(int)
    array([[1, 1, 0],
           [0, 1, 1]])
    """
    sparse = scipy_sparse("jacobian_sparsity")
    positions = normalized_argnums("jacobian_sparsity", argnums, len(args))
    chosen = [flatten(args[position]) for position in positions]
    tensors = [[as_differentiable(leaf, "jacobian_sparsity") for leaf in leaves] for leaves, _ in chosen]
    count = sum(leaf.size for leaves in tensors for leaf in leaves)
    lift = PatternLift(count)
    with lifting(lift):
        given = [constant_arguments(lift, arg) for arg in args]
        start = 1
        for position, leaves, (_, structure) in zip(positions, tensors, chosen, strict=True):
            arguments = []
            for leaf in leaves:
                arguments.append(lifted_argument(_argument(lift, leaf, start)))
                start += leaf.size
            given[position] = unflatten(structure, arguments)
        outputs, _ = check_outputs("jacobian_sparsity", function(*given), allow_integers=False)
        numbers = [_numbers(lift, out) for out in outputs]
    rows = np.concatenate(numbers)
    members, _ = lift.sets.members(rows)
    starts = np.concatenate([[0], np.cumsum(lift.sets.sizes(rows))])
    return sparse.csr_array((np.ones(len(members), np.bool_), members, starts), shape=(len(rows), count))


def _argument(lift: PatternLift, leaf: Tensor, start: int) -> PatternArray:
    numbers = np.arange(start, start + leaf.size, dtype=np.int64).reshape(leaf.shape)
    payload = leaf._data
    values = payload.plain_values("a NumPy array") if isinstance(payload, BatchedArray) else innermost(payload)
    return PatternArray(lift, [np.array(values), numbers])


def _numbers(lift: PatternLift, out: Tensor) -> Any:
    payload = out._data
    if isinstance(payload, PatternArray) and payload.lift is lift:
        return innermost(payload.numbers).reshape(-1)
    return np.zeros(out.size, np.int64)
