"""Every operator, declared once, by family. Importing this package gives Tensor its methods.

The families that are loaded later, when they are first needed, are in `names.py`.
"""

from pullback.declare.composite import composites
from pullback.declare.op import registry
from pullback.operators import contraction, dlpack, keywords, loading, methods, vector_products
from pullback.operators.arrays import (
    complex_parts,
    creation,
    index_operators,
    indexing,
    inplace_views,
    joining,
    masks,
    movement,
    padding,
    rearranging,
    reshaping,
    scatter,
    strided,
)
from pullback.operators.elementwise import arithmetic, casting, comparison, complex_numbers, elementary
from pullback.operators.methods import bind_methods
from pullback.operators.names import LATER, TOP_LEVEL
from pullback.operators.public import functions
from pullback.operators.reductions import exponentials, extremes, reduction, scan

_MODULES = (
    arithmetic, casting, comparison, complex_numbers, complex_parts, contraction, creation, dlpack, elementary,
    exponentials, extremes, index_operators, indexing, inplace_views, joining, keywords, loading, masks, methods,
    movement, padding, rearranging, reduction, reshaping, scan, scatter, strided, vector_products,
)  # fmt: skip

functions.learn()
bind_methods(_MODULES)

__all__ = ["LATER", "TOP_LEVEL", "composites", "functions", "registry"]
