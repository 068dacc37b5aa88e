"""Errors of calls whose results nobody reads: compiled functions raise them too."""

import pytest

import pullback as pb

CALLS = {
    "argmax": (lambda x: pb.argmax(x), (0,)),
    "argmin of columns": (lambda x: pb.argmin(x, axis=0), (0, 3)),
    "argmax of rows": (lambda x: pb.argmax(x, axis=1), (3, 0)),
    "max with positions": (lambda x: x.max(dim=0), (0, 3)),
    "max": (lambda x: pb.max(x), (0,)),
    "reshape": (lambda x: x.reshape(2, 2), (3,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_error_is_raised_though_the_result_is_not_used(name):
    call, shape = CALLS[name]
    for run in (call, pb.compile(lambda x: (call(x), x * 2)[1])):
        with pytest.raises((ValueError, IndexError, RuntimeError)):
            run(pb.ones(shape))
