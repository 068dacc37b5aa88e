"""Every operator, declared once, by family. Importing this package builds their functions and binds Tensor methods."""

from pullback.declare.composite import composites
from pullback.declare.op import registry
from pullback.eager.build import build_all
from pullback.ops import (
    casting,
    comparison,
    complex_numbers,
    contraction,
    convolution,
    creation,
    dlpack,
    dtypes,
    elementary,
    elementwise,
    extremes,
    grids,
    histograms,
    index_operators,
    indexing,
    inplace_views,
    inspection,
    integration,
    interpolation,
    joining,
    keywords,
    loading,
    movement,
    padding,
    polynomial,
    products,
    quantiles,
    random,
    rearranging,
    reduction,
    reshaping,
    scan,
    scatter,
    selection,
    sets,
    sorting,
    statistics,
    strided,
    updates,
)
from pullback.ops.methods import bind_methods, public_functions

_MODULES = (
    casting, comparison, complex_numbers, contraction, convolution, creation, dlpack, dtypes, elementary,
    elementwise, extremes, grids, histograms, index_operators, indexing, inplace_views, inspection, integration,
    interpolation, joining, keywords, loading, movement, padding, polynomial, products, quantiles, random,
    rearranging, reduction, reshaping, scan, scatter, selection, sets, sorting, statistics, strided, updates,
)  # fmt: skip

LATER: tuple[str, ...] = ("fft", "linalg", "nn", "signal", "special")
"""Families that are namespaces of their own, `pullback.linalg` and so on; they are loaded when first asked for."""

build_all()
functions = {**public_functions(), **grids.subscripted}
bind_methods(functions, _MODULES)

__all__ = ["LATER", "composites", "functions", "registry"]
