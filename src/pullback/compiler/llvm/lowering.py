"""Which operators are native: for every name the function that makes an item of a node, or leaves it to NumPy."""

from __future__ import annotations

from pullback.compiler.access import Accesses
from pullback.compiler.fusion import Item
from pullback.compiler.llvm import contractions, extremes, gather, items, lapack, running, triangles
from pullback.compiler.llvm.numpy_elements import complex_item, element_item
from pullback.compiler.llvm.numpy_loops import loop_item
from pullback.compiler.llvm.text import kind_of
from pullback.compiler.planning import is_dense
from pullback.graph.ir import Node

_MAKERS = {
    name: make
    for each in (items, gather, contractions, extremes, running, triangles)
    for name, make in each.MAKERS.items()
}


def is_lowered(node: Node) -> bool:
    """Is there a native form of this operator, for some operands?"""
    has_loop = node.target is not None and node.target.loop_rule is not None
    return has_loop or node.op in _MAKERS or node.op in lapack.MAKERS


def item_of(node: Node, accesses: Accesses) -> Item | None:
    """The item of a node, None if it is left to NumPy."""
    if node.op in lapack.MAKERS:
        return lapack.MAKERS[node.op](node, accesses)
    if node.target is not None and node.target.loop_rule is not None:
        return loop_item(node, accesses)
    return _own_item(node, accesses) or element_item(node, accesses)


def _own_item(node: Node, accesses: Accesses) -> Item | None:
    """An item that is not a loop of somebody else's."""
    if len(node.results) != 1 or node.effect is not None:
        return None
    result = node.result
    if node.op in ("complex", "_astype") and result.type.dtype.kind == "c":
        return complex_item(node, accesses)
    if kind_of(result.type.dtype) is None or not result.type.size or not is_dense(result.type):
        return None
    if not all(x.type.size and kind_of(x.type.dtype) for x in node.inputs):
        return None
    if node.target is not None and node.target.family == "custom":
        return None
    return _MAKERS.get(node.op, items.elementwise)(node, accesses)
