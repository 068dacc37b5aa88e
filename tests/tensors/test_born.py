"""When the memory of a tensor was made: transforms ask, to know what a function was given and what it made itself."""

import pullback as pb
from pullback.tensors.tensor import born_of


def test_memory_from_outside_of_all_transforms_is_older_than_any():
    outside, seen = pb.ones(2), []

    def f(x):
        made = x * 2
        made.add_(1)
        seen.extend([born_of(outside), born_of(made)])
        return made.sum()

    pb.func.grad(f)(outside)
    assert seen[0] == 0 < seen[1]
    assert born_of(pb.ones(2, requires_grad=True)) == 0
