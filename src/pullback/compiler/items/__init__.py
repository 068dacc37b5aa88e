"""Which operators are native: by name, flow or fold what makes an item of a node, or leaves it to NumPy."""

from __future__ import annotations

from collections.abc import Callable

from pullback.compiler.items import common, contraction, gather, lapack, positions
from pullback.compiler.items.elements import complex_item, element_item
from pullback.compiler.items.loops import loop_item
from pullback.compiler.loops.access import Accesses
from pullback.compiler.loops.fusion import Item
from pullback.compiler.loops.planning import is_dense
from pullback.compiler.loops.text import kind_of
from pullback.graph.ir import Node

_MAKERS = common.MAKERS | gather.MAKERS | positions.MAKERS
_BY_FLOW = {"multiplies": contraction.matmul, "contracts": contraction.einsum, "joins": common.join}
_BY_FOLD = {"reduces": common.reduction, "scans": positions.cumulative}


def _maker(node: Node) -> Callable[[Node, Accesses], Item | None] | None:
    """What makes items of nodes of this operator, if it is not computed element by element."""
    if node.op in _MAKERS or node.target is None:
        return _MAKERS.get(node.op)
    return _BY_FLOW.get(node.target.flow) or (None if node.target.folds is None else _BY_FOLD.get(node.target.flow))


def is_lowered(node: Node) -> bool:
    """Is there a native form of this operator, for some operands?"""
    has_loop = node.target is not None and node.target.loop_rule is not None
    return has_loop or _maker(node) is not None or node.op in lapack.MAKERS


def item_of(node: Node, accesses: Accesses) -> Item | None:
    """The item of a node, None if it is left to NumPy: so is everything in another byte order than the machine's."""
    if not all(x.type.dtype.isnative for x in (*node.inputs, *node.results)):
        return None
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
    return (_maker(node) or common.elementwise)(node, accesses)
