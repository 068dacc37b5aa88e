"""Fast paths for reading and writing parts of tensors in normal modes: `x[1:3]`, `x[i] = v`, `x[1:3] += v`.

A read is one view and one node. A write to a part is one node, the history of the base: no view is made for it, and
nothing but the part is touched. Everything unusual is left to the general path (`eager/direct.py`, `eager/inplace.py`),
which alone defines the meaning; tests compare the two. What backward passes do is in `tape/entries.py`.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.core.state import current, next_stamp, open_levels, switch
from pullback.declare.op import Op, registry
from pullback.declare.views import ViewStep
from pullback.eager.nodes import DirectNode, direct_node_class, fast_node_classes
from pullback.eager.pull import NOT_SAVED, call_rules
from pullback.tape.accumulate import accumulator_of
from pullback.tape.history import ASSIGNED, CopySlices, is_foreign, memory_order, refresh_view
from pullback.tape.node import BY_INDEX, TO_INDEX, FreshLeaf, Node
from pullback.tensors.overwrites import UNWRITTEN, epoch_of, make_way
from pullback.tensors.tensor import UNSET, Leaf, Tensor, own_counter, shared_counter
from pullback.tensors.views import CreationMeta, ViewInfo, ViewWithin, record_of_view

ndarray = np.ndarray
add = np.add
DEFAULT = CreationMeta.DEFAULT
Key = tuple[Any, ...]  # a basic index in canonical form, which has an Ellipsis


class PartNode(DirectNode):
    """The node of a read by a basic index, which it keeps as it is: a long loop makes many of them, and every object
    that they keep is one more to look at for the garbage collector."""

    __slots__ = ("key",)

    key: Key

    @property
    def params(self) -> dict[str, Any]:  # type: ignore[override]
        return {"index": self.key}

    def add_to_part(self, whole: Any, gradient: Any) -> bool:
        part = whole[self.key]
        add(part, gradient, part)
        return True


class PartWrite(CopySlices):
    """The history of a base after a write to a part of it that a basic index names, which it keeps as it is."""

    __slots__ = ("key",)

    key: Key
    part_kind = TO_INDEX

    @property
    def steps(self) -> tuple[ViewStep, ...]:  # type: ignore[override]
        return (ViewStep(registry["_basic_index"], {"index": self.key}),)

    def part_in(self, whole: Any) -> Any:
        return whole[self.key]


class Reader:
    """`x[key]` for the operator that a basic index is."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.made: Any = UNSET  # the class of nodes, made when the first is needed

    def read(self, x: Tensor, key: Key) -> Tensor:
        """The view, recorded if somebody can ask for its gradient."""
        extra: Any = x._extra
        modes = current()
        within = modes.within
        if (
            modes.usual is not switch.normal
            or type(x._data) is not ndarray
            or (extra is not within and (
                type(extra) is not ViewInfo or open_levels if within is None else is_foreign(x, within)
            ))
        ):
            found = None if modes.trace is None else modes.trace.part_again(self.op, x, key, modes)
            return self.op.call(x, index=key) if found is None else found
        node = x._node
        counter: Any = x._counter
        if extra is not within:
            if within is None and (node is None or extra.attr_version != counter.value):
                refresh_view(x)
            node, extra = x._node, x._extra  # as `is_foreign` may have left them
        if counter is None or not counter.shared:
            counter = shared_counter(x)  # before anything else refers to the memory
        # path: read part
        payload = x._data[key]
        out = Tensor()
        out._data = payload
        out._spec = spec = spec_for(payload.shape, payload.dtype)
        out._counter = counter
        out._meta = out._node = None
        is_normal = extra is None or type(extra) is ViewInfo
        out._extra = view = ViewInfo.__new__(ViewInfo) if is_normal else record_of_view(extra)  # type: ignore[assignment]
        view.attr_version = counter.value
        view.records = None
        view.creation_meta = DEFAULT
        step = tuple.__new__(ViewStep, (self.op, {"index": key}))
        if extra is None or extra.view is None:
            view.base, view.steps = x, (step,)
        else:
            view.base, view.steps = extra.base, (*extra.steps, step)
        if node is None or not spec.is_differentiable:
            return out
        if type(node) is Leaf:
            reference = node.accumulator
            if reference is None or (node := reference()) is None:
                node = accumulator_of(x)
        if self.made is UNSET:
            self.made = direct_node_class(self.op, call_rules(self.op), (PartNode,))  # type: ignore[arg-type]
            self.made.part_kind = BY_INDEX
        out._node = made = self.made()
        made.next = (node,)
        made.spec = spec
        made.rare = None
        made.key = key
        made.operand_specs = x._spec.single
        made.seq = next_stamp()
        return out

    def is_own_part(self, x: Tensor, key: Key, value: Any) -> bool:
        """Is this `x[key] = x[key]`, with a view that was just written? Python ends `x[key] += 1` with that."""
        view: Any = value._extra
        info: Any = x._extra
        modes = current()
        if info is modes.within:
            info = None
        kind = ViewInfo if modes.within is None else ViewWithin
        if (
            type(view) is not kind
            or value._meta is not None
            or value._counter is not x._counter
            or (info is not None and type(info) is not kind)
            or (modes.usual is not switch.normal and modes is not switch.no_grad)
            or open_levels
        ):
            return False
        base = x if info is None else info.base
        steps = view.steps
        if (
            view.base is not base
            or steps[-1].op is not self.op
            or steps[-1].params["index"] != key
            or len(steps) != (1 if info is None else len(info.steps) + 1)
            or (info is not None and steps[:-1] != info.steps)
            or type(base._data) is not ndarray
            or type(value._data) is not ndarray
            or (value._data.base is not base._data and value._data.base is not base._data.base)
            or not value._data.flags.writeable  # what is not written is an error all the same
        ):
            return False
        if value._node is None and base._node is None:
            return True
        return view.last_write()[1] == value._counter.value != view.attr_version  # type: ignore[union-attr]

    def assign(self, x: Tensor, key: Key, value: Any) -> bool:
        """`x[key] = value`, recorded, for a number or a tensor of the part's shape; says whether it did."""
        found = _base_to_write(x)
        if found is None:
            return False
        base, data = found
        part = x._data[key]
        old, behind = base._node, None
        if type(value) is Tensor:
            payload = value._data
            if not _is_operand(value, part, base) or (value._spec.shape and value._spec.shape != part.shape):
                return False
            behind = value._node
            if type(behind) is Leaf:
                behind = accumulator_of(value)
        else:
            payload = value
        if old is None and behind is None:
            return False
        counter = base._counter
        if counter is not None and counter.shared:
            make_way(base, part, "setitem")
        elif getrefcount(data) > _ALONE or data.base is not None:
            del part, data, found
            make_way(base, name="setitem")
            part = x._data[key]
        # path: write part
        part[...] = payload
        counter = base._counter or own_counter(base)
        counter.bump()  # type: ignore[union-attr]
        info: Any = x._extra
        if x is base:
            _history(base, ASSIGNED, None, key, (old, behind))
        else:
            steps = (*info.steps, ViewStep(self.op, {"index": key}))
            info.written = (_history(base, ASSIGNED, steps, key, (old, behind)), counter.value)  # type: ignore[union-attr]
        return True


class Placer:
    """`x[arrays] = value` for the operator that does so, whose rules read nothing but the arrays."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.made: Any = UNSET

    def assign(self, x: Tensor, value: Any, arrays: tuple[Any, ...], params: dict[str, Any]) -> bool:
        """Write a number or a tensor to the places that arrays of integers name, recorded; says whether it did."""
        found = _base_to_write(x)
        if found is None:
            return False
        base = found[0]
        del found
        old, behind, spec = base._node, None, None
        if type(value) is Tensor:
            if not _is_operand(value, x._data, base):
                return False
            payload, behind, spec = value._data, value._node, value._spec
            if type(behind) is Leaf:
                behind = accumulator_of(value)
        elif type(value) is float or type(value) is int:
            payload = value
        else:
            return False
        if old is None and behind is None:
            return False
        places: tuple[Any, ...] = arrays
        epochs: tuple[Any, ...] = ()
        for each in arrays:
            if type(each) is not ndarray:
                is_array = type(each) is Tensor and type(each._data) is ndarray
                if not is_array or (each._extra is not None and each._extra is not base._extra):
                    return False
                places = tuple([each._data if type(each) is Tensor else each for each in arrays])
                epochs = tuple([epoch_of(each) if type(each) is Tensor else UNWRITTEN for each in arrays])
        view: Any = None if x is base else x._extra
        if view is not None and old is not None and (x._node is None or view.attr_version != x._counter.value):  # type: ignore[union-attr]
            refresh_view(x)
        make_way(x, name="setitem")
        # path: write places
        self.op.inplace_kernel(x._data, payload, *places, **params)  # type: ignore[misc]
        counter: Any = base._counter or own_counter(base)
        counter.bump()
        if self.made is UNSET:
            self.made = direct_node_class(self.op, call_rules(self.op))  # type: ignore[arg-type]
        node = self.made()
        ends = (None,) * len(places)
        node.next = (old if view is None or old is None else x._node, behind, *ends)
        node.spec = x._spec
        node.rare = None
        node.params = params
        node.operand_specs = (x._spec, spec, *ends)
        node.rest_data = places
        node.rest_epochs = epochs
        node.seq = next_stamp()
        if view is None:
            base._node = node
        else:
            view.written = (_history(base, node, view.steps, (), (old, behind, *ends)), counter.value)
        return True


def write_view(op: Op, target: Any, other: Any) -> bool:
    """`op` in place on a view, recorded, for an operator with fast paths and a number or a tensor; says whether it did.

    What the rules read of the old part is copied, and nothing else is.
    """
    is_view = type(target._extra) is ViewInfo or type(target._extra) is ViewWithin
    found = _base_to_write(target) if is_view and op.fast_rules is not None else None
    if found is None:
        return False
    base = found[0]
    spec, data, old = target._spec, target._data, base._node
    behind: Any = None
    if type(other) is Tensor:
        if not _is_operand(other, data, base) or not (other._spec is spec or not other._spec.shape):
            return False
        operand, behind = other._data, other._node
        if type(behind) is Leaf:
            behind = accumulator_of(other)
    elif type(other) is float or type(other) is int:
        operand = other if op.takes_numbers else spec.number(other)
    else:
        return False
    if old is None and behind is None:
        return False
    reads, reads_output = op.reads((old is not None, behind is not None))
    if reads_output:
        return False
    view: Any = target._extra
    if old is not None and (target._node is None or view.attr_version != target._counter.value):
        refresh_view(target)
    if op.fast_nodes is None:
        op.fast_nodes = fast_node_classes(op, op.fast_rules or ())
    made: Any = op.fast_nodes[0 if type(other) is not Tensor or other._spec is spec else 1]
    fn = made()
    fn.next = (None if old is None else target._node, behind)
    fn.spec = spec
    fn.rare = None
    fn.seq = next_stamp()
    slots = made.__slots__
    if "x_data" in slots:
        fn.x_data, fn.x_epoch = (data.copy(), None) if 0 in reads else (None, UNWRITTEN)
    if "y_data" in slots:
        fn.y_data, fn.y_epoch = None, UNWRITTEN
        if type(other) is not Tensor:
            fn.y_data = operand
        elif 1 in reads:
            fn.y_data, fn.y_epoch = operand, epoch_of(other)
    if "out_data" in slots:
        fn.out_data = NOT_SAVED
    make_way(target, name=op.name)
    (op.native or op.kernel)(data, operand, out=data, casting="same_kind")
    # path: write view
    counter = target._counter
    counter.bump()
    step, *more = view.steps
    is_basic = not more and step.op.name == "_basic_index"
    steps, key = (None, step.params["index"]) if is_basic else (view.steps, ())
    view.written = (_history(base, fn, steps, key, (old, behind)), counter.value)
    return True


def _base_to_write(x: Tensor) -> tuple[Tensor, Any] | None:
    """The base of a tensor and its array, if a write to part of it is nothing but that: in normal modes, to memory
    without gaps, of a tensor that is no leaf and that nobody watches."""
    extra: Any = x._extra
    modes = current()
    within = modes.within
    base = x
    if extra is not within:
        if type(extra) is not (ViewInfo if within is None else ViewWithin):
            return None
        base = extra.base
        for step in extra.steps:
            if not step.op.shows_each_once:
                return None
    data = base._data
    if (
        modes.usual is not switch.normal
        or open_levels
        or base._extra is not within
        or base._meta is not None
        or x._meta is not None
        or not x._spec.is_real
        or type(base) is not Tensor
        or type(data) is not ndarray
        or type(x._data) is not ndarray
        or type(x._node) is Leaf
        or not isinstance(base._node, (Node, type(None)))
        or type(base._node) is FreshLeaf
        or not data.flags.forc
    ):
        return None
    return base, data


def _is_operand(value: Tensor, part: Any, base: Tensor) -> bool:
    """Is a tensor one of the part's kind, in other memory? The history of a view is brought up to date."""
    extra: Any = value._extra
    if type(value._data) is not ndarray or value._spec.dtype is not part.dtype:
        return False
    within = base._extra
    if extra is not within:
        if within is not None:
            if is_foreign(value, within):
                return False
        elif type(extra) is not ViewInfo:
            return False
        elif value._node is None or extra.attr_version != value._counter.value:  # type: ignore[union-attr]
            refresh_view(value)
    return value._counter is None or not np.may_share_memory(part, value._data)


def _history(
    base: Tensor, fn: Any, steps: tuple[ViewStep, ...] | None, key: Key, behind: tuple[Any, ...]
) -> CopySlices:
    """The history of a base after `fn` described how the part `steps` of it, or without those `key`, was written."""
    node: CopySlices
    if steps is None:
        node = written = PartWrite()
        written.key = key
    else:
        node = CopySlices()
        node.steps = steps
    base._node = node
    node.fn = fn
    node.position = 0
    node.order = None if base._data.flags.c_contiguous else memory_order(base._data)
    node.lock = None
    node.next = behind
    node.next_nr = None
    node.spec = base._spec
    node.rare = None
    node.seq = next_stamp()
    return node


def _references_to_a_payload() -> int:
    x = Tensor()
    x._data = np.empty(2)
    x._node = x._extra = None

    def found() -> tuple[Tensor, Any]:
        data = x._data
        return x, data

    pair = found()
    _, data = pair
    part = x._data[:1]
    return getrefcount(data) if part.size else 0


_ALONE = _references_to_a_payload()
