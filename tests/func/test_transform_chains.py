"""Every transform of `pb.func` inside every other, with maps at every position, against a closed form.

All chains of two derivatives are here, and of the longer ones every so many. `make chains` runs all of them.
"""

import itertools

import pytest

from tests.func import transform_chains
from tests.func.transform_chains import DERIVATIVES, chains, fault


def wrong_ones(some):
    return [found for chain in some if (found := fault(chain)) is not None]


def test_all_chains_of_two_derivatives():
    assert not wrong_ones(chains(2))


@pytest.mark.parametrize("depth, step", [(3, 17), (4, 401)])
def test_every_so_many_of_the_longer_chains(depth, step):
    assert not wrong_ones(itertools.islice(chains(depth), depth, None, step))


def test_which_chains_there_are():
    known = list(chains(4))
    assert len(known) == len(set(known)) == 94_648
    derivatives = tuple(DERIVATIVES)[:4]
    everywhere = ("vmap", *itertools.chain.from_iterable((name, "vmap") for name in derivatives))
    assert {derivatives, (*derivatives, "vmap"), ("vmap", *derivatives), everywhere} <= set(known)
    assert {("vmap", "vmap", "grad", "vmap"), ("shared_vmap", *derivatives)} <= set(known)


def test_a_wrong_derivative_and_an_error_are_faults(monkeypatch):
    assert fault(("jvp", "vmap", "grad")) is None
    doubled = transform_chains.DERIVATIVES["grad"]
    monkeypatch.setitem(transform_chains.DERIVATIVES, "grad", lambda f, x: 2 * doubled(f, x))
    assert "instead of" in fault(("jvp", "vmap", "grad"))
    monkeypatch.setitem(transform_chains.DERIVATIVES, "grad", lambda f, x: f(x, x))
    assert "TypeError" in fault(("jvp", "vmap", "grad"))
