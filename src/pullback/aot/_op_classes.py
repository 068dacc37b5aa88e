"""What recomputing a node costs, in five classes, read off the declarations.

| class     | members                                                        | recomputable | fuses |
|-----------|----------------------------------------------------------------|--------------|-------|
| pointwise | the elementwise family                                         | yes          | yes   |
| view      | operators declared as views                                    | yes          | yes   |
| cheap     | reductions, constants, casts, gathers, `update`, joining       | yes          | yes   |
| random    | draws of random numbers                                        | no           | yes   |
| heavy     | contractions, linear algebra, transforms, sorting, loops, ...  | no           | no    |

The family of an operator decides. The two tables below are for the family `general`, which says nothing.
"""

from __future__ import annotations

from pullback.graph.ir import Node

POINTWISE, VIEW, CHEAP, RANDOM, HEAVY = "pointwise", "view", "cheap", "random", "heavy"

_BY_FAMILY = {
    "elementwise": POINTWISE,
    "view": VIEW,
    "reduction": CHEAP,
    "random": RANDOM,
    "gufunc": HEAVY,
    "special": HEAVY,  # elementwise, but series and continued fractions: hundreds of operations for an element
    "custom": HEAVY,  # nobody knows what an operator of the user costs
}

_POINTWISE_NAMES = frozenset({"_astype", "_widen", "copy", "masked_fill", "_silu", "_gelu", "_straight_through"})

_CHEAP_NAMES = frozenset(
    {
        "_assign", "_batch_sum", "_from_diagonal", "_place_slice", "_index", "_index_put", "_concat", "_stack", "_pad",
        "_shift", "_roll", "_repeat", "_take_rows", "_gather", "softmax", "log_softmax", "max_with_indices",
        "min_with_indices", "argmax", "argmin", "tril", "triu", "_normalize", "_normalize_rms", "_softmax_nll",
        "as_strided_scatter", "_frames",
    }
)  # fmt: skip

# One pass over the elements, but not in a loop with others.
_BEARABLE_FAMILIES = frozenset({"special"})
_BEARABLE_NAMES = frozenset(
    {
        "_index_add", "_gather_add", "_last_writers", "_cross", "_overlap_add", "_add_strided", "_segment_sum",
        "_searchsorted", "_max_pool", "cumsum", "cumprod", "logcumsumexp", "_running_positions", "_overlapped",
    }
)  # fmt: skip

_GRAPH_KINDS = {"constant": CHEAP, "update": CHEAP}  # cond, scan, while_loop: whatever their bodies are

_JOINING = frozenset({"_concat", "_stack"})


def op_class(node: Node) -> str:
    """The class of a node: one of `pointwise, view, cheap, random, heavy`."""
    op = node.target
    if op is None:
        return _GRAPH_KINDS.get(node.op, HEAVY)
    if op.is_view:
        return VIEW
    by_family = _BY_FAMILY.get(op.family)
    if by_family is not None:
        return by_family
    if op.name in _POINTWISE_NAMES:
        return POINTWISE
    return CHEAP if op.name in _CHEAP_NAMES else HEAVY


def is_recomputable(node: Node) -> bool:
    """Is computing the node twice about as cheap as reading its result from memory?"""
    return op_class(node) in (POINTWISE, VIEW, CHEAP) or _says_so(node)


def _says_so(node: Node) -> bool:
    """A custom operator with the tag `recomputable`. It is still a barrier for fusion."""
    return node.target is not None and node.target.may_recompute


def is_fusible(producer: Node | None, consumer: Node) -> bool:
    """Can a fusing backend compute both in one loop, so that the value between them never reaches memory?

    A value without a producer is an input, and lies in memory already.
    """
    if producer is None:
        return False
    if consumer.op in _JOINING:
        return True
    return op_class(producer) != HEAVY and op_class(consumer) != HEAVY


def is_denied(node: Node) -> bool:
    """Is the node out of the question even where memory is short? Not all that is heavy is."""
    kind = op_class(node)
    if _says_so(node):
        return False
    if kind == HEAVY and node.target is not None:
        return node.target.family not in _BEARABLE_FAMILIES and node.target.name not in _BEARABLE_NAMES
    return kind in (RANDOM, HEAVY)
