"""Functions of trees: nested containers of tensors, arrays and anything else."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pullback.core import pytree as _pytree
from pullback.core.doors import door
from pullback.core.pytree import Structure, flatten, map_leaves, unflatten
from pullback.operators import functions as _functions
from pullback.tensors.tensor import Tensor
from pullback.tree._paths import path_texts


@door
def map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The tree whose leaves are `function` of the leaves of all trees at that place.

    Where `tree` has a leaf, another may have a tree, which is given to `function` as it is.

    >>> pb.tree.map(lambda a, b: a + b, {"x": 1, "y": (2, 3)}, {"x": 10, "y": (20, 30)})
    {'x': 11, 'y': (22, 33)}
    """
    return map_leaves(function, tree, *others)


def leaves(tree: Any) -> list[Any]:
    """The leaves in order.

    >>> pb.tree.leaves({"b": 1, "a": (2, 3)})
    [2, 3, 1]
    """
    return flatten(tree)[0]


def structure(tree: Any) -> Structure:
    """The containers with places for leaves; equal for trees that differ in leaves only.

    >>> pb.tree.structure({"a": (2, 3)})
    {'a': (*, *)}
    """
    return flatten(tree)[1]


def paths(tree: Any) -> list[str]:
    """How to get to each leaf, as texts: keys, positions and names of fields with slashes between them.

    A slash in a key is written `%2F`, and a percent sign `%25`.

    >>> pb.tree.paths({"layers": [{"w": 1, "b": 2}], "scale": 3})
    ['layers/0/b', 'layers/0/w', 'scale']
    """
    return path_texts(tree)


_NO_START = object()


@door
def reduce(function: Callable[[Any, Any], Any], tree: Any, initial: Any = _NO_START) -> Any:
    """`function(...function(function(initial, leaf), leaf)..., leaf)` over the leaves in order.

    >>> pb.tree.reduce(lambda total, x: total + x.sum(), {"a": pb.ones(3), "b": pb.ones(2)}, 0.0)
    tensor(5.)
    """
    found = leaves(tree)
    return functools.reduce(function, found) if initial is _NO_START else functools.reduce(function, found, initial)


@door
def all_close(a: Any, b: Any, rtol: float = 1e-7, atol: float = 0.0, *, equal_nan: bool = False) -> bool:
    """Do two trees have one structure, leaves of the same shapes, and numbers that differ by no more than
    `atol + rtol * abs(b)`? Leaves that are no numbers have to be equal.

    >>> pb.tree.all_close({"a": pb.ones(2)}, {"a": np.ones(2) + 1e-9})
    True
    """
    first, second = flatten(a), flatten(b)
    if first[1] != second[1]:
        return False
    return all(_is_close(x, y, rtol, atol, equal_nan) for x, y in zip(first[0], second[0], strict=True))


def _is_close(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    x, y = _values(x), _values(y)
    if x.shape != y.shape:
        return False
    if x.dtype.kind not in "biufc" or y.dtype.kind not in "biufc":
        return bool(np.all(x == y))
    return bool(np.allclose(x, y, rtol, atol, equal_nan))


def _values(leaf: Any) -> np.ndarray[Any, Any]:
    return leaf.detach().numpy() if isinstance(leaf, Tensor) else np.asarray(leaf)


def size(tree: Any) -> int:
    """How many numbers there are in the tensors, arrays and numbers of a tree.

    >>> pb.tree.size({"w": pb.ones((2, 3)), "scale": 1.0, "name": "line"})
    7
    """
    return sum(spec[0] for leaf in leaves(tree) if (spec := _measured(leaf)))


def nbytes(tree: Any) -> int:
    """The bytes of the numbers in a tree.

    >>> pb.tree.nbytes({"w": pb.ones((2, 3), dtype="float32"), "b": pb.zeros(3)})
    48
    """
    return sum(spec[0] * spec[2].itemsize for leaf in leaves(tree) if (spec := _measured(leaf)))


def _measured(leaf: Any) -> tuple[int, tuple[int, ...], np.dtype[Any]] | None:
    """Size, shape and dtype of a leaf; None if it is no number."""
    if not isinstance(leaf, Tensor | np.ndarray | np.generic | bool | int | float | complex):
        return None
    shape = tuple(getattr(leaf, "shape", ()))
    dtype = leaf.dtype if hasattr(leaf, "dtype") else np.dtype(type(leaf))
    return int(np.prod(shape, dtype=object)), shape, dtype


def summary(tree: Any) -> str:
    """A table of the leaves: path, shape, dtype and bytes, with the totals below.

    >>> print(pb.tree.summary({"w": pb.ones((2, 3)), "b": pb.zeros(3)}))
    path   shape   dtype    bytes
    b      (3,)    float64     24
    w      (2, 3)  float64     48
    total  9                   72
    """
    rows = [("path", "shape", "dtype", "bytes")]
    for path, leaf in zip(paths(tree), leaves(tree), strict=True):
        measured = _measured(leaf)
        if measured is None:
            rows.append((path, "", type(leaf).__name__, ""))
        else:
            count, shape, dtype = measured
            rows.append((path, str(shape), str(dtype), str(count * dtype.itemsize)))
    rows.append(("total", str(size(tree)), "", str(nbytes(tree))))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join([*(row[i].ljust(widths[i]) for i in range(3)), row[3].rjust(widths[3])]) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


@door
def ravel(tree: Any) -> tuple[Tensor, Callable[[Any], Any]]:
    """All numbers of a tree as one vector, and the function that makes such a tree of a vector again.

    Both ways are differentiable. Leaves of several precisions become the widest in the vector, and their own again on
    the way back. Integers beside floating-point numbers, and real beside complex ones, are refused: a vector of one
    type could not be turned back without losing something.

    >>> vector, unravel = pb.tree.ravel({"w": pb.ones((2, 2)), "b": pb.zeros(1)})
    >>> vector
    tensor([0., 1., 1., 1., 1.])
    >>> unravel(vector * 2)["w"]
    tensor([[2., 2.],
            [2., 2.]])
    """
    found, tree_structure = flatten(tree)
    tensors = [_as_tensor(leaf, path) for leaf, path in zip(found, paths(tree), strict=True)]
    dtypes = {each.dtype for each in tensors}
    if len(dtypes) > 1 and len({dtype.kind for dtype in dtypes}) > 1:
        found_dtypes = ", ".join(sorted(str(dtype) for dtype in dtypes))
        raise TypeError(
            f"pb.tree.ravel: the leaves are of {found_dtypes}, which do not fit into one vector and back; "
            "ravel a part of the tree (pb.tree.partition), or cast it (pb.tree.cast)"
        )
    shapes = [each.shape for each in tensors]
    ends = np.cumsum([each.size for each in tensors], dtype=int).tolist()
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(float)

    def unravel(vector: Any) -> Any:
        """The tree with the numbers of a vector as long as the one that came with this function."""
        given = vector if isinstance(vector, Tensor) else _functions["asarray"](vector)
        if given.shape != (ends[-1] if ends else 0,):
            raise ValueError(f"unravel takes a vector of length {ends[-1] if ends else 0}, got shape {given.shape}")
        parts = [
            given[end - int(np.prod(shape, dtype=object)) : end].reshape(shape).astype(leaf.dtype, copy=False)
            for end, shape, leaf in zip(ends, shapes, tensors, strict=True)
        ]
        return unflatten(tree_structure, parts)

    if not tensors:
        return _functions["zeros"](0), unravel
    flat = [each.reshape((-1,)).astype(dtype, copy=False) for each in tensors]
    return _functions["concat"](flat), unravel


def _as_tensor(leaf: Any, path: str) -> Tensor:
    if isinstance(leaf, Tensor):
        return leaf
    if _measured(leaf) is None:
        raise TypeError(f"pb.tree.ravel: the leaf {path or 'itself'} is a {type(leaf).__name__}, and no number")
    return _functions["asarray"](leaf)


@door
def cast(tree: Any, dtype: Any) -> Any:
    """The tree with its real floating-point tensors and arrays in this dtype; all other leaves stay as they are.

    >>> pb.tree.map(lambda x: str(x.dtype), pb.tree.cast({"w": pb.ones(2), "n": pb.arange(3)}, "float32"))
    {'w': 'float32', 'n': 'int64'}
    """
    wanted = np.dtype(dtype)
    if wanted.kind != "f":
        raise TypeError(f"pb.tree.cast takes a real floating-point dtype, got {wanted}")

    def change(leaf: Any) -> Any:
        is_real = isinstance(leaf, Tensor | np.ndarray | np.generic) and leaf.dtype.kind == "f"
        return leaf.astype(wanted) if is_real else leaf

    return map(change, tree)


@door
def requires_grad_(tree: Any, requires_grad: bool = True) -> Any:
    """The tree itself, whose floating-point and complex tensors now require grad, or no longer do.

    >>> parameters = pb.tree.requires_grad_({"w": pb.ones(2), "count": 3})
    >>> parameters["w"].requires_grad
    True
    """
    for leaf, path in zip(leaves(tree), paths(tree), strict=True):
        if isinstance(leaf, Tensor):
            if leaf.dtype.kind in "fc":
                leaf.requires_grad_(requires_grad)
        elif requires_grad and isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc":
            raise TypeError(
                f"pb.tree.requires_grad_: the leaf {path or 'itself'} is a NumPy array, which cannot require grad; "
                "make tensors first: pb.tree.map(pb.tensor, tree)"
            )
    return tree


def detach(tree: Any) -> Any:
    """The tree with its tensors detached from their history; they share memory.

    >>> pb.tree.detach({"w": pb.ones(2, requires_grad=True)})["w"].requires_grad
    False
    """
    return map(lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else leaf, tree)


class Rest:
    """What `partition` left over: the other leaves, and the structure that they and the chosen ones have together.

    It is a tree, and can be given to transforms and to compiled functions as an argument.
    """

    __slots__ = ("_is_chosen", "_leaves", "_structure")

    def __init__(self, tree_structure: Structure, is_chosen: tuple[bool, ...], rest: Iterable[Any]) -> None:
        self._structure, self._is_chosen, self._leaves = tree_structure, is_chosen, tuple(rest)

    def __repr__(self) -> str:
        return f"<rest of a tree: {len(self._leaves)} of {len(self._is_chosen)} leaves>"


_pytree.register(
    Rest,
    lambda rest: (rest._leaves, (rest._structure, rest._is_chosen)),
    lambda about, given: Rest(about[0], about[1], given),
)


@door
def partition(tree: Any, predicate: Callable[[str, Any], bool]) -> tuple[dict[str, Any], Rest]:
    """The leaves for which `predicate(path, leaf)` holds, as a dict by path, and the rest; `merge` undoes it.

    Differentiate and train the first, and the second stays as it is:

    >>> model = {"body": {"w": pb.tensor(2.0)}, "head": {"w": pb.tensor(3.0)}}
    >>> trained, frozen = pb.tree.partition(model, lambda path, leaf: path.startswith("head"))
    >>> def loss(trained):
    ...     model = pb.tree.merge(trained, frozen)
    ...     return model["body"]["w"] * model["head"]["w"]
    >>> pb.func.grad(loss)(trained)
    {'head/w': tensor(2.)}
    """
    found, tree_structure = flatten(tree)
    names = paths(tree)
    is_chosen = tuple(bool(predicate(name, leaf)) for name, leaf in zip(names, found, strict=True))
    chosen = {name: leaf for name, leaf, is_one in zip(names, found, is_chosen, strict=True) if is_one}
    if len(chosen) != sum(is_chosen):
        raise ValueError("pb.tree.partition: two leaves have the same path, because keys differ in their type only")
    others = [leaf for leaf, is_one in zip(found, is_chosen, strict=True) if not is_one]
    return chosen, Rest(tree_structure, is_chosen, others)


@door
def merge(chosen: dict[str, Any], rest: Rest) -> Any:
    """The tree of which `partition` made these two, with the leaves that they have now.

    >>> chosen, rest = pb.tree.partition((1, 2, 3), lambda path, leaf: leaf > 1)
    >>> pb.tree.merge({path: 10 * leaf for path, leaf in chosen.items()}, rest)
    (1, 20, 30)
    """
    tree_structure, is_chosen = rest._structure, rest._is_chosen
    names = path_texts(unflatten(tree_structure, range(len(is_chosen))))
    expected = [name for name, is_one in zip(names, is_chosen, strict=True) if is_one]
    if chosen.keys() != set(expected):
        raise ValueError(f"pb.tree.merge: the rest goes with the leaves {expected}, got {list(chosen)}")
    others = iter(rest._leaves)
    merged = [chosen[name] if is_one else next(others) for name, is_one in zip(names, is_chosen, strict=True)]
    return unflatten(tree_structure, merged)
