"""Jacobians, Hessians and their products with vectors, made of `vjp`, `jvp` and `vmap`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.core.doors import door, leaving
from pullback.core.progress import Progress, labelled, shown
from pullback.core.pytree import flatten, map_leaves, unflatten
from pullback.core.state import current, open_levels, switch
from pullback.func._grad import Argnums, grad, normalized_argnums, picked, vjp, vjp_at
from pullback.func._jvp import jvp, linearize
from pullback.func._made import made_by
from pullback.func._pieces import blocks, check_sendable
from pullback.func._vmap import vmap
from pullback.operators.arrays.joining import stack
from pullback.payloads.kinds import has_kind, of_array
from pullback.tape.history import requires_grad
from pullback.tape.transform.body import as_differentiable, split_aux
from pullback.tape.transform.recording import check_outputs
from pullback.tensors.tensor import Tensor, made_here


class _OfThese:
    """The function of the differentiated arguments only. Each call has copies, so that it does not see what another one
    wrote."""

    def __init__(
        self, function: Callable[..., Any], positions: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.function, self.positions, self.args, self.kwargs = function, positions, args, kwargs

    def __call__(self, *chosen: Any) -> Any:
        full = list(self.args)
        for position, value in zip(self.positions, chosen, strict=True):
            full[position] = value
        copied, named = map_leaves(_copied, (tuple(full), self.kwargs))
        return self.function(*copied, **named)


def _with_positions(
    who: str, function: Callable[..., Any], argnums: Argnums | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[_OfThese, tuple[Any, ...]]:
    """The function of the differentiated arguments only, and these arguments. It may be called as often as it takes."""
    positions, chosen = _chosen(who, argnums, args)
    return _OfThese(function, positions, args, kwargs), chosen


def _copied(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, Tensor) else leaf


def _chosen(who: str, argnums: Argnums | None, args: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The positions of the differentiated arguments, and these arguments."""
    positions = tuple(range(len(args))) if argnums is None else normalized_argnums(who, argnums, len(args))
    return positions, tuple(
        [map_leaves(lambda leaf: as_differentiable(leaf, who), args[position]) for position in positions]
    )


def _check_real(who: str, leaves: list[Tensor], what: str) -> None:
    for leaf in leaves:
        if leaf._spec.is_complex:
            raise RuntimeError(
                f"{who}: Expected all {what} to be real, got {leaf.dtype}; differentiate real and imaginary parts"
            )


def _basis(leaves: list[Tensor], first: int = 0, last: int | None = None) -> list[Tensor]:
    """One direction per element of all leaves together, stacked in front, as tensors of the leaves' shapes and kinds;
    those from `first` to `last` of them.

    They are derivatives of leaves by themselves, so both `jacrev` and `jacfwd` begin with what gradients look like."""
    last = sum(leaf.size for leaf in leaves) if last is None else last
    result, start = [], 0
    for leaf in leaves:
        rows = np.zeros((last - first, leaf.size), leaf.dtype)
        low, high = max(first, start), min(last, start + leaf.size)
        if low < high:
            rows[low - first : high - first].reshape(-1)[low - start :: leaf.size + 1] = 1
        result.append(_of_kind(leaf, rows.reshape((last - first, *leaf.shape))))
        start += leaf.size
    return result


def _of_kind(leaf: Tensor, directions: np.ndarray[Any, Any]) -> Tensor:
    payload = leaf._data
    return made_here(of_array(payload, directions, payload) if has_kind(payload) else directions)


def _check_chunk_size(who: str, chunk_size: int | None) -> None:
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"{who}: chunk_size should be None or greater than 0. (got {chunk_size!r})")


@door
def jacrev(
    function: Callable[..., Any],
    argnums: Argnums | None = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    progress: Progress = None,
    executor: Any = None,
) -> Callable[..., Any]:
    """The Jacobian, by reverse mode: one backward pass per element of the output, all at once if there are many.

    Its leaves have the shape of the output followed by that of the input. `argnums=None` means all arguments.
    `chunk_size` limits how many rows are computed together; 1 computes them one by one, without vmap. `progress` says
    how many are done, chunk by chunk: True shows a bar, a function is called with `(done, total, label)`.

    With `executor`, one of `concurrent.futures` or alike, or a function that makes one, chunks are computed by its
    workers: 16 of them, or as `chunk_size` says. The function and its arguments are sent there, and run once for each
    chunk, and once here. The result has the same bits as without executor and with the same `chunk_size`. It is a
    constant, and what the function writes to its arguments is not seen here.

    >>> pb.func.jacrev(lambda x: x * x)(pb.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """
    _check_chunk_size("jacrev", chunk_size)

    @made_by(
        jacrev, function, argnums, has_aux=has_aux, chunk_size=chunk_size, progress=progress, executor=executor
    )
    @leaving
    def transformed(*args: Any, **kwargs: Any) -> Any:
        positions, chosen = _chosen("jacrev", argnums, args)
        inputs, in_structure = flatten(chosen)
        _check_real("jacrev", inputs, "inputs")
        at: _Rows | _Shapes
        if executor is None:
            at = _Rows(function, positions, args, kwargs, has_aux)
            rows: list[Any] = at.mapped(chunk_size, labelled(progress, "jacrev"))
        else:
            work = _SomeRows(function, positions, args, kwargs, has_aux, chunk_size)
            at, rows = _rows_elsewhere(work, inputs, chunk_size, progress, executor)
        columns = []
        for out, start in zip(at.outputs, _starts(at.outputs), strict=True):
            parts = [
                _shaped(_slice(whole, start, out.size), (*out.shape, *leaf.shape))
                for whole, leaf in zip(rows, inputs, strict=True)
            ]
            columns.append(_by_argument(argnums, unflatten(in_structure, parts)))
        result = unflatten(at.structure, columns)
        return (result, at.aux[0]) if has_aux else result

    return transformed


_FEW = 8  # rows


class _Rows:
    """A function at a point, whose rows of the Jacobian can be had."""

    def __init__(
        self, function: Callable[..., Any], positions: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any],
        has_aux: bool,
    ) -> None:  # fmt: skip
        self.positions = positions
        output, self.vjp_fn, *self.aux = vjp_at("jacrev", function, args, kwargs, positions, has_aux)
        self.outputs, self.structure = check_outputs("jacrev", output, allow_integers=False)
        _check_real("jacrev", self.outputs, "outputs")

    def row(self, *cotangents: Tensor) -> tuple[Any, ...]:
        """The row in a direction of the outputs."""
        found = dict(zip(sorted(self.positions), self.vjp_fn(unflatten(self.structure, cotangents)), strict=True))
        return tuple(flatten([found[position] for position in self.positions])[0])

    def mapped(self, chunk_size: int | None, progress: Progress) -> list[Any]:
        """All rows, stacked in front."""
        count = sum(out.size for out in self.outputs)
        if count == 1:
            return self.single(0, count)
        if count == 0 or not self.are_single(chunk_size):
            return list(vmap(self.row, chunk_size=chunk_size, progress=progress)(*_basis(self.outputs)))
        return self.stacked(0, count, progress)

    def stacked(self, start: int, stop: int, progress: Progress = None) -> list[Any]:
        """Some rows, one by one."""
        rows = []
        with shown(progress, stop - start, "jacrev") as bar:
            for index in range(start, stop):
                rows.append(self.row(*self._directions(index)))
                bar.advance()
        return [stack(list(parts)) for parts in zip(*rows, strict=True)]

    def are_single(self, chunk_size: int | None) -> bool:
        """Are rows computed one by one? If nobody says so, a few are where passes are plain: these take a tenth of the
        time of one on a batch."""
        if chunk_size is not None:
            return chunk_size == 1
        modes = current()
        return (
            sum(out.size for out in self.outputs) <= _FEW
            and (modes is switch.normal or modes is switch.no_grad)
            and not open_levels
            and not any(requires_grad(out) or has_kind(out._data) for out in self.outputs)
        )

    def single(self, index: int, count: int) -> list[Any]:
        """One row, without vmap: a scalar function has nothing to map over."""
        if count == 1 and not any(has_kind(out._data) for out in self.outputs):
            directions = [made_here(np.ones(out.shape, out.dtype)) for out in self.outputs]
        else:
            directions = self._directions(index)
        return [part.reshape((1, *part.shape)) for part in self.row(*directions)]

    def _directions(self, index: int) -> list[Tensor]:
        """The cotangents of a row."""
        if any(has_kind(out._data) for out in self.outputs):
            return [part[0].clone() for part in _basis(self.outputs, index, index + 1)]
        directions = []
        for out in self.outputs:
            direction = np.zeros(out.size, out.dtype)
            if 0 <= index < out.size:
                direction[index] = 1
            index -= out.size
            directions.append(made_here(direction.reshape(out.shape)))
        return directions


class _SomeRows:
    """What a worker does for `jacrev`: the function runs, and some rows of its Jacobian are pulled back."""

    def __init__(
        self, function: Callable[..., Any], positions: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any],
        has_aux: bool, chunk_size: int | None,
    ) -> None:  # fmt: skip
        self.function, self.positions, self.args, self.kwargs = function, positions, args, kwargs
        self.has_aux, self.chunk_size = has_aux, chunk_size

    def __call__(self, start: int, stop: int) -> list[Any]:
        args, kwargs = map_leaves(_copied, (self.args, self.kwargs))
        at = _Rows(self.function, self.positions, args, kwargs, self.has_aux)
        count = sum(out.size for out in at.outputs)
        if count == 1 or self.chunk_size == 1:
            return at.single(start, count)
        if at.are_single(self.chunk_size):
            return at.stacked(start, stop)
        return list(vmap(at.row)(*_basis(at.outputs, start, stop)))


class _Shapes(NamedTuple):
    """What `jacrev` has to know of a function whose rows are computed elsewhere."""

    outputs: list[Tensor]
    structure: Any
    aux: list[Any]


def _rows_elsewhere(
    work: _SomeRows, inputs: list[Tensor], chunk_size: int | None, progress: Progress, executor: Any
) -> tuple[_Shapes, list[Tensor]]:
    """What the function returns, from a run here, and the rows of its Jacobian, from workers."""
    check_sendable("jacrev", (work.args, work.kwargs))
    args, kwargs = map_leaves(_copied, (work.args, work.kwargs))
    output, aux = split_aux("jacrev", work.function(*args, **kwargs), work.has_aux)
    outputs, structure = check_outputs("jacrev", output, allow_integers=False)
    _check_real("jacrev", outputs, "outputs")
    count = sum(out.size for out in outputs)
    rows = [np.empty((count, *leaf.shape), leaf.dtype) for leaf in inputs]
    for start, stop, found in blocks(
        work, count, chunk_size, who="jacrev", executor=executor, progress=labelled(progress, "jacrev")
    ):
        for whole, part in zip(rows, found, strict=True):
            whole[start:stop] = part.numpy()
    return _Shapes(outputs, structure, [aux]), [made_here(whole) for whole in rows]


def _starts(leaves: list[Tensor]) -> list[int]:
    starts = [0]
    for leaf in leaves:
        starts.append(starts[-1] + leaf.size)
    return starts[:-1]


def _slice(rows: Tensor, start: int, count: int) -> Tensor:
    return rows if rows.shape[0] == count else rows[start : start + count]


def _shaped(part: Tensor, shape: tuple[int, ...]) -> Tensor:
    return part if part.shape == shape else part.reshape(shape)


def _by_argument(argnums: Argnums | None, per_argument: tuple[Any, ...]) -> Any:
    return tuple(per_argument) if argnums is None else picked(argnums, list(per_argument))


@door
def jacfwd(
    function: Callable[..., Any],
    argnums: Argnums | None = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
    progress: Progress = None,
    executor: Any = None,
) -> Callable[..., Any]:
    """The Jacobian, by forward mode: one direction per element of the input, all at once.

    Use it where the function has more outputs than inputs. See `jacrev` for the shape of the result, and `executor`.

    >>> pb.func.jacfwd(lambda x: x * x)(pb.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """
    _check_chunk_size("jacfwd", chunk_size)
    if executor is not None and randomness != "error":
        raise ValueError("jacfwd: randomness= draws from the generator of this process, and executor= leaves it")

    @made_by(
        jacfwd, function, argnums, has_aux, randomness=randomness, chunk_size=chunk_size, progress=progress,
        executor=executor,
    )  # fmt: skip
    @leaving
    def transformed(*args: Any, **kwargs: Any) -> Any:
        positions, chosen = _chosen("jacfwd", argnums, args)
        inputs, in_structure = flatten(chosen)
        _check_real("jacfwd", inputs, "inputs")
        count = sum(leaf.size for leaf in inputs)
        work = _Columns(function, positions, chosen, args, kwargs, has_aux, randomness)
        if executor is None or not count:
            found = work.mapped(0, count, chunk_size, labelled(progress, "jacfwd"), writes=True)
        else:
            found = _columns_elsewhere(work, count, chunk_size, progress, executor)
        jacobians = []
        for slope in found.slopes:
            shape = slope.shape[1:]
            last = _shaped(slope, (slope.shape[0], _count(shape)))
            parts = [
                _shaped(_slice(last, start, leaf.size).T, (*shape, *leaf.shape))
                for leaf, start in zip(inputs, _starts(inputs), strict=True)
            ]
            jacobians.append(_by_argument(argnums, unflatten(in_structure, parts)))
        result = unflatten(found.structure, jacobians)
        if not has_aux:
            return result
        return result, found.aux if count else function(*args, **kwargs)[1]

    return transformed


class _Slopes(NamedTuple):
    """Derivatives in some directions, one per output and stacked in front, how outputs are arranged, and the rest."""

    slopes: list[Tensor]
    structure: Any
    aux: Any


class _Columns:
    """A function at a point, whose columns of the Jacobian can be had; here, or in a worker."""

    def __init__(
        self, function: Callable[..., Any], positions: tuple[int, ...], chosen: tuple[Any, ...], args: tuple[Any, ...],
        kwargs: dict[str, Any], has_aux: bool, randomness: str,
    ) -> None:  # fmt: skip
        self.function, self.positions, self.chosen, self.args, self.kwargs = function, positions, chosen, args, kwargs
        self.has_aux, self.randomness = has_aux, randomness

    def __call__(self, start: int, stop: int) -> _Slopes:
        return self.mapped(start, stop, None, False, writes=False)

    def mapped(self, start: int, stop: int, chunk_size: int | None, progress: Progress, writes: bool) -> _Slopes:
        """Some columns. `writes` says whether the function gets the arguments themselves, and may write to them."""
        positions, chosen = self.positions, self.chosen
        others = [None if position in positions else value for position, value in enumerate(self.args)]
        rest, rest_structure = flatten((others, self.kwargs))
        lent = [index for index, leaf in enumerate(rest) if isinstance(leaf, Tensor) and leaf._spec.is_differentiable]
        inputs, in_structure = flatten(chosen)
        kept: dict[str, Any] = {}
        runs_left = 1 if chunk_size is None else -(-(stop - start) // chunk_size)

        def of_all(chosen: tuple[Any, ...], written: list[Tensor]) -> Any:
            leaves = list(rest)
            for index, leaf in zip(lent, written, strict=True):
                leaves[index] = leaf
            full, named = unflatten(rest_structure, leaves)
            for position, value in zip(positions, chosen, strict=True):
                full[position] = value
            return self.function(*full, **named)

        def column(*tangents: Tensor) -> tuple[Any, ...]:
            # The function may write to its arguments. It runs once per chunk, of which the last one has the caller's.
            nonlocal runs_left
            runs_left -= 1
            primals = (chosen, [rest[index] for index in lent])
            if runs_left > 0 or not writes:
                primals = map_leaves(_copied, primals)
            directions = (unflatten(in_structure, tangents), [None] * len(lent))
            results = jvp(of_all, primals, directions, has_aux=self.has_aux)
            kept["outputs"], kept["structure"] = flatten(results[0])
            _check_real("jacfwd", kept["outputs"], "outputs")
            kept["aux"], kept["aux_structure"] = flatten(results[2] if self.has_aux else ())
            return flatten(results[1])[0], [leaf for leaf in kept["aux"] if isinstance(leaf, Tensor)]

        slopes, aux_tensors = vmap(
            column, randomness=self.randomness, chunk_size=chunk_size, progress=progress
        )(*_basis(inputs, start, stop))  # fmt: skip
        if not self.has_aux or start == stop:
            return _Slopes(slopes, kept["structure"], None)
        of_one = iter([leaf[0] for leaf in aux_tensors])  # the same for all directions
        aux = [next(of_one) if isinstance(leaf, Tensor) else leaf for leaf in kept["aux"]]
        return _Slopes(slopes, kept["structure"], unflatten(kept["aux_structure"], aux))


def _columns_elsewhere(
    work: _Columns, count: int, chunk_size: int | None, progress: Progress, executor: Any
) -> _Slopes:
    """All columns, from workers."""
    check_sendable("jacfwd", (work.args, work.kwargs))
    whole: list[Any] | None = None
    last: Any = None
    for start, stop, found in blocks(
        work, count, chunk_size, who="jacfwd", executor=executor, progress=labelled(progress, "jacfwd")
    ):
        parts = [slope.numpy() for slope in found.slopes]
        whole = [np.empty((count, *part.shape[1:]), part.dtype) for part in parts] if whole is None else whole
        for array, part in zip(whole, parts, strict=True):
            array[start:stop] = part
        last = found if stop == count else last
    return _Slopes([made_here(array) for array in whole or ()], last.structure, last.aux)


def _count(shape: tuple[int, ...]) -> int:
    return math.prod(shape)


@door
def hessian(
    function: Callable[..., Any], argnums: Argnums = 0, *, chunk_size: int | None = None, progress: Progress = None,
    executor: Any = None,
) -> Callable[..., Any]:  # fmt: skip
    """The matrix of second derivatives: forward mode over reverse mode.

    `chunk_size` limits how many columns are computed together, `progress` says how many are done, and workers of the
    `executor` compute them (see `jacrev`).

    >>> pb.func.hessian(lambda x: (x**3).sum())(pb.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    progress = labelled(progress, "hessian")
    return jacfwd(jacrev(function, argnums), argnums, chunk_size=chunk_size, progress=progress, executor=executor)


@door
def hvp(
    function: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    has_aux: bool = False,
    strategy: str = "fwd_rev",
) -> Any:
    """The gradient of a scalar function, and the product of its Hessian with `tangents`, without forming the Hessian.

    `strategy` is "fwd_rev" (the derivative of the gradient in the direction, the default), "rev_fwd" or "rev_rev"; the
    values are the same. Returns `(gradient, product)`, one entry per primal unless there is one.

    >>> pb.func.hvp(lambda x: (x**3).sum(), (pb.tensor([1.0, 2.0]),), (pb.tensor([1.0, 0.0]),))
    (tensor([ 3., 12.]), tensor([6., 0.]))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"hvp: primals must be a tuple, one entry per argument, got {type(primals).__name__}")
    argnums: Argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    if strategy == "fwd_rev":
        results = jvp(grad(function, argnums, has_aux), primals, tangents, has_aux=has_aux)
        return results
    if strategy == "rev_fwd":

        def slope(*at: Any) -> Any:
            results = jvp(function, at, tangents, has_aux=has_aux)
            return (results[1], results[2]) if has_aux else results[1]

        gradient = grad(lambda *at: function(*at)[0] if has_aux else function(*at), argnums)(*primals)
        product = grad(slope, argnums, has_aux)(*primals)
        return (gradient, product[0], product[1]) if has_aux else (gradient, product)
    if strategy == "rev_rev":
        gradient, vjp_fn, *aux = vjp(grad(function, argnums, has_aux), *primals, has_aux=has_aux)
        product = vjp_fn(tangents[0] if len(primals) == 1 else tangents)
        return (gradient, product[0] if len(primals) == 1 else product, *aux)
    raise ValueError(f'hvp: strategy must be "fwd_rev", "rev_fwd" or "rev_rev", got {strategy!r}')


@door
def hvp_fn(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The gradient, and the function that multiplies with the Hessian: one evaluation, then a sweep per product.

    >>> gradient, product = pb.func.hvp_fn(lambda x: (x**3).sum(), pb.tensor([1.0, 2.0]))
    >>> product(pb.tensor([1.0, 1.0]))
    tensor([ 6., 12.])
    """
    argnums: Argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    gradient, product = linearize(grad(function, argnums), *primals)
    return gradient, made_by(_product_of, function, primals)(product)


def _product_of(function: Callable[..., Any], primals: tuple[Any, ...]) -> Callable[..., Any]:
    """The second result of `hvp_fn`, made again where a pickle is read."""
    return hvp_fn(function, *primals)[1]


# `jacobian`, which chooses its mode, and `gnvp`, products with the Gauss-Newton matrix.

@door
def jacobian(
    function: Callable[..., Any], argnums: Argnums | None = 0, *, chunk_size: int | None = None,
    progress: Progress = None, executor: Any = None,
) -> Callable[..., Any]:  # fmt: skip
    """The Jacobian, by forward mode if the function has more outputs than inputs and by reverse mode otherwise.

    The function runs once more, on copies of its arguments, to find out how many outputs there are. See `jacrev` for
    the options.

    >>> pb.func.jacobian(lambda x: x * x)(pb.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """

    @made_by(jacobian, function, argnums, chunk_size=chunk_size, progress=progress, executor=executor)
    @leaving
    def transformed(*args: Any, **kwargs: Any) -> Any:
        of_these, chosen = _with_positions("jacobian", function, argnums, args, kwargs)
        outputs, _ = check_outputs("jacobian", of_these(*chosen), allow_integers=False)
        num_inputs = sum(leaf.size for leaf in flatten(chosen)[0])
        choice = jacfwd if num_inputs < sum(out.size for out in outputs) else jacrev
        options: dict[str, Any] = {"chunk_size": chunk_size, "progress": progress, "executor": executor}
        return choice(function, argnums, **options)(*args, **kwargs)

    return transformed


@door
def gnvp(function: Callable[..., Any], loss: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """The gradient of `loss(function(*primals))`, and the product of its Gauss-Newton matrix with `tangents`.

    The matrix is `J^T H J` with the Jacobian `J` of the function and the Hessian `H` of the loss: what remains of the
    Hessian without the curvature of the function. It is positive semidefinite if the loss is convex. Returns
    `(gradient, product)`, one entry per primal unless there is one.

    >>> square = lambda r: (r * r).sum() / 2
    >>> pb.func.gnvp(lambda x: x**2, square, (pb.tensor([1.0, 2.0]),), (pb.tensor([1.0, 1.0]),))
    (tensor([ 2., 16.]), tensor([ 4., 16.]))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"gnvp: primals must be a tuple, one entry per argument, got {type(primals).__name__}")
    _, slope = jvp(function, primals, tangents)
    output, vjp_fn = vjp(function, *primals)
    gradient, curved = hvp(loss, (output,), (slope,))
    gradients, products = vjp_fn(gradient), vjp_fn(curved)
    return (gradients[0], products[0]) if len(primals) == 1 else (gradients, products)
