"""Every declared operator, compiled alone, gives what evaluation gives: to the bit, in dtype and in layout."""

from __future__ import annotations

import numpy as np
import pytest

from pullback.compiler.numpy_source import compile_numpy
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.graph.ir import type_of
from tests.compiler.graphs import one_node, same_bits

OPS = [op for op in registry.values() if op.sample_rule is not None and op.family != "random"]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_compiled_is_evaluated(op):
    for sample in samples_of(op):
        program, arrays, expected = one_node(op, sample.inputs(), sample.params)
        before = [x.copy() for x in arrays]
        compiled = compile_numpy(program)
        with np.errstate(all="ignore"):
            results = [compiled.flat(*arrays), compiled(list(arrays))]
        for outputs in results:
            for out, wanted in zip(outputs, expected, strict=True):
                assert same_bits(out, wanted), sample.label
                assert type_of(out) == type_of(wanted), sample.label
                if not op.is_view:
                    assert not any(np.shares_memory(out, x) for x in arrays), sample.label
        assert all(same_bits(x, y) for x, y in zip(arrays, before, strict=True)), sample.label


@pytest.mark.parametrize("name", sorted(op.name for op in registry.values() if op.fresh))
def test_kernels_said_to_make_new_memory_do(name):
    """Backends write over such results, so nobody else may have them, and they must be laid out as is said."""
    op = registry[name]
    for sample in samples_of(op):
        operands = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in sample.inputs()]
        out, again = (np.asarray(op.kernel(*operands, **sample.params)) for _ in range(2))
        assert out.flags.c_contiguous and out.flags.writeable, sample.label
        assert not np.shares_memory(out, again), sample.label
