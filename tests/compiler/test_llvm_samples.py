"""Every declared operator, made native alone, gives what evaluation gives: in value, dtype and layout."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

from pullback.compiler.llvm import compile_llvm
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.graph.ir import type_of
from tests.compiler.graphs import one_node, same_bits
from tests.compiler.native import near

OPS = [op for op in registry.values() if op.sample_rule is not None and op.family != "random"]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_native_is_evaluated(op):
    for number, sample in enumerate(samples_of(op)):
        program, arrays, expected = one_node(op, sample.inputs(), sample.params)
        before = [x.copy() for x in arrays]
        # Code that is made without effort is the same code; what LLVM makes of it is tested elsewhere.
        compiled = compile_llvm(program, portable=number % 2 == 1, effort=0)
        scale = size_of_terms(op, arrays)
        with np.errstate(all="ignore"):
            results = [compiled.flat(*arrays), compiled(list(arrays))]
        for outputs in results:
            for out, wanted in zip(outputs, expected, strict=True):
                assert near(out, wanted, scale) if compiled.segments else same_bits(out, wanted), sample.label
                assert type_of(out) == type_of(wanted), sample.label
                if not op.is_view:
                    assert not any(np.shares_memory(out, x) for x in arrays), sample.label
        assert all(same_bits(x, y) for x, y in zip(arrays, before, strict=True)), sample.label


def size_of_terms(op, arrays):
    """What is added up may be larger than the sum."""
    if op.family != "reduction" and not op.name.startswith(("matmul", "_convolution")):
        return None
    return max((float(np.abs(x).sum()) for x in arrays if x.dtype.kind in "fc" and x.size), default=None)


def test_most_of_elementwise_arithmetic_is_native():
    """The operators that programs spend their time in must not fall back to NumPy unnoticed."""
    names = ["add", "multiply", "divide", "exp", "log", "tanh", "sigmoid", "where", "maximum", "sum", "mean", "amax",
             "softmax", "logsumexp", "less", "pow", "sqrt", "_astype", "_place_slice", "_concat", "matmul"]  # fmt: skip
    for name in names:
        op = registry[name]
        samples = [s for s in samples_of(op) if all(getattr(x, "dtype", bool) in (bool, float) for x in s.inputs())]
        natives = 0
        for sample in samples:
            program, _, _ = one_node(op, sample.inputs(), sample.params)
            natives += bool(compile_llvm(program, effort=0).segments)
        assert natives, name
