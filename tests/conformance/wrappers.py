"""Payloads of our own, for the conformance cases about wrappers.

| class   | what                                                            |
|---------|-----------------------------------------------------------------|
| TwoPart | two arrays of one shape; every operator applies to both         |
| Nested  | rows of different lengths: values, and where the rows begin     |
| DArray  | one shard of an array on a mesh of processes, and how it is spread |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.tensors.tensor import wrap
from tests.conformance.aot import VARIANTS


class TwoPart:
    """Two arrays of one shape."""

    def __init__(self, a: Any, b: Any, tag: str = "") -> None:
        self.a, self.b, self.tag = a, b, tag

    @property
    def shape(self) -> Any:
        """The shape of either."""
        return self.a.shape

    @property
    def dtype(self) -> Any:
        """The type of either."""
        return self.a.dtype

    @staticmethod
    def evaluate_op(op: Any, operands: Any, params: dict[str, Any]) -> Any:
        """The operator on both parts."""
        kind = next(type(x) for x in operands if isinstance(x, TwoPart))
        tag = next(x.tag for x in operands if isinstance(x, TwoPart))
        firsts = op.call(*[x.a if isinstance(x, TwoPart) else x for x in operands], **params)
        seconds = op.call(*[x.b if isinstance(x, TwoPart) else x for x in operands], **params)
        if isinstance(firsts, tuple):
            return tuple(kind(a, b, tag) for a, b in zip(firsts, seconds, strict=True))
        return kind(firsts, seconds, tag)

    def __tensor_flatten__(self) -> Any:
        return ("a", "b"), self.tag

    @classmethod
    def __tensor_unflatten__(cls, inner: dict[str, Any], meta: Any, size: Any, stride: Any) -> TwoPart:
        return cls(inner["a"], inner["b"], meta)


class Coercing(TwoPart):
    """The same, and gradients with another tag are taken for what they are wanted to be."""

    def __coerce_same_metadata_as_tangent__(self, meta: Any, kind: Any = None) -> Any:
        return None if kind is not None else Coercing(self.a, self.b, meta)


class Nested:
    """Rows of different lengths. Outside it is one axis of rows and one whose length is that of the longest."""

    def __init__(self, values: Any, offsets: Any, rows: int, longest: int) -> None:
        self.values, self.offsets, self.rows, self.longest = values, offsets, rows, longest

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and the length of the longest."""
        return self.rows, self.longest

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.values.dtype

    @staticmethod
    def evaluate_op(op: Any, operands: Any, params: dict[str, Any]) -> Any:
        """Elementwise operators on the values, with the offsets of the first operand."""
        if op.family not in ("elementwise", "special") and op.name not in ("copy", "_assign"):
            raise NotImplementedError(f"{op.name} of a Nested")
        like = next(x for x in operands if isinstance(x, Nested))
        values = op.call(*[x.values if isinstance(x, Nested) else x for x in operands], **params)
        return Nested(values, like.offsets, like.rows, like.longest)

    def __tensor_flatten__(self) -> Any:
        return ("values", "offsets"), (self.rows, self.longest)

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Any], meta: Any, size: Any, stride: Any) -> Nested:
        return Nested(inner["values"], inner["offsets"], *meta)


# Shards. -------------------------------------------------------------------------------------------------------------


class Mesh:
    """Processes that all compute the same, of which only this one is there."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.log: list[str] = []  # the collectives that ran


REPLICATE, PARTIAL = "replicate", "partial(sum)"

meshes: dict[int, Mesh] = {}


@pb.aot.effect_op("wrapper_tests::all_reduce")
def all_reduce(x: np.ndarray, mesh: int) -> np.ndarray:
    """The sum over the mesh, where every process has the same."""
    meshes[mesh].log.append("all_reduce")
    return x * meshes[mesh].size


@pb.aot.effect_op("wrapper_tests::all_gather")
def all_gather(x: np.ndarray, mesh: int, size: int, axis: int) -> np.ndarray:
    """The shards of the mesh behind each other."""
    meshes[mesh].log.append("all_gather")
    return np.concatenate([x] * size, axis)


@all_gather.register_fake
def gathered(x: Any, mesh: int, size: int, axis: int) -> Any:
    """What the shards behind each other look like."""
    return np.empty([n * size if k == axis else n for k, n in enumerate(x.shape)], x.dtype)


def shard(axis: int) -> str:
    """Spread along an axis."""
    return f"shard({axis})"


class DArray:
    """The shard that this process has of an array, which is spread over a mesh as `placement` says."""

    def __init__(self, local: Any, mesh: Mesh, placement: str) -> None:
        self.local, self.mesh, self.placement = local, mesh, placement

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        return tuple(n * self.mesh.size if self.placement == shard(k) else n for k, n in enumerate(self.local.shape))

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.local.dtype

    def redistributed(self, placement: str) -> DArray:
        """The same array, spread in another way."""
        if placement == self.placement:
            return self
        local = wrap(self.local)
        with pb.no_grad():
            if self.placement == PARTIAL:
                local = all_reduce(local, id(self.mesh))
            elif self.placement != REPLICATE:
                local = all_gather(local, id(self.mesh), self.mesh.size, int(self.placement[6]))
            if placement != REPLICATE:
                axis = int(placement[6])
                mine = slice(0, local.shape[axis] // self.mesh.size)
                local = local[(slice(None),) * axis + (mine,)].copy()
        return DArray(local._data, self.mesh, placement)

    @staticmethod
    def evaluate_op(op: Any, operands: Any, params: dict[str, Any]) -> Any:
        """The operator on shards, after collectives where it needs them."""
        mesh = next(x.mesh for x in operands if isinstance(x, DArray))
        given = [DArray(x, mesh, REPLICATE) if not isinstance(x, DArray) and _is_array(x) else x for x in operands]
        given, placement = _arranged(op, given)
        local = op.call(*[x.local if isinstance(x, DArray) else x for x in given], **params)
        return DArray(local, mesh, placement)

    def __tensor_flatten__(self) -> Any:
        return ("local", "mesh"), self.placement

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Any], meta: Any, size: Any, stride: Any) -> DArray:
        return DArray(inner["local"], inner["mesh"], meta)

    def __coerce_tangent_metadata__(self) -> DArray:
        return self.redistributed(REPLICATE) if self.placement == PARTIAL else self

    def __coerce_same_metadata_as_tangent__(self, meta: Any, kind: Any = None) -> DArray | None:
        return None if kind is not None or meta == PARTIAL else self.redistributed(meta)


def _is_array(x: Any) -> bool:
    return getattr(x, "ndim", 0) > 0


def _arranged(op: Any, given: list[Any]) -> tuple[list[Any], str]:
    """The operands as the operator takes them, and how its result is spread."""
    arrays = [x for x in given if isinstance(x, DArray)]
    spread = [x.placement for x in arrays]
    if op.name == "matmul":
        known = {
            (shard(0), REPLICATE): shard(0), (REPLICATE, shard(1)): shard(1), (shard(1), shard(0)): PARTIAL,
            (REPLICATE, REPLICATE): REPLICATE,
        }  # fmt: skip
        if tuple(spread) in known:
            return given, known[tuple(spread)]
    elif len(arrays) == 1 and op.name in ("matrix_transpose", "permute_dims"):
        return given, {shard(0): shard(1), shard(1): shard(0)}.get(spread[0], spread[0])
    elif len(set(spread)) == 1 and (spread[0] != PARTIAL or op.name in ("copy", "add", "_assign", "negative")):
        return given, spread[0]
    elif op.name == "multiply" and spread.count(PARTIAL) == 1 and set(spread) <= {PARTIAL, REPLICATE}:
        return given, PARTIAL  # linear in each
    else:
        wanted = next((each for each in spread if each not in (REPLICATE, PARTIAL)), REPLICATE)
        return [x.redistributed(wanted) if isinstance(x, DArray) else x for x in given], wanted
    return [x.redistributed(REPLICATE) for x in given], REPLICATE


# Making and comparing them. ------------------------------------------------------------------------------------------


def two(a: Any, b: Any, kind: type = TwoPart, tag: str = "") -> pb.Tensor:
    """A tensor on two arrays."""
    return pb.aot.wrap_payload(kind(np.array(a, float), np.array(b, float), tag))


def nested(rows: list[list[float]]) -> pb.Tensor:
    """A tensor of rows."""
    offsets = np.cumsum([0, *map(len, rows)])
    payload = Nested(np.array([x for row in rows for x in row], float), offsets, len(rows), max(map(len, rows)))
    return pb.aot.wrap_payload(payload)


def spread(local: Any, mesh: Mesh, placement: str) -> pb.Tensor:
    """A tensor on a shard."""
    meshes[id(mesh)] = mesh
    return pb.aot.wrap_payload(DArray(np.array(local, float), mesh, placement))


def contents(tensor: Any) -> Any:
    """What there is to compare of a tensor or None: types, metas and arrays, as nested tuples and lists."""
    if tensor is None:
        return None
    payload = tensor._data if isinstance(tensor, pb.Tensor) else tensor
    if isinstance(payload, np.ndarray):
        return payload.shape, str(payload.dtype), payload.tolist()
    if not hasattr(payload, "__tensor_flatten__"):
        return payload
    names, meta = payload.__tensor_flatten__()
    return type(payload).__name__, meta, tuple((name, contents(getattr(payload, name))) for name in names)


def state(args: Any, outs: Any) -> Any:
    """Everything that a call and its backward passes leave behind."""
    tensors = [*args, *(outs if isinstance(outs, tuple) else (outs,))]
    return [
        (contents(x), x.requires_grad, x.is_leaf, x._version, contents(x.grad) if x.is_leaf else None) for x in tensors
    ]


def after(f: Callable[..., Any], make: Callable[[], Any], backward: Any = None) -> Any:
    """The state after a call of `f` with new arguments, and after `backward(outs)`."""
    args = make()
    outs = f(*args)
    if backward is not None:
        backward(outs, args)
    return state(args, outs)


def check(f: Callable[..., Any], make: Callable[[], Any], backward: Any, variant: str) -> Any:
    """A call leaves behind what eager code does, the first time and from the cache."""
    compiled = VARIANTS[variant](f)
    expected = after(f, make, backward)
    for _ in range(3):
        assert after(compiled, make, backward) == expected
    assert compiled.cache_info()[1:3] == (1, 1)
    return expected


def leaf(tensor: pb.Tensor) -> pb.Tensor:
    """The tensor, as one that requires grad."""
    return tensor.requires_grad_()


A, B, Y = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [0.5, -1.0, 2.0]
ONES = two([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])


def inputs_of(graph: pb.aot.Graph) -> list[str]:
    """What the inputs of a graph are."""
    return [desc.expr() for desc in graph.input_descs]
