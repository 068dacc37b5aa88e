"""`StandIn`: what the function of an operator's `expand` is run on. What it does to them is added to a graph.

The function is written with operators or with NumPy's ufuncs, and does what the kernel does, in the same order. It may
look at `shape`, `dtype` and the like, and at the elements of a `constant`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.declare.op import Op, registry
from pullback.graph.ir import ArrayType, Node, Value, array_type, empty_like_type, type_of

Add = Callable[..., Value]
"""(an operator or "constant", operands, type, attributes) -> the result of a new node."""
_BOOL, _DOUBLE = np.dtype(np.bool_), np.dtype(np.float64)
_NUMBERS = (bool, int, float)


class Writer:
    """Adds what operators do to stand-ins. What an elementwise operator computes lies in memory as its results do,
    whose types are `likes`, and has the dtype of one of them, or truth values, unless it is cast to another; else all
    is in row-major order."""

    def __init__(self, add: Add, *likes: ArrayType) -> None:
        self._add = add
        self._likes = likes
        self._known: dict[Any, Value] = {}

    def written(self, function: Callable[..., Any], node: Node) -> tuple[Value, ...]:
        """What the function gives for the operands and parameters of a node."""
        made = function(*[StandIn(self, x) if type(x) is Value else x for x in node.operands], **node.attrs)
        return tuple([x.value for x in (made if isinstance(made, tuple) else (made,))])

    def apply(self, op: Op, operands: Any, params: dict[str, Any]) -> StandIn:
        """The result of an operator; the same one if it is asked for twice. What NumPy made of numbers is a number."""
        given = [x.item() if self._is_number(x) else x for x in operands]
        if not all(type(x) in (StandIn, np.ndarray, *_NUMBERS) for x in given):
            raise TypeError(f"{op.name} of something that is neither an array nor a number")
        values = tuple([self.value_of(x) for x in given])
        key = None if params else (op.name, *[x if type(x) is Value else (type(x), repr(x)) for x in values])
        if key is None or key not in self._known:
            values = self._of_one_dtype(values)
            made = self._add(op, values, self._type(op, values, params), params)
            if key is None:
                return StandIn(self, made)
            self._known[key] = made
        return StandIn(self, self._known[key])

    def _of_one_dtype(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Of numbers alone NumPy makes float64: a choice between them is one between constants of another dtype."""
        dtype = self._likes[0].dtype if self._likes else _DOUBLE
        if dtype == _DOUBLE or any(type(x) is Value and x.type.dtype != _BOOL for x in values):
            return values
        return tuple([self.value_of(np.array(x, dtype)) if type(x) is float else x for x in values])

    def _is_number(self, x: Any) -> bool:
        return isinstance(x, np.generic) or (bool(self._likes) and type(x) is np.ndarray and not x.ndim)

    def value_of(self, x: Any) -> Any:
        """What a node has as an operand."""
        if type(x) is StandIn:
            return x.value
        if type(x) is not np.ndarray:
            return x
        x.flags.writeable = False
        return self._add("constant", (), type_of(x), {"value": x})

    def _type(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> ArrayType:
        if op.is_view:
            return type_of(op.kernel(empty_like_type(operands[0].type), **params))
        spec = op.specs_of(*[x.type.spec if type(x) is Value else x for x in operands], **params)
        if not self._likes:
            return array_type(spec.shape, spec.dtype)
        like = next((each for each in self._likes if each.dtype == spec.dtype), self._likes[0])
        given = [x.type.dtype for x in operands if type(x) is Value]
        if spec.dtype not in (like.dtype, _BOOL, *given) and op.flow != "casts":
            raise TypeError(f"{op.name} would compute in {spec.dtype}")
        if spec.shape != like.shape or like.strides is None:  # of operands that are not repeated yet
            return array_type(spec.shape, spec.dtype)
        steps = [step // like.dtype.itemsize * spec.dtype.itemsize for step in like.strides]
        return array_type(spec.shape, spec.dtype, tuple(steps))


class StandIn(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array of the graph."""

    def __init__(self, writer: Writer, value: Value) -> None:
        self.writer = writer
        self.value = value

    shape = property(lambda self: self.value.type.shape)
    dtype = property(lambda self: self.value.type.dtype)
    ndim = property(lambda self: self.value.type.ndim)
    size = property(lambda self: self.value.type.size)
    is_in_rows = property(lambda self: self.value.type.strides is None, doc="Does it lie in row-major order?")

    @property
    def constant(self) -> Any:
        """The array itself, if the graph has it."""
        node = self.value.node
        return node.attrs["value"] if node is not None and node.op == "constant" else None

    @staticmethod
    def evaluate_op(op: Op, operands: Any, params: dict[str, Any]) -> StandIn:
        """Add the call of an operator."""
        writer: Writer = next(x.writer for x in operands if type(x) is StandIn)
        return writer.apply(op, operands, params)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        op = _operators().get(ufunc)
        return NotImplemented if op is None or method != "__call__" or options else self.writer.apply(op, inputs, {})

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.where and len(args) == 3:
            if not any(type(x) is StandIn for x in args[1:]):  # numbers alone, of the kind that the result has
                args = (args[0], *map(float, args[1:]))
            return self.writer.apply(registry["where"], args, {})
        if function is np.clip and len(args) == 3:
            return np.minimum(np.maximum(args[0], args[1]), args[2])
        return NotImplemented

    def __getitem__(self, index: Any) -> StandIn:
        index = index if isinstance(index, tuple) else (index,)
        return self.writer.apply(registry["_basic_index"], (self,), {"index": index})

    def reshape(self, shape: tuple[int, ...]) -> StandIn:
        """The same elements in another shape, as a view."""
        return self.writer.apply(registry["_reshape"], (self,), {"shape": shape})

    def astype(self, dtype: Any) -> StandIn:
        """The same numbers as another dtype."""
        return self.writer.apply(registry["_astype"], (self,), {"dtype": np.dtype(dtype)})

    def beside(self, array: Any) -> StandIn:
        """A constant of the same graph."""
        return StandIn(self.writer, self.writer.value_of(array))

    def max(self, axis: tuple[int, ...], keepdims: bool = False) -> StandIn:
        """The largest elements."""
        return self.writer.apply(registry["amax"], (self,), {"axis": axis, "keepdims": keepdims})

    def sum(self, axis: tuple[int, ...], keepdims: bool = False) -> StandIn:
        """Sums of elements."""
        return self.writer.apply(registry["sum"], (self,), {"axis": axis, "keepdims": keepdims, "dtype": None})


@functools.cache
def _operators() -> dict[np.ufunc, Op]:
    """The operators that native code has an instruction for, by NumPy's ufunc of that name."""
    found: dict[np.ufunc, Op] = {}
    for op in list(registry.values()):
        ufunc = op.kernel if isinstance(op.kernel, np.ufunc) else getattr(np, op.name, None)
        if op.family == "elementwise" and op.scalar is not None and isinstance(ufunc, np.ufunc):
            found.setdefault(ufunc, op)
    return found
