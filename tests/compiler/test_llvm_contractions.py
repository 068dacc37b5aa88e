"""Products of matrices in batches, contractions over any axes, and how products are shared among threads."""

from __future__ import annotations

import ctypes
import threading
from functools import partial

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

from pullback.compiler.items import blas
from pullback.compiler.llvm import compile_llvm
from pullback.compiler.machine import blas_library
from pullback.compiler.machine import threads as blas_guard
from pullback.core import threads
from tests.compiler import native
from tests.compiler.graphs import Builder

RANDOM = np.random.default_rng(17)


def is_close(out, wanted):
    """Sums of many products are added up in another order."""
    bound = 1e-12 if wanted.dtype == np.float64 else 2e-5
    return np.allclose(out, wanted, rtol=bound, atol=bound * max(1.0, float(np.abs(wanted).max())))


run = partial(native.run, agrees=is_close)


def functions(made):
    return [kernel["operators"][0] for kernel in made.kernels()]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("left, right", [
    ((5, 3, 4), (5, 4, 2)), ((5, 3, 4), (4, 2)), ((3, 4), (5, 4, 2)), ((2, 1, 3, 4), (3, 4, 5)), ((3, 4), (2, 4)),
    ((6, 3, 4), (4,)), ((4,), (6, 4, 3)), ((7, 30, 20), (7, 20, 25)), ((2, 3, 20, 30), (3, 30, 20)),
    ((1, 40, 30), (6, 30, 20)),
])  # fmt: skip
def test_batches(left, right, dtype):
    right = right if len(left) + len(right) > 4 or left[-1] == right[0] else right[::-1]
    b = Builder(RANDOM.normal(size=left).astype(dtype), RANDOM.normal(size=right).astype(dtype))
    b.output(b("matmul", *b.inputs))
    run(b)


def test_transposed_operands_are_not_copied():
    """The views of attention: heads are an axis in the middle, and keys are transposed."""
    b = Builder(RANDOM.normal(size=(2, 50, 4, 16)), RANDOM.normal(size=(2, 40, 4, 16)))
    queries = b("permute_dims", b.inputs[0], axes=(0, 2, 1, 3))
    keys = b("permute_dims", b.inputs[1], axes=(0, 2, 3, 1))
    b.output(b("matmul", queries, keys))
    assert functions(run(b)) == ["gemm"]


def test_small_matrices_are_loops_that_share_what_is_around_them():
    b = Builder(RANDOM.normal(size=(100, 3, 3)), RANDOM.normal(size=(100, 3, 3)))
    b.output(b("tanh", b("matmul", b("exp", b.inputs[0]), b.inputs[1])))
    assert "gemm" not in functions(run(b))


@pytest.mark.parametrize("subscripts, shapes", [
    ("ij,jk->ik", ((30, 40), (40, 50))), ("ij,jk->ki", ((30, 40), (40, 50))), ("i,j->ij", ((60,), (70,))),
    ("bij,bkj->bik", ((4, 20, 30), (4, 10, 30))), ("bij,bjk->kib", ((4, 3, 5), (4, 5, 2))),
    ("aijb,jic->cab", ((2, 3, 2, 2), (2, 3, 2))), ("ijk,kjl->il", ((20, 8, 9), (9, 8, 25))),
    ("ijk,jkl->il", ((20, 8, 9), (8, 9, 25))), ("ii,ij->j", ((3, 3), (3, 2))), ("abc,bd->acd", ((5, 30, 20), (30, 25))),
])  # fmt: skip
def test_einsum_of_two(subscripts, shapes):
    b = Builder(*[RANDOM.normal(size=shape) for shape in shapes])
    b.output(b("_einsum_two", *b.inputs, subscripts=subscripts, optimize=True))
    run(b)


@pytest.mark.parametrize("subscripts, shapes", [
    ("ij,jk,kl->il", [(20, 30), (30, 25), (25, 4)]), ("bi,oij,bj->bo", [(20, 30), (4, 30, 20), (20, 20)]),
    (",i,->i", [(), (3,), ()]), ("i,j,k->", [(50,), (60,), (70,)]), ("ij,ij,j->j", [(1, 3), (2, 3), (3,)]),
    ("iij,jii,i->i", [(2, 2, 3), (3, 2, 2), (2,)]), ("nab,nbc,ncd->dn", [(6, 30, 30)] * 3),
    ("ab,bc,cd,de->ea", [(4, 5), (5, 6), (6, 7), (7, 8)]),
])  # fmt: skip
def test_einsum_of_many_is_one_of_two_after_the_other(subscripts, shapes):
    b = Builder(*[RANDOM.normal(size=shape) for shape in shapes])
    b.output(b("einsum", *b.inputs, subscripts=subscripts, optimize=True))
    run(b)


def test_what_one_operand_alone_has_is_summed_first():
    """As the kernel does: an infinity times a sum, not a sum of infinities of both signs."""
    x, y = RANDOM.normal(size=(3, 8, 1)), RANDOM.normal(size=(3, 1, 4))
    y[1, 0, 2] = np.inf
    b = Builder(x, y)
    b.output(b("_einsum_two", *b.inputs, subscripts="abc,acd->ad", optimize=True))
    run(b, agrees=native.near)
    assert np.isinf(b.expected()[0]).any()


@pytest.mark.parametrize("subscripts", ["ijj->ij", "ijj->", "ijk->ki", "ijk->i"])
def test_einsum_of_one(subscripts):
    b = Builder(RANDOM.normal(size=(5, 4, 4)))
    b.output(b("_einsum_one", *b.inputs, subscripts=subscripts, optimize=True))
    run(b)


@pytest.mark.parametrize("shapes", [((700, 300), (300, 40)), ((40, 300), (300, 700)), ((500, 64), (64, 500))])
@pytest.mark.parametrize("turned", [(), (0,), (1,), (0, 1)])
def test_large_products_are_cut_into_blocks_whatever_the_number_of_threads(shapes, turned):
    arrays = [RANDOM.normal(size=shape[::-1] if k in turned else shape) for k, shape in enumerate(shapes)]
    b = Builder(*arrays)
    x, y = (b("permute_dims", v, axes=(1, 0)) if k in turned else v for k, v in enumerate(b.inputs))
    b.output(b("matmul", x, y))
    made = run(b)
    assert blas.cut_of(made.segments[0].plan.commands[0].product).blocks > 1
    assert made.flat(*arrays)[0].tobytes() == compile_llvm(b.program, threads=1).flat(*arrays)[0].tobytes()
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(1)
        alone = made.flat(*arrays)[0]
    finally:
        threads.set_num_threads(before)
    assert made.flat(*arrays)[0].tobytes() == alone.tobytes()


def test_the_threads_of_blas_are_as_many_after_a_call_as_before():
    if not blas_guard.can_guard():
        pytest.skip("this BLAS cannot be told how many threads to use")
    count = ctypes.CFUNCTYPE(ctypes.c_int)(blas_library.addresses()[blas_library.GET_THREADS])
    before = count()
    b = Builder(RANDOM.normal(size=(120, 90)), RANDOM.normal(size=(90, 80)))
    b.output(b("matmul", *b.inputs))
    made = run(b)
    arrays = [b.arrays[value] for value in b.program.inputs]
    workers = [threading.Thread(target=lambda: [made.flat(*arrays) for _ in range(50)]) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert count() == before
