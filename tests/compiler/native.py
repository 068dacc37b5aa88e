"""What the tests of native code share: compiling a graph, and how near its results have to be to NumPy's."""

from __future__ import annotations

import numpy as np

from pullback.compiler.llvm import compile_llvm

ULPS = {"f8": 64 * 2.0**-52, "f4": 64 * 2.0**-23}


def near(out, wanted, scale=None):
    """Are two arrays equal up to rounding? `scale` is the size of what was added up, if that is larger."""
    if type(out) is not np.ndarray or out.dtype != wanted.dtype or out.shape != wanted.shape:
        return False
    if wanted.dtype.kind not in "fc" or out.tobytes() == wanted.tobytes():
        return np.array_equal(out, wanted)
    epsilon = 64 * float(np.finfo(wanted.dtype).eps)
    with np.errstate(all="ignore"):
        size = np.abs(wanted) if scale is None else np.maximum(np.abs(wanted), scale)
        agree = np.abs(out - wanted) <= epsilon * size + np.finfo(wanted.dtype).tiny * 16
    same = (out == wanted) | (np.isnan(out) & np.isnan(wanted))
    return bool(np.all(agree | same))


def run(b, agrees=near, **options):
    """The compiled graph of a builder: everything in it is native, and its results are those of evaluation."""
    made = compile_llvm(b.program, **options)
    assert made.left_to_numpy == []
    arrays = [b.arrays[value] for value in b.program.inputs]
    for out, wanted in zip(made.flat(*arrays), b.expected(), strict=True):
        assert agrees(out, wanted)
    return made
