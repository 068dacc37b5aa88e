"""`simplify`: values in place of others that are equal to the last bit, and cost more.

    x*1  x/1  x-0.0  x+(-0.0)  x**1  -(-x)  conj(conj(x))      x
    a cast that changes nothing, or back without loss          x
    sum of integers over no axes                               x
    permute_dims, reshape, broadcast_to, x[:] to the same      x, and one view for two where both change something
    what an update wrote, read back                            see `graph/passes/simplify.py`

Nodes that nobody needs any more are left to `dce`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from pullback.core.axes import inverse_permutation
from pullback.declare.op import Op
from pullback.declare.views import ViewStep
from pullback.graph.ir import (
    BACKWARD,
    ArrayType,
    Node,
    Program,
    Value,
    array_type,
    find_operator,
    root_of,
    stored_inputs,
)
from pullback.graph.rewrite import Replacements, attributes_key, in_bodies, keep_remarks, outline

# `Simplifier`: one walk over a graph that asks rules for values to put in place of others, and says which may stand.
#
# A rule names a value of the same type, strides included, so no later node sees another layout. What the caller gets
# keeps memory of its own: `x*1` that is returned is not replaced by the input x, nor by something else that is
# returned.

Rule = Callable[["Simplifier", Node], Value | None]
Rules = Mapping[str, tuple[Rule, ...]]


class Simplifier:
    """One walk over a graph. `made` grows; `visible` are the values whose memory an output lies in."""

    def __init__(self, program: Any, rules: Rules, any_view: tuple[Rule, ...]) -> None:
        self.program = program
        self.rules = rules  # by the name of the operator whose result they replace
        self.any_view = any_view  # for views that have no rules of their own
        self.made = outline(program)
        self.replaced = Replacements()
        self.stored = stored_inputs(program)
        self.returned: set[Value] = {value for value in program.outputs if value is not None}
        self.visible: set[Value] = set()
        # What backward reads must not become memory that the caller writes to before.
        self.kept = {root_of(x) for node in program.nodes if node.tag == BACKWARD for x in node.inputs}
        self._users: dict[Value, list[Node]] | None = None
        for value in self.returned:
            self._show(value)

    def run(self) -> Any:
        """The simplified graph."""
        nodes, found, rules = self.made.nodes, self.replaced.found, self.rules
        for original in self.program.nodes:
            node = self.replaced.node(original)
            if node is not original:
                self._follow(original, node)
            chosen = rules.get(node.op)
            if chosen is None and node.target is not None:
                chosen = self.any_view if node.is_view else _declared(node.target)
            value = None if chosen is None else self._first_allowed(chosen, node)
            if value is None:
                nodes.append(node)
            else:
                found[original.results[0]] = found[node.results[0]] = value
        return self.replaced.finish(self.made, self.program)

    def _first_allowed(self, rules: tuple[Rule, ...], node: Node) -> Value | None:
        if len(node.results) != 1:
            return None
        for rule in rules:
            value = rule(self, node)
            if value is not None and self._may_stand_for(value, node.results[0]):
                return value
        return None

    def _follow(self, original: Node, node: Node) -> None:
        for old, new in zip(original.results, node.results, strict=True):
            if old in self.visible:
                self.visible.add(new)
            if old in self.returned:
                self.returned.add(new)

    def _show(self, value: Value) -> None:
        """An output lies in the memory of `value`."""
        self.visible.add(value)
        while value.node is not None and value.node.is_view:
            value = value.node.operands[0]
            self.visible.add(value)

    # What rules ask.

    def add(self, name: str, operands: tuple[Any, ...], attrs: dict[str, Any], type: ArrayType, like: Node) -> Value:
        """The result of a new node that stands where `like` stood."""
        target = name if name in ("update", "constant") else find_operator(name)
        node = self.made.add(target, operands, attrs, (type,), like.tag)
        keep_remarks(node, like)
        return node.result

    def users(self, value: Value) -> list[Node]:
        """The nodes of the graph that read a value."""
        if self._users is None:
            self._users = {}
            for node in self.program.nodes:
                for x in node.inputs:
                    self._users.setdefault(x, []).append(node)
        return self._users.get(value, [])

    def may_share(self, value: Value, old: Value) -> bool:
        """May a value with other memory stand for `old`, as far as stores and the caller are concerned?"""
        root = root_of(value)
        if root in self.stored:
            return False
        if old not in self.visible:
            return True
        is_own = root.node is not None and root.node.op != "constant"
        is_own = is_own and root not in self.visible and root not in self.kept
        return is_own and not (old.node is not None and old.node.is_view)

    def _may_stand_for(self, value: Value, old: Value) -> bool:
        if value.type.spec != old.type.spec or (value.type != old.type and not self._layout_is_irrelevant(value, old)):
            return False
        if root_of(value) is root_of(old):
            allowed = old not in self.returned or not (value in self.returned or value.node is None)
        else:
            allowed = self.may_share(value, old)
        if allowed and old in self.visible:
            self._show(value)
        if allowed and old in self.returned:
            self.returned.add(value)
        return allowed

    def _layout_is_irrelevant(self, value: Value, old: Value) -> bool:
        """Do all readers give row-major results all the same, when they get `value`, which is row-major?"""
        if value.type.strides is not None or old in self.visible:
            return False
        for node in self.users(old):
            if node.op == "store" or (node.op == "update" and node.operands[0] is not old):
                continue
            others = [x for x in node.inputs if x is not old]
            if node.target is None or node.is_view or node.target.family == "custom":
                return False
            if any(x.type.strides is not None for x in (*others, *node.results)):
                return False
        return True


# Rules that replace a value by one that is equal to the last bit. `graph/passes/simplify.py` lists them.
#
# `x+0.0` is not simplified, because -0.0 + 0.0 is 0.0; `x*0` and `x-x` are not, because of nan and inf. For the same
# reasons complex numbers are multiplied by 1 after all, and floats are summed over no axes: that makes 0.0 of -0.0.

# Arithmetic -----------------------------------------------------------------------------------------------------------


def number_of(x: Any) -> Any:
    """The number that an operand is: a Python number, or a constant of one element. None if it is neither."""
    if type(x) is not Value:
        return x
    node = x.node
    return node.attrs["value"].item() if node is not None and node.op == "constant" and x.type.size == 1 else None


def _kind(x: Any) -> str:
    return x.type.dtype.kind if type(x) is Value else ""


def _is_one(x: Any, other: Any) -> bool:
    return number_of(x) == 1 and _kind(other) in tuple("fiub")


def _is_zero(x: Any, other: Any) -> bool:
    return _is_nothing(x, other, 1.0)


def _is_negative_zero(x: Any, other: Any) -> bool:
    return _is_nothing(x, other, -1.0)


def _is_nothing(x: Any, other: Any, sign: float) -> bool:
    """Is `x` a zero that changes nothing? Of floats only the zero with this sign is one."""
    number = number_of(x)
    if number is None or number != 0:
        return False
    kind = _kind(other)
    if kind in tuple("iu"):
        return True
    if isinstance(number, complex):
        return False
    return kind in tuple("f" if sign < 0 else "fc") and bool(np.copysign(1.0, number) == sign)


def _with(is_neutral: Callable[[Any, Any], bool]) -> Rule:
    """An operand that changes nothing: the second, or either where they may be exchanged. A gradient may be missing."""

    def rule(rules: Simplifier, node: Node) -> Value | None:
        x, y = node.operands
        assert node.target is not None
        if node.target.commutes and (x is None or y is None):
            return x if y is None else y
        if is_neutral(y, x):
            return x
        return y if node.target.commutes and is_neutral(x, y) else None

    return rule


def twice(rules: Simplifier, node: Node) -> Value | None:
    """An operator that is its own inverse."""
    inner = _maker(node.operands[0])
    return inner.operands[0] if inner is not None and inner.target is node.target else None


def sum_over_nothing(rules: Simplifier, node: Node) -> Value | None:
    """A sum over no axes, of integers."""
    (x,) = node.operands
    return x if node.attrs["axis"] == () and _kind(x) in tuple("iub") else None


def astype(rules: Simplifier, node: Node) -> Value | None:
    """A cast to the dtype that is there, or there and back."""
    (x,) = node.operands
    if _dtype(node) == x.type.dtype:
        return x
    inner = _maker(x)
    if inner is None or inner.target is not node.target:
        return None
    (source,) = inner.operands
    is_kept = _dtype(node) == source.type.dtype and _holds(_dtype(inner), source.type.dtype)
    return source if is_kept else None


def _dtype(node: Node) -> np.dtype[Any]:
    return np.dtype(node.attrs["dtype"])


def _holds(wide: np.dtype[Any], narrow: np.dtype[Any]) -> bool:
    """Has every number of one dtype its place in the other? NumPy counts int64 to float64 as safe, which rounds."""
    if not np.can_cast(narrow, wide, "safe"):
        return False
    if narrow.kind in "iu" and wide.kind in "fc":
        return np.finfo(wide).nmant >= 8 * narrow.itemsize
    return True


# Views ----------------------------------------------------------------------------------------------------------------


def _maker(x: Any) -> Node | None:
    return x.node if type(x) is Value else None


def same(rules: Simplifier, node: Node) -> Value | None:
    """All of `x`."""
    value: Value = node.operands[0]
    return value


def permute(rules: Simplifier, node: Node) -> Value | None:
    """Axes in the order that they have; one permutation for two."""
    (x,), axes = node.operands, node.attrs["axes"]
    inner = _maker(x)
    is_double = inner is not None and inner.target is node.target
    if is_double and inner is not None:
        (x,), first = inner.operands, inner.attrs["axes"]
        axes = tuple([first[axis] for axis in axes])
    if axes == tuple(range(len(axes))):
        return x
    return rules.add("permute_dims", (x,), {"axes": axes}, node.result.type, node) if is_double else None


def reshape(rules: Simplifier, node: Node) -> Value | None:
    """The shape that is there; one reshape for two."""
    (x,) = node.operands
    if x.type.shape == node.result.type.shape:
        return x
    inner = _maker(x)
    if inner is None or inner.op not in ("_reshape", "_view") or inner.operands[0].type.strides is not None:
        return None
    (x,) = inner.operands
    if x.type.shape == node.result.type.shape:
        return x
    return rules.add(node.op, (x,), node.attrs, node.result.type, node)


def broadcast(rules: Simplifier, node: Node) -> Value | None:
    """The shape that is there."""
    (x,) = node.operands
    return x if x.type.shape == node.result.type.shape else None


def basic_index(rules: Simplifier, node: Node) -> Value | None:
    """`x[:]`."""
    (x,) = node.operands
    return x if is_full_index(node.attrs["index"], x.type.shape) else None


def is_full_index(index: Any, shape: tuple[int, ...]) -> bool:
    """Does `x[index]` have everything of an array of this shape, in its order?"""
    parts = index if isinstance(index, tuple) else (index,)
    if not all(part is Ellipsis or isinstance(part, slice) for part in parts):
        return False
    before = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    lengths = [*shape[:before], *shape[len(shape) - (len(parts) - before - 1) :]] if before < len(parts) else shape
    slices = [part for part in parts if part is not Ellipsis]
    ranges = (part.indices(length) for part, length in zip(slices, lengths))
    return all(found == (0, length, 1) for found, length in zip(ranges, lengths))


# Updates and the views that read them: what was written is taken from where it was made.
#
# view(update(b, new, steps), the same steps)     new
# update(b, view(b, steps), steps)                b
# update(update(b, old, steps), new, steps)       update(b, new, steps), also if `old` went to a part of that view
# update(b, new, steps that reach all of b)       the inverse views of new, or a copy where memory must be new
# update(b, copy(new), steps)                     update(b, new, steps)

_RESHAPING = ("_reshape", "_view", "squeeze", "expand_dims")
_REPEATING = ("as_strided", "_windows")  # an element may be there twice, so that what was written last is read in both


def read_back(rules: Simplifier, node: Node) -> Value | None:
    """A view of an update that takes what the update wrote."""
    taken: list[tuple[Any, dict[str, Any]]] = []
    value = node.result
    maker: Node | None = node
    while maker is not None and maker.is_view:
        taken.append(_step_to(value))
        value = maker.operands[0]
        maker = value.node
    if maker is None or maker.op != "update":
        return None
    new, steps = maker.operands[1], maker.attrs["steps"]
    if type(new) is not Value or any(step.op.name in _REPEATING for step in steps):
        return None
    return new if _are_same(taken[::-1], steps) else None


def _step_to(value: Value) -> tuple[Any, dict[str, Any]]:
    """The view that a value is, as one step: of an operator with several results it is a part."""
    node = value.node
    assert node is not None and node.target is not None
    if node.target.num_outputs == 1:
        return node.target, node.attrs
    return find_operator("_part"), {"whole": node.target, "params": node.attrs, "index": value.index}


def _are_same(taken: list[tuple[Any, dict[str, Any]]], steps: tuple[ViewStep, ...]) -> bool:
    if len(taken) != len(steps):
        return False
    return all(
        op is step.op and attributes_key(attrs) == attributes_key(step.params)
        for (op, attrs), step in zip(taken, steps, strict=True)
    )


def write_back(rules: Simplifier, node: Node) -> Value | None:
    """An update with what is there already."""
    base, new = node.operands
    taken: list[tuple[Any, dict[str, Any]]] = []
    while type(new) is Value and new is not base and new.node is not None and new.node.is_view:
        taken.append(_step_to(new))
        new = new.node.operands[0]
    return base if new is base and _are_same(taken[::-1], node.attrs["steps"]) else None


def overwrite(rules: Simplifier, node: Node) -> Value | None:
    """An update of an update that wrote the same elements, or some of them."""
    base, new = node.operands
    inner = base.node
    if inner is None or inner.op != "update":
        return None
    steps, earlier = node.attrs["steps"], inner.attrs["steps"]
    if not _are_same([(step.op, step.params) for step in earlier[: len(steps)]], steps):
        return None
    return rules.add("update", (inner.operands[0], new), node.attrs, node.result.type, node)


def uncopied(rules: Simplifier, node: Node) -> Value | None:
    """An update with a copy of what it could read itself."""
    base, new = node.operands
    copy = new.node if type(new) is Value else None
    if copy is None or copy.target is not find_operator("copy") or copy.operands[0].type.spec != new.type.spec:
        return None
    return rules.add("update", (base, copy.operands[0]), node.attrs, node.result.type, node)


def whole(rules: Simplifier, node: Node) -> Value | None:
    """An update of all elements."""
    base, new = node.operands
    shapes = _shapes_on_the_way(base.type, node.attrs["steps"])
    if shapes is None or type(new) is not Value or new.type.spec != array_type(shapes[-1], base.type.dtype).spec:
        return None
    wanted = node.result.type
    value, reached = new, new.type
    for step, shape in zip(reversed(node.attrs["steps"]), reversed(shapes[:-1]), strict=True):
        before = _inverse(step, shape, reached)
        if before is None:
            return None
        name, attrs, reached = before
        if name:
            value = rules.add(name, (value,), attrs, reached, node)
    if reached == wanted and rules.may_share(value, node.result):
        return value
    return rules.add("copy", (value,), {"order": "C"}, wanted, node) if wanted.strides is None else None


def _shapes_on_the_way(type: ArrayType, steps: tuple[ViewStep, ...]) -> list[tuple[int, ...]] | None:
    """The shapes from the base to the end of the steps; None if they leave elements out."""
    shapes = [type.shape]
    for op, params in steps:
        is_covering = op.name in ("permute_dims", "_same", *_RESHAPING) or (
            op.name == "_basic_index" and is_full_index(params["index"], shapes[-1])
        )
        if not is_covering:
            return None
        shapes.append(op.specs_of(array_type(shapes[-1], type.dtype).spec, **params).shape)
    return shapes


def _inverse(step: ViewStep, shape: tuple[int, ...], type: ArrayType) -> tuple[str, dict[str, Any], ArrayType] | None:
    """The view that leads from the end of a step, of this type, back to `shape`; without a name if there is none."""
    if step.op.name == "permute_dims":
        axes = inverse_permutation(step.params["axes"])
        strides = tuple([type.byte_strides[axis] for axis in axes])
        return "permute_dims", {"axes": axes}, array_type(shape, type.dtype, strides)
    if step.op.name not in _RESHAPING:
        return "", {}, type
    if type.strides is not None:
        return None
    return "_reshape", {"shape": shape}, array_type(shape, type.dtype)


Kind = TypeVar("Kind", bound=Program)

_ANY_VIEW = (read_back,)
_EXACT: Rules = {
    "one": (_with(_is_one),),
    "zero": (_with(_is_zero),),
    "negative_zero": (_with(_is_negative_zero),),
    "twice": (twice,),
    "no_axes": (sum_over_nothing,),
}
"""By what operators declare as `exact`."""
_BY_FLOW: Rules = {"casts": (astype,)}
_RULES: Rules = {
    "_same": (read_back, same),
    "permute_dims": (read_back, permute),
    "_reshape": (read_back, reshape),
    "_view": (read_back, reshape),
    "broadcast_to": (read_back, broadcast),
    "_basic_index": (read_back, basic_index),
    "update": (write_back, whole, overwrite, uncopied),
}


def _declared(op: Op) -> tuple[Rule, ...] | None:
    return _BY_FLOW.get(op.flow) if op.exact is None else _EXACT[op.exact]


@in_bodies
def simplify(program: Kind) -> Kind:
    """With equal and simpler values in place of others, where this module has a rule."""
    return Simplifier(program, _RULES, _ANY_VIEW).run()
