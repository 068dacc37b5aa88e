"""Native code on arrays that end, or begin, where forbidden memory is: whoever goes beyond ends the process.

    python -m tests.compiler.guarded 0 200      random graphs with these seeds
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import warnings

import numpy as np

from pullback.compiler.llvm import compile_llvm
from pullback.compiler.machine import entry, structs
from tests.compiler.random_native import Generator, agrees, has_singles, is_stable

PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_kept = []


def guarded_bytes(nbytes, at_end):
    """So many bytes with a forbidden page behind them, or in front of them."""
    pages = -(-max(nbytes, 1) // PAGE) + 2
    memory = mmap.mmap(-1, pages * PAGE)
    _kept.append(memory)
    whole = np.frombuffer(memory, np.uint8)
    for page in (0, pages - 1):
        if _libc.mprotect(ctypes.c_void_p(whole.ctypes.data + page * PAGE), ctypes.c_size_t(PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = (pages - 1) * PAGE - nbytes if at_end else PAGE
    return whole[start : start + nbytes]


def guarded(array, at_end):
    """A copy of an array, with the same strides, in such memory."""
    if not array.size:
        return array
    steps = list(zip(array.shape, array.strides, strict=True))
    lowest = sum((n - 1) * s for n, s in steps if s < 0)
    highest = sum((n - 1) * s for n, s in steps if s > 0)
    memory = guarded_bytes(highest - lowest + array.itemsize, at_end)
    made = np.ndarray(array.shape, array.dtype, memory, -lowest, array.strides)
    made[...] = array
    return made


def check(seed):
    """Run one graph on guarded inputs, results and arena; do the results agree?"""
    return check_graph(Generator(np.random.default_rng(seed), 3 + seed % 12).b, seed)


def check_graph(b, seed):
    """The same for a graph that was made."""
    at_end = bool(seed % 2)
    plain = entry.empty_like_type
    entry.new_result = lambda type_: guarded(plain(type_), at_end)
    entry.new_arena = lambda nbytes: guarded_bytes(-(-nbytes // 64) * 64, at_end)
    arrays = [guarded(b.arrays[value], at_end) for value in b.program.inputs]
    made = compile_llvm(b.program, portable=seed % 3 == 0, effort=0)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = made.flat(*arrays)
    loose = 2e-3 if has_singles(b.program) else 1e-9
    fine = all(agrees(x, y, loose) for x, y in zip(results, b.expected(), strict=True)) or not is_stable(b, loose)
    _kept.clear()
    return fine


def main():
    first, last = int(sys.argv[1]), int(sys.argv[2])
    structs.are_as_expected = lambda: False  # ctypes calls, so that results are made here
    wrong = [seed for seed in range(first, last) if not check(seed)]
    print(f"{last - first} graphs on guarded memory, wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
