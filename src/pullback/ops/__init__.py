"""Every operator, declared once, by family. Importing this package gives Tensor its methods.

The families that are loaded later, when they are first needed, are in `later.py`.
"""

from pullback.declare.composite import composites
from pullback.declare.op import registry
from pullback.ops import (
    array_members,
    casting,
    comparison,
    complex_numbers,
    contraction,
    creation,
    dlpack,
    dtypes,
    elementary,
    elementwise,
    extremes,
    index_operators,
    indexing,
    inplace_views,
    joining,
    keywords,
    loading,
    logarithms,
    movement,
    padding,
    rearranging,
    reduction,
    reshaping,
    scan,
    scatter,
    strided,
)
from pullback.ops.later import LATER, TOP_LEVEL
from pullback.ops.methods import bind_methods
from pullback.ops.public import functions

_MODULES = (
    array_members, casting, comparison, complex_numbers, contraction, creation, dlpack, dtypes, elementary,
    elementwise, extremes, index_operators, indexing, inplace_views, joining, keywords, loading, logarithms, movement,
    padding, rearranging, reduction, reshaping, scan, scatter, strided,
)  # fmt: skip

functions.learn()
bind_methods(_MODULES)

__all__ = ["LATER", "TOP_LEVEL", "composites", "functions", "registry"]
