"""Random graphs: native code agrees with evaluation. `python -m tests.compiler.random_native 20000` runs more."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

from pullback.compiler.llvm import compile_llvm
from pullback.graph.ir import type_of
from tests.compiler import random_native
from tests.compiler.graphs import Builder
from tests.compiler.random_native import check
from tests.compiler.test_numpy_programs import check_aliases, random_graph

GRAPHS, IN_ONE_TEST = 2000, 100


@pytest.mark.parametrize("first", range(0, GRAPHS, IN_ONE_TEST))
def test_random_graphs_agree(first):
    seeds = range(first, first + IN_ONE_TEST)
    found = {seed: check(seed, 2 if seed % 50 == 0 else 0, largest=7) for seed in seeds}
    assert [seed for seed, agrees in found.items() if agrees is False] == []
    assert sum(agrees is True for agrees in found.values()) > 0.9 * IN_ONE_TEST


@pytest.mark.parametrize("seed", range(60))
def test_graphs_with_aliases(seed):
    """The graphs that the NumPy backend is tested with: memory is shared where views say so, and nowhere else."""
    with np.errstate(all="ignore"):
        b = random_graph(seed, 5 + seed % 40)
        arrays = [b.arrays[value] for value in b.program.inputs]
        compiled = compile_llvm(b.program, portable=seed % 2 == 1, effort=0)
        results = compiled.flat(*arrays), compiled(list(arrays))
    for outputs in results:
        for out, wanted in zip(outputs, b.expected(), strict=True):
            largest = max(1.0, float(np.nanmax(np.abs(wanted), initial=0)))
            np.testing.assert_allclose(out, wanted, rtol=1e-9, atol=1e-9 * largest)
            assert type_of(out) == type_of(wanted)
        check_aliases(b.program, outputs, arrays)


TOUCH = """
from tests.compiler.guarded import guarded
import numpy as np, ctypes
x = guarded(np.ones(5), {at_end})
print(ctypes.c_double.from_address(x.ctypes.data + {inside}).value, flush=True)
ctypes.c_double.from_address(x.ctypes.data + {outside}).value
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is forbidden by mprotect")
@pytest.mark.parametrize("at_end, inside, outside", [(True, 32, 40), (False, 0, -8)])
def test_who_goes_beyond_guarded_memory_is_ended(at_end, inside, outside):
    code = TOUCH.format(at_end=at_end, inside=inside, outside=outside)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "1.0" and done.returncode < 0


@pytest.mark.skipif(sys.platform != "linux", reason="memory is forbidden by mprotect")
def test_nothing_beyond_arrays_and_arena_is_touched():
    done = subprocess.run([sys.executable, "-m", "tests.compiler.guarded", "0", "150"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("values, of_them", [
    ([1e-200, 1e-200, np.inf, 2.0], lambda b, x: b("prod", x, axis=(0,), keepdims=False)),  # inf or NaN, by the order
    ([1.0, 0.3, -1.3], lambda b, x: b("remainder", b("sum", x, axis=(0,), keepdims=False), 2.0)),  # 0 or nearly 2
])  # fmt: skip
def test_what_depends_on_the_order_of_terms_is_not_compared(values, of_them):
    b = Builder(np.array(values))
    b.output(of_them(b, b.inputs[0]))
    assert not random_native.is_stable(b, 1e-9)
    steady = Builder(np.array([1.0, 0.3, 1.4]))
    steady.output(of_them(steady, steady.inputs[0]))
    assert random_native.is_stable(steady, 1e-9)
