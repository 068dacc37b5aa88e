"""Axes of kernels: their order, which neighbours become one, and along which of them vectors lie."""

from pullback.compiler.loops.kernel import (
    Compute,
    Kernel,
    Read,
    Reduce,
    Reference,
    Running,
    Write,
    arranged,
    merged_axes,
)


def kernel_of(lengths, *strides, reduced=(), running=False):
    """A kernel that reads all references but the last, adds them up, and writes to the last."""
    count = len(strides) - 1
    steps = [Read(k, False) for k in range(count)]
    for k in range(1, count):
        steps.append(Compute("add", ("f8", "f8"), "f8", (len(steps) - 1 if k > 1 else 0, k), False))
    if running:
        steps.append(Running("add", "f8", len(steps) - 1, 0))
    elif reduced:
        steps.append(Reduce("add", "f8", len(steps) - 1, 0))
    write = Write(len(steps) - 1, count, 0, bool(reduced) and not running)
    references = tuple(Reference(k, "f8", 0, each) for k, each in enumerate(strides))
    is_reduced = tuple(k in reduced for k in range(len(lengths)))
    return Kernel(
        lengths, is_reduced, references, tuple(steps), (write,), kept=(), stages=1, vector_axis=-1, lanes=1,
        parameters=len(strides), written=frozenset({count}),
    )  # fmt: skip


ROWS = (96, 32, 8)  # of float64[2, 3, 4]


def test_axes_that_follow_each_other_in_all_arrays_become_one():
    merged = merged_axes(kernel_of((2, 3, 4), ROWS, ROWS))
    assert merged.lengths == (24,) and [ref.strides for ref in merged.references] == [(8,), (8,)]


def test_axes_that_one_array_has_otherwise_stay_two():
    merged = merged_axes(kernel_of((2, 3, 4), ROWS, (32, 64, 8), ROWS))  # the second is transposed
    assert merged.lengths == (2, 3, 4)
    merged = merged_axes(kernel_of((2, 3, 4), ROWS, (0, 32, 8), ROWS))  # the second is repeated
    assert merged.lengths == (2, 12) and merged.references[1].strides == (0, 8)
    merged = merged_axes(kernel_of((2, 3, 4), (128, 32, 8), ROWS))  # with a gap, as long as 4 rows of 4
    assert merged.lengths == (2, 12)


def test_reduced_axes_come_last_and_are_merged_with_each_other_only():
    merged = merged_axes(kernel_of((2, 3, 4), ROWS, (0, 8, 0), reduced=(0, 2)))
    assert merged.lengths == (3, 2, 4) and merged.is_reduced == (False, True, True)
    merged = merged_axes(kernel_of((2, 3, 4), ROWS, (8, 0, 0), reduced=(1, 2)))
    assert merged.lengths == (2, 12) and merged.is_reduced == (False, True)


def test_the_axis_with_the_largest_steps_of_the_result_comes_first():
    merged = merged_axes(kernel_of((4, 3), (8, 32), (8, 32)))
    assert merged.lengths == (12,)
    merged = merged_axes(kernel_of((4, 3), (24, 8), (8, 32)))  # results decide
    assert merged.lengths == (3, 4)


def test_vectors_lie_along_elements_next_to_each_other():
    assert arranged(kernel_of((5, 70), (560, 8), (8, 40))).vector_axis == 1
    whole = arranged(kernel_of((50, 70), (560, 8), (8, 0), reduced=(1,)))
    assert whole.is_reduced[whole.vector_axis]
    short = arranged(kernel_of((50, 4), (32, 8), (8, 0), reduced=(1,)))  # vectors of results
    assert not short.is_reduced[short.vector_axis]
    assert arranged(kernel_of((50,), (8,), (8,), reduced=(0,), running=True)).lanes == 1
