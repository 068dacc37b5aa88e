"""`map` and what is made of it: the same function for many items, on the workers of an executor.

Results depend on items, seeds and the number of pieces, and on nothing else: not on the executor, the number of its
workers or the order in which they finish. `pullback.func._pieces` does the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.core.progress import Progress, shown
from pullback.core.pytree import flatten, map_leaves, unflatten
from pullback.errors import CheckpointFileError as CheckpointError
from pullback.errors import PieceError
from pullback.func import grad, vmap
from pullback.func._pieces import Tell, check_outside, cut, run, stream
from pullback.operators import functions
from pullback.tensors.tensor import Tensor

__all__ = ["CheckpointError", "MultiStart", "Start", "ensemble", "map", "multi_start", "per_sample_gradients"]

_ON_ERROR = ("raise", "collect")


def map(
    function: Callable[..., Any], *iterables: Iterable[Any], executor: Any = None, pieces: int | None = None,
    retries: int = 1, progress: Tell | bool | None = None, seed: Any = None, timeout: float | None = None,
    stream: bool = False, on_error: str = "raise",
) -> Any:  # fmt: skip
    """`[function(*item) for item in zip(*iterables)]`, in pieces, on the workers of an executor.

    `executor` is anything with `submit`: those of `concurrent.futures`, mpi4py and loky, a client of dask or what its
    `get_executor()` returns; or a function that makes one, which is called again if it breaks; or None, for work that
    is done here. Items are put into 16 `pieces`, or so many, or one for each if there are fewer; results come as a
    list. With `stream`, items may come from a generator, each is a piece, and the result is an iterator.

    An exception of the function is raised as `PieceError`, the first one by its place, and what is pending is
    cancelled; with `on_error="collect"` it has the place of its result. Pieces that are lost, because a worker died or
    took longer than `timeout` seconds for one, are sent again `retries` times.

    `progress(done, total, index)` is told in this thread of every piece; True shows a bar. With a `seed` the function
    gets a generator of NumPy's as `rng=`, which depends on the seed and on the place of its item. Grad mode, default
    dtype and `np.errstate` are those of the caller. Tensors travel without a history, and those with one are refused.

    >>> pb.distributed.map(pow, [1, 2, 3], [2, 2, 2])
    [1, 4, 9]
    """
    if on_error not in _ON_ERROR:
        raise ValueError(f'map: on_error must be "raise" or "collect", got {on_error!r}')
    if not callable(function) or not iterables:
        raise TypeError("map: expected a function, and at least one iterable with what it is called with")
    items = zip(*iterables)
    options: dict[str, Any] = {"who": "map", "executor": executor, "retries": retries, "timeout": timeout, "seed": seed}
    options["collects"] = on_error == "collect"
    if stream:
        if pieces is not None:
            raise ValueError("map: pieces= is for items that are all there; with stream=True each is a piece")
        return _streamed(function, items, progress if callable(progress) else None, options)
    listed = list(items)
    with _told(progress, listed, pieces, "map") as tell:
        return run(function, listed, pieces=pieces, tell=tell, **options)


def _streamed(
    function: Callable[..., Any], items: Iterator[Any], tell: Tell | None, options: dict[str, Any]
) -> Iterator[Any]:
    check_outside("map")
    return stream(function, items, tell=tell, **options)


class _told:
    """What is told of every piece, in a block: a function of the user's, or a bar."""

    def __init__(self, progress: Tell | Progress, items: list[Any], pieces: int | None, label: str) -> None:
        self.tell: Any = progress if callable(progress) else None
        shows: Any = False if self.tell is not None else progress
        self.bar = shown(shows, len(cut(len(items), pieces)), label)

    def __enter__(self) -> Tell:
        self.bar.__enter__()
        return self.tell if self.tell is not None else lambda done, total, index: self.bar.advance()

    def __exit__(self, *exc: object) -> None:
        self.bar.__exit__(*exc)


def per_sample_gradients(
    loss: Callable[..., Any], params: Any, batch: Any, executor: Any = None, *, pieces: int | None = None,
    retries: int = 1, progress: Tell | bool | None = None,
) -> Any:  # fmt: skip
    """The gradient of `loss(params, sample)` by `params` for every sample of a batch: trees with an axis in front.

    `batch` is a tree of arrays with samples along their first axes. Each piece is `vmap(grad(loss))` of its samples.
    The gradients are constants.

    >>> loss = lambda w, sample: (w * sample["x"] - sample["y"]) ** 2
    >>> batch = {"x": pb.tensor([1.0, 2.0]), "y": pb.tensor([0.0, 1.0])}
    >>> pb.distributed.per_sample_gradients(loss, pb.tensor(3.0), batch)
    tensor([ 6., 20.])
    """
    who = "per_sample_gradients"
    params, batch = map_leaves(_detached, (params, batch))
    leaves, structure = flatten(batch)
    sizes = {np.shape(leaf)[0] if np.ndim(leaf) else -1 for leaf in leaves}
    if len(sizes) != 1 or -1 in sizes:
        raise ValueError(f"{who}: all arrays of the batch must have the same number of samples along their first axes")
    parts = [
        (unflatten(structure, [leaf[start:stop] for leaf in leaves]),) for start, stop in cut(sizes.pop(), pieces)
    ]
    with _told(progress, parts, len(parts) or None, who) as tell:
        found = run(
            _SampleGradients(loss, params), parts, who=who, executor=executor, pieces=len(parts) or None,
            retries=retries, tell=tell,
        )  # fmt: skip
    if not found:
        return map_leaves(lambda leaf: functions["zeros"]((0, *np.shape(leaf)), dtype=leaf.dtype), params)
    return _joined(found, "concat")


def _detached(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, Tensor) else leaf


class _SampleGradients:
    """What a worker does for `per_sample_gradients`."""

    def __init__(self, loss: Callable[..., Any], params: Any) -> None:
        self.loss, self.params = loss, params

    def __call__(self, batch: Any) -> Any:
        return map_leaves(_detached, vmap(grad(self.loss), in_dims=(None, 0))(self.params, batch))


class Start(NamedTuple):
    """What became of one start: its number among the starts, the value that was reached, and what `fit` returned."""

    number: int
    value: float
    result: Any


class MultiStart(NamedTuple):
    """Fits from several starts, the best first, and those that failed."""

    results: list[Start]
    failures: list[PieceError]

    @property
    def best(self) -> Start:
        """The fit with the smallest value."""
        if not self.results:
            raise ValueError("multi_start: no fit succeeded") from (self.failures[0] if self.failures else None)
        return self.results[0]


def multi_start(
    fit: Callable[..., Any], starts: Iterable[Any], executor: Any = None, *, pieces: int | None = None,
    retries: int = 1, progress: Tell | bool | None = None, seed: Any = None, timeout: float | None = None,
) -> MultiStart:  # fmt: skip
    """`fit(start)` for all starts: results sorted by value, the smallest first, and what failed.

    `fit` returns a number, a tuple that begins with one, or an object with a number `fun`, as SciPy's optimisers do.
    Equal values are sorted by the place of their start, and NaN comes last. See `map` for the options.

    >>> fits = pb.distributed.multi_start(lambda start: ((start - 2) ** 2, start), [0.0, 3.0, 5.0])
    >>> fits.best
    Start(number=1, value=1.0, result=(1.0, 3.0))
    """
    listed = [(start,) for start in starts]
    with _told(progress, listed, pieces, "multi_start") as tell:
        found = run(
            fit, listed, who="multi_start", executor=executor, pieces=pieces, retries=retries, tell=tell, seed=seed,
            timeout=timeout, collects=True,
        )  # fmt: skip
    fits = [Start(k, _value(each), each) for k, each in enumerate(found) if not isinstance(each, PieceError)]
    fits.sort(key=lambda each: (math.isnan(each.value), each.value, each.number))
    return MultiStart(fits, [each for each in found if isinstance(each, PieceError)])


def _value(result: Any) -> float:
    reached: Any = getattr(result, "fun", result[0] if isinstance(result, tuple) and result else result)
    try:
        return float(reached.detach() if isinstance(reached, Tensor) else reached)
    except (TypeError, ValueError):
        raise TypeError(
            "multi_start: fit must return a number, a tuple that begins with one, or an object with a number `fun`, "
            f"got {type(result).__name__}"
        ) from None


def ensemble(
    function: Callable[..., Any], members: Iterable[Any], executor: Any = None, *, pieces: int | None = None,
    retries: int = 1, progress: Tell | bool | None = None, seed: Any = None, timeout: float | None = None,
) -> Any:  # fmt: skip
    """`function(member)` for all members, as one tree whose leaves have an axis of members in front.

    >>> pb.distributed.ensemble(lambda rate: {"end": rate * 2, "mean": rate + 1}, [1.0, 2.0])
    {'end': array([2., 4.]), 'mean': array([2., 3.])}
    """
    listed = [(member,) for member in members]
    if not listed:
        raise ValueError("ensemble: there are no members, and nobody knows what their result would look like")
    with _told(progress, listed, pieces, "ensemble") as tell:
        found = run(
            function, listed, who="ensemble", executor=executor, pieces=pieces, retries=retries, tell=tell, seed=seed,
            timeout=timeout,
        )  # fmt: skip
    return _joined(found, "stack")


def _joined(trees: list[Any], how: str) -> Any:
    """Trees of one structure as one tree, of tensors where there are tensors, and of arrays otherwise."""
    flat = [flatten(tree) for tree in trees]
    structure = flat[0][1]
    other = next((k for k, (_, each) in enumerate(flat) if each != structure), None)
    if other is not None:
        raise ValueError(f"results differ in structure: {structure} for item 0, {flat[other][1]} for item {other}")
    leaves = []
    for parts in zip(*[each for each, _ in flat], strict=True):
        if any(isinstance(part, Tensor) for part in parts):
            leaves.append(functions[how](list(parts)))
        else:
            leaves.append(np.stack(parts) if how == "stack" else np.concatenate(parts))
    return unflatten(structure, leaves)
