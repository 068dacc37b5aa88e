"""`simplify`: values in place of others that are equal to the last bit, and cost more.

    x*1  x/1  x-0.0  x+(-0.0)  x**1  -(-x)  conj(conj(x))      x
    a cast that changes nothing, or back without loss          x
    sum of integers over no axes                               x
    permute_dims, reshape, broadcast_to, x[:] to the same      x, and one view for two where both change something
    what an update wrote, read back                            see `graph/forwarding.py`

Nodes that nobody needs any more are left to `dce`.
"""

from __future__ import annotations

from typing import TypeVar

from pullback.graph import exact_rules as exact
from pullback.graph import forwarding
from pullback.graph.ir import Program
from pullback.graph.rewrite import in_bodies
from pullback.graph.simplifier import Rules, Simplifier

Kind = TypeVar("Kind", bound=Program)

_ANY_VIEW = (forwarding.read_back,)
_RULES: Rules = {
    "multiply": (exact.multiply,),
    "divide": (exact.divide,),
    "pow": (exact.divide,),
    "subtract": (exact.subtract,),
    "add": (exact.add,),
    "negative": (exact.twice,),
    "conj": (exact.twice,),
    "sum": (exact.sum_over_nothing,),
    "_astype": (exact.astype,),
    "_same": (forwarding.read_back, exact.same),
    "permute_dims": (forwarding.read_back, exact.permute),
    "_reshape": (forwarding.read_back, exact.reshape),
    "_view": (forwarding.read_back, exact.reshape),
    "broadcast_to": (forwarding.read_back, exact.broadcast),
    "_basic_index": (forwarding.read_back, exact.basic_index),
    "update": (forwarding.write_back, forwarding.whole, forwarding.overwrite),
}


@in_bodies
def simplify(program: Kind) -> Kind:
    """With equal and simpler values in place of others, where this module has a rule."""
    return Simplifier(program, _RULES, _ANY_VIEW).run()
