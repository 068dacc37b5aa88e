"""Facts about an operator that a declaration may state, and what follows from its family where it says nothing.

A fact is stated once, by a keyword of the declaration (`@primitive(flow="moves")`), and read as an attribute of the
`Op`, where it is found out when it is first asked for. Nobody else keeps a table of operators.

| `flow`        | an element of the result reads                                  | derived for                  |
|---------------|-----------------------------------------------------------------|------------------------------|
| `elementwise` | the elements at its own place                                   | elementwise, special, random |
| `casts`       | the element at its own place, as another dtype                  |                              |
| `moves`       | one element, whose place follows from the parameters            | views                        |
| `gathers`     | one element, whose place an operand says; it may not exist      |                              |
| `joins`       | one element of one of the operands                              |                              |
| `reduces`     | everything along `axis`, which goes away                        | reductions                   |
| `mixes`       | everything along `axis` or `axes`                               |                              |
| `sorts`       | one element along `axis`, which values decide                   |                              |
| `scans`       | everything before it along `axis`                               |                              |
| `collects`    | all elements that are added to its place: the adjoint of a move |                              |
| `contracts`   | along the letters of `subscripts` that do not remain            |                              |
| `multiplies`  | a row and a column                                              |                              |
| `matrices`    | the matrices at its place in stacks of them                     | gufuncs                      |
| `opaque`      | everything                                                      | all others                   |

and, for one or two operators each, `affine crosses convolves puts assigns shifts halves to_pairs from_pairs examples`.

| `recompute` | to compute the result again                                     | derived for                          |
|-------------|-----------------------------------------------------------------|--------------------------------------|
| `free`      | takes about as long as reading it, in a loop that runs anyway   | what moves, reduces, is elementwise  |
| `bearable`  | is one pass over the elements: it pays where memory is short    | what scans or collects; special      |
| `never`     | costs more, or draws other numbers                              | all others                           |

`flops` counts floating point operations: a function that takes shapes, and what else its parameters name, as rules do
(`lambda x, out, axis: ...`). That of a gufunc takes lengths by their names in the signature, and counts for one matrix.
What states nothing is counted by its flow (`graph/cost.py`).

`scalar` names the instruction that computes one element: of a kernel that is a ufunc, the ufunc. Native code has
instructions for some of the names (`compiler/loops/scalars.py`), and NumPy computes the others.

`price` is what one operation takes in a loop of native code: as long as to `add`, to `divide`, or a mathematical
`function`. It follows from `scalar`. Operators that native code does not compute element by element have none, but for
those that state it, since it computes them in the loops of others.

`commutes` says that two operands may be exchanged: ufuncs of NumPy with a neutral element do, others state it.
`exact` is what leaves the first operand as it is to the last bit: as the second operand `one`, `zero` or
`negative_zero`; to do it `twice`; or to have `no_axes`.

`folds` is the ufunc of NumPy that a reduction or a scan combines elements with, one after the other. `fresh` says that
the kernel gives memory that nobody else has, in row-major order if that of the operands is.

`layout` is the order in which a new result lies in memory, which tracing and batches have to know: that of `rows`; of
the `operands`, as ufuncs choose it; of the `first` operand, also where that repeats elements; what is `kept` of it by a
reduction; as a parameter `order` says; or what the `kernel` chooses, which has to be asked.

`dynamic` is the number of operands with which the shape of the result depends on their values, and `counted` the name
of the operator that does the same for a given `count` of elements of the first operand that are not 0.

`complex` says how native code computes with complex numbers as two real arrays: `each` by itself, which is derived of
what is linear and moves or adds up elements, or sums of operands with signs; the `whole` numbers, since parameters
speak of their bytes; or a function of parts (`operators/elementwise/in_parts.py` has those of arithmetic). What says
nothing is asked for its flow (`compiler/passes/complex.py`), and is otherwise computed whole.

`group` names a group of `declare/groups.py` that the operator is in, where that does not follow from the rest.

`expand` is what the operator computes, with NumPy's functions or with other operators. Elementwise operators state it
as a function, most often the kernel before it is cut into pieces; others by the decorator `@op.expand(...)`, which also
says when (`Expansion`). Native code runs the function on stand-ins (`compiler/passes/stand_ins.py`).

`letters` names the axes of operands and results as `einsum` does, with `*` for axes that are needed whole: a function
of what its parameters name. Along a letter that remains, parts are computed apart; along one that does not, results of
parts add up if the operator is linear there. Blocks of arrays on several ranks follow it.

`ascending` names the operands whose elements must be in ascending order, as offsets of rows are.

`reads_memory` says that the kernel looks at how its operands lie in memory (strides, another dtype on the same bytes,
`as_strided`), which arrays of other libraries do not tell: there it needs a spelling (`@op.spelling`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar

import numpy as np

from pullback.core.records import Record

if TYPE_CHECKING:
    from pullback.declare.op import Op

Kind = TypeVar("Kind")

Flow = Literal[
    "elementwise", "casts", "moves", "gathers", "joins", "reduces", "mixes", "sorts", "scans", "collects", "contracts",
    "multiplies", "matrices", "opaque", "affine", "crosses", "convolves", "puts", "assigns", "shifts", "halves",
    "to_pairs", "from_pairs", "examples",
]  # fmt: skip
Recompute = Literal["free", "bearable", "never"]
Price = Literal["add", "divide", "function"]
Layout = Literal["rows", "operands", "first", "kept", "order", "kernel"]
Complex = Literal["each", "whole"] | Callable[..., Any]
Exact = Literal["one", "zero", "negative_zero", "twice", "no_axes"]


class Expansion(Record, frozen=True):
    """What an operator is written out as, and when. The function takes operands, and parameters by keyword.

    `when` is a further condition on what its parameters name, as rules do: operands, outputs, parameters; None for a
    parameter that is not given. It sees of arrays what the function does.
    """

    function: Callable[..., Any]
    when: Callable[..., bool] | None = None
    of: Literal["real", "mixed", "everything"] = "real"  # floating numbers of one dtype; integers beside them
    in_rows: bool = False  # results lie in row-major order
    takes_numbers: bool = False  # among the operands, in the place of arrays
    asks_memory: bool = False  # how operands lie in it, which only stand-ins tell


if TYPE_CHECKING:

    class Facts(TypedDict, total=False):
        """What a declaration may state by keyword."""

        flow: Flow
        recompute: Recompute
        flops: Callable[..., float]
        scalar: str
        price: Price
        commutes: bool
        exact: Exact
        folds: np.ufunc
        fresh: bool
        layout: Layout
        dynamic: int
        counted: str
        complex: Complex
        group: str
        expand: Callable[..., Any]
        letters: Callable[..., str]
        ascending: tuple[str, ...]
        reads_memory: bool

else:
    Facts = dict  # making the class takes as long as to import the module

_FLOW_OF_FAMILY: dict[str, Flow] = {
    "elementwise": "elementwise",
    "special": "elementwise",
    "random": "elementwise",
    "reduction": "reduces",
    "gufunc": "matrices",
}
_LAYOUT_OF_FAMILY: dict[str, Layout] = {"elementwise": "operands", "special": "operands", "reduction": "kept"}
_RECOMPUTE_OF_FAMILY: dict[str, Recompute] = {
    "special": "bearable",  # elementwise, but series and continued fractions: hundreds of operations for an element
    "random": "never",
    "custom": "never",  # nobody knows what an operator of the user costs
}
_SHORT_NAMES = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg", "positive": "identity",
    "absolute": "abs", "fabs": "abs", "invert": "bitwise_invert", "equal": "eq", "not_equal": "ne", "less": "lt",
    "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip
"""Instructions for ufuncs of NumPy that have another name."""
_ARITHMETIC = frozenset({
    "identity", "select", "add", "sub", "mul", "neg", "abs", "sign", "square", "relu", "copysign", "maximum", "minimum",
    "fmax", "fmin", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", "floor", "ceil", "trunc", "rint", "isnan", "isinf",
    "isfinite",
})  # fmt: skip
DIVISIONS = frozenset({"div", "sqrt", "rsqrt", "reciprocal"})
_MOVING = frozenset({"moves", "gathers", "joins", "collects", "reduces", "scans"})
_FREE = frozenset({
    "elementwise", "casts", "moves", "gathers", "joins", "reduces", "puts", "assigns", "shifts", "halves", "to_pairs",
    "from_pairs", "examples",
})  # fmt: skip
_BEARABLE = frozenset({"scans", "collects", "crosses"})


class Fact(Generic[Kind]):
    """A fact as an attribute of an `Op`: what the declaration states, or what follows from the rest of it.

    It is found out when it is first read, and then lies in the operator: not before the declaration is complete.
    """

    def __set_name__(self, owner: type[Op], name: str) -> None:
        self.name = name

    def __get__(self, op: Op | None, owner: type[Op]) -> Kind:
        if op is None:
            raise AttributeError(self.name)
        stated: Any = op.stated
        found: Kind = stated[self.name] if self.name in stated else derived(op, self.name)
        op.__dict__[self.name] = found
        return found


def derived(op: Op, name: str) -> Any:
    """The fact of this name, as it follows from the rest of the declaration."""
    return _DERIVED[name](op)


def _flow(op: Op) -> Flow:
    return "moves" if op.is_view else _FLOW_OF_FAMILY.get(op.family, "opaque")


def _recompute(op: Op) -> Recompute:
    if op.is_view:
        return "free"
    by_family = _RECOMPUTE_OF_FAMILY.get(op.family)
    if by_family is not None:
        return by_family
    return "free" if op.flow in _FREE else "bearable" if op.flow in _BEARABLE else "never"


def _layout(op: Op) -> Layout:
    return _LAYOUT_OF_FAMILY.get(op.family, "rows")


def _scalar(op: Op) -> str | None:
    if op.flow != "elementwise" or not isinstance(op.kernel, np.ufunc):
        return None
    name = op.kernel.__name__
    return _SHORT_NAMES.get(name, name.replace("arc", "a", 1))


def _price(op: Op) -> Price | None:
    if op.scalar in _ARITHMETIC:
        return "add"
    if op.scalar in DIVISIONS:
        return "divide"
    return "function" if op.family == "elementwise" else None


def _commutes(op: Op) -> bool:
    # NumPy's own ufuncs have a neutral element only if the order does not matter; those of SciPy say that all have.
    kernel = op.kernel
    if not isinstance(kernel, np.ufunc) or getattr(np, kernel.__name__, None) is not kernel:
        return False
    return kernel.nin == 2 and kernel.identity is not None


def _complex(op: Op) -> Complex | None:
    if op.family == "elementwise":
        is_linear = op.partials is not None and all(rule.constant for rule in op.partials)
    else:
        is_linear = op.linear_in is not None and op.flow in _MOVING
    return "each" if is_linear else None


_DERIVED: dict[str, Callable[[Op], Any]] = {
    "flow": _flow, "recompute": _recompute, "flops": lambda op: None, "scalar": _scalar, "price": _price,
    "commutes": _commutes, "exact": lambda op: None, "folds": lambda op: None,
    "fresh": lambda op: False, "layout": _layout, "dynamic": lambda op: None, "counted": lambda op: None,
    "complex": _complex, "expand": lambda op: None, "group": lambda op: None,
    "letters": lambda op: None, "ascending": lambda op: (), "reads_memory": lambda op: False,
}  # fmt: skip
FACTS = frozenset(_DERIVED)
