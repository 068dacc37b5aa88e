"""What declarations say for other libraries' arrays: spellings, and kernels that read memory."""

import inspect
import re

import pytest

from tests.foreign.operators import operators

# What a kernel does that reads memory as NumPy lays it out; `flags` only chooses between ways to compute the same.
READS = re.compile(r"\.strides\b|\bas_strided\(|strided_view\(|\.ctypes\b|x\.view\([^)]|\.base\b")
# Kernels that read strides of arrays that they have made, or only to choose a way.
ONLY_CHOOSE = {"copy", "broadcast_to", "_view", "_attention", "_add_strided", "as_strided_scatter", "_max_pool"}


@pytest.mark.parametrize("name", sorted({op.name for op in operators() if hasattr(op.kernel, "__code__")}))
def test_the_flag_says_what_the_kernel_does(name):
    (op,) = [op for op in operators() if op.name == name]
    text = inspect.getsource(op.kernel)
    body = text[text.index("def ") :] if "def " in text else text
    if op.name not in ONLY_CHOOSE:
        assert bool(READS.search(body)) == op.reads_memory, op.name


def test_what_reads_memory_is_spelled_or_refused():
    assert {op.name for op in operators() if op.reads_memory and not op.spellings} == {"as_strided", "_bitcast"}
