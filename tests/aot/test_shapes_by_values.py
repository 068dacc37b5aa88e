"""Functions whose results have as many elements as values say are not captured, and say so in the words of a trace."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.errors import AOTError

X = np.array([0.0, 1.5, -2.0, 1.5, 0.0])

FUNCTIONS = {
    "argwhere": lambda x: pb.argwhere(x),
    "bincount": lambda x: pb.bincount(abs(x).astype(int)),
    "compress": lambda x: pb.compress([True, False, True, True, False], x),
    "compress by values": lambda x: pb.compress(x > 0, x),
    "digitize": lambda x: pb.digitize(x, [-1.0, 1.0]),
    "delete": lambda x: pb.delete(x, [0, 2]),
    "extract": lambda x: pb.extract(x > 0, x),
    "flatnonzero": lambda x: pb.flatnonzero(x),
    "geqrf": lambda x: pb.linalg.geqrf(x[:4].reshape(2, 2)).a,
    "histc": lambda x: pb.histc(x, 3),
    "histogram": lambda x: pb.histogram(x, 3)[0],
    "histogram_bin_edges": lambda x: pb.histogram_bin_edges(x, 3),
    "insert": lambda x: pb.insert(x, [0, 1], 2.0),
    "intersect1d": lambda x: pb.intersect1d(x, x[1:]),
    "mask": lambda x: x[x > 0],
    "mode": lambda x: pb.mode(x).values,
    "nonzero": lambda x: pb.nonzero(x)[0],
    "packbits": lambda x: pb.packbits(x > 0),
    "repeat": lambda x: pb.repeat(x, np.arange(5)),
    "setdiff1d": lambda x: pb.setdiff1d(x, x[:2]),
    "trim_zeros": lambda x: pb.trim_zeros(x),
    "union1d": lambda x: pb.union1d(x, x),
    "unique": lambda x: pb.unique(x),
    "unique_counts": lambda x: np.unique_counts(x).counts,
    "unravel_index": lambda x: pb.unravel_index(3, x.reshape(1, 5).shape)[1],
}


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_can_not_be_captured_runs_as_it_is(name, backend):
    function = FUNCTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pb.compile(function, backend=backend)(pb.tensor(X))
    assert found.numpy().tolist() == function(pb.tensor(X)).numpy().tolist()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_error_of_a_capture_is_none_of_vmap(name):
    try:
        pb.compile(FUNCTIONS[name], fallback="raise")(pb.tensor(X))
    except AOTError as error:
        assert "vmap" not in str(error)
