"""Every program of `bench/numpy_programs.py` has the gradient of central differences, whichever way it is asked for."""

import numpy as np
import pytest

import pullback as pb
from bench.numpy_programs import programs, texts, ways

PROGRAMS = {program.name: program for program in programs()}
STEP = 1e-5


def slope_along(function, arrays, directions):
    """The derivative of the program in a direction, by a difference of fourth order."""
    def at(step):
        return function(*(array + step * direction for array, direction in zip(arrays, directions, strict=True)))

    return (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)


@pytest.mark.parametrize("way", ["eager", "adapted", "compiled"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore:.*runs without being compiled")
def test_the_gradient_is_that_of_central_differences(name, way):
    program = PROGRAMS[name]
    arrays = program.arrays(program.small)
    function = getattr(texts("numpy"), name)
    gradient = ways(name, len(arrays))[way]()
    try:
        value, found = gradient(*arrays)
    except pb.AutogradError as error:
        if program.overwrites and way != "adapted" and error.code == "VERSION":
            pytest.xfail("overwrites what its derivative needs")
        raise
    np.testing.assert_allclose(value, function(*arrays), rtol=1e-10)
    rng = np.random.default_rng(3)
    for _ in range(2):
        directions = [rng.standard_normal(array.shape) for array in arrays]
        along = sum(np.sum(each * direction) for each, direction in zip(found, directions, strict=True))
        np.testing.assert_allclose(along, slope_along(function, arrays, directions), rtol=2e-6, atol=1e-7)
    again, _ = gradient(*arrays)  # what was compiled for the first call
    np.testing.assert_allclose(again, value, rtol=1e-12)
