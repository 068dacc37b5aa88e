"""The cost model: formulas, the simulator, and what is measured here."""

import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pullback as pb

cost = pb.distributed.cost
RANKS = (2, 4, 16, 128, 1024, 10_000)


def training(step, n_bytes, layers=2, **options):
    """A third forward, and a backward whose layers have equal parts of time and bytes."""
    return cost.Training(step / 3, ((step * 2 / 3 / layers, n_bytes / layers),) * layers, **options)


def test_136_one_rank_costs_nothing():
    for algorithm in cost.ALL_REDUCE:
        assert cost.time("all_reduce", 1e6, 1, "fabric", algorithm) == 0
    for op in ("all_gather", "reduce_scatter", "broadcast", "all_to_all", "sendrecv", "halo_exchange", "barrier"):
        assert cost.time(op, 1e6, 1) == 0 < cost.time(op, 1e6, 2)


def test_136_ring_and_halving_doubling_agree_for_two_ranks_in_bytes():
    net = cost.Net("bytes", 0.0, 1e-9)
    ring, halving = (cost.time("all_reduce", 1e6, 2, net, name) for name in ("ring", "halving_doubling"))
    assert ring == halving == pytest.approx(1e6 * 1e-9 + 0.5e6 * net.gamma)


def test_136_crossovers_are_monotone_in_the_number_of_ranks():
    growing = [cost.crossover("recursive_doubling", "ring", ranks) for ranks in RANKS]
    falling = [cost.crossover("recursive_doubling", "halving_doubling", ranks) for ranks in RANKS]
    assert growing == sorted(growing) and falling == sorted(falling, reverse=True)
    for ranks, size in zip(RANKS, growing, strict=True):
        ring = cost.time("all_reduce", size, ranks, algorithm="ring")
        assert ring == pytest.approx(cost.time("all_reduce", size, ranks, algorithm="recursive_doubling"))
    assert cost.crossover("halving_doubling", "binomial", 16) == math.inf


def test_136_two_levels_pay_where_machines_are_fast_inside():
    net = cost.Net("cluster", 25e-6, 1 / 1.1e9, node=32, alpha_in=1e-6, beta_in=1 / 10e9)
    flat = cost.time("all_reduce", 1e6, 1024, net._replace(node=1))
    assert cost.time("all_reduce", 1e6, 1024, net) < flat / 3
    assert cost.time("all_reduce", 1e6, 32, net, "two_levels") < 1e-3  # one machine: nothing goes over the network


def test_137_tiny_buckets_and_full_overlap_hide_all_but_the_last():
    work = cost.Training(0.0, ((1e-3, 1000.0),) * 100, bucket_bytes=1000, overlap=1.0, jitter=0.0)
    step = cost.simulate(work, 16)
    assert step.seconds == pytest.approx(0.1 + cost.time("all_reduce", 1000, 16))


@pytest.mark.parametrize("overlap", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("bucket", [1e4, 1e6, 1e9])
def test_137_never_faster_than_computing_or_the_network_alone(overlap, bucket):
    for ranks in RANKS:
        work = training(5e-3, 20e6, 8, bucket_bytes=bucket, overlap=overlap)
        step = cost.simulate(work, ranks, "ethernet")
        each = 20e6 / 8
        buckets = [20e6] if bucket > 20e6 else [each] * 8
        network = sum(cost.time("all_reduce", n, ranks, "ethernet") for n in buckets)
        assert step.seconds >= max(5e-3, network)
        assert step.seconds <= 5e-3 + network + 0.01 * 5e-3 * math.sqrt(2 * math.log(ranks)) + 1e-12
        assert 0 < step.efficiency <= 1 and step.waiting == pytest.approx(step.seconds - 5e-3)


def test_137_the_slowest_class_of_ranks_sets_the_pace():
    even, uneven = (training(1e-3, 1e5, classes=classes) for classes in (((1.0, 1.0),), ((0.9, 1.0), (0.1, 2.0))))
    assert cost.simulate(uneven, 128).seconds > 1.9 * cost.simulate(even, 128).seconds
    assert cost.simulate(uneven, 128).compute == pytest.approx(1.1e-3)


def test_137_pieces_on_workers():
    assert cost.simulate(cost.Map(16, 1.0, submit=0.0), 4).seconds == 4.0
    assert cost.simulate(cost.Map(16, 1.0, submit=0.0), 5).seconds == 4.0  # sixteen pieces, four rounds
    assert cost.simulate(cost.Map(100, 1e-6, submit=1e-3), 64).seconds == pytest.approx(0.1, rel=1e-3)
    many = cost.simulate(cost.Map(20_000, 1e-2), 10_000)
    assert many.seconds >= 20_000 * 50e-6


def test_the_table_of_expected_efficiencies():
    """Weak scaling in per cent, from numbers that were worked out without this code; to two points."""
    cases = [
        (training(23e-6, 10e3), (72, 57), (56, 42, 34, 28), (14, 9, 6, 4)),
        (training(5.5e-3, 2.1e6), (91, 87), (90, 89, 88, 88), (63, 59, 57, 55)),
        (training(83e-3, 8.4e6), (97, 95), (96, 95, 94, 94), (87, 86, 85, 84)),
        (training(5.3e-3, 0.1e6), (98, 97), (97, 96, 95, 94), (91, 88, 85, 82)),
    ]
    for work, *expected in cases:
        for net, counts, wanted in zip(cost.NETS, ((2, 4), RANKS[2:], RANKS[2:]), expected, strict=True):
            found = [100 * cost.simulate(work, ranks, net).efficiency for ranks in counts]
            np.testing.assert_allclose(found, wanted, atol=2)
    for net, wanted in (("fabric", (67, 97, 100)), ("ethernet", (14, 71, 97))):
        found = [100 * cost.simulate(cost.Stencil((n, n)), 16, net).efficiency for n in (64, 256, 1024)]
        np.testing.assert_allclose(found, wanted, atol=0.6)


def test_calibration_is_written_and_read(tmp_path):
    with ThreadPoolExecutor(1) as executor:
        found = cost.calibrate(tmp_path / "here.json", executor=executor)
    assert found["net"].is_assumed and found["net"].gamma > 0 and found["submit"] > 0  # one process: nobody to talk to
    stored = json.loads((tmp_path / "here.json").read_text())
    assert stored["submit"] == found["submit"]
    path = str(tmp_path / "here.json")
    assert cost.time("all_reduce", 1e6, 4, path) == cost.time("all_reduce", 1e6, 4, found["net"])


def test_calibration_measures_messages_between_ranks():
    def work():
        return cost.calibrate(comm=pb.distributed.world())["net"]

    first, second = pb.distributed.simulate(work, 2)
    assert not first.is_assumed and first.alpha == second.alpha > 0 and first.beta == second.beta > 0


def test_arguments_are_checked():
    for wrong in (("all_reduce", 1, 0), ("gossip", 1, 2), ("all_reduce", 1, 2, "pigeons"), ("all_reduce", -1, 2)):
        with pytest.raises(ValueError):
            cost.time(*wrong)
    with pytest.raises(ValueError, match="algorithm"):
        cost.time("all_reduce", 1, 2, "fabric", "magic")


def test_the_check_says_what_there_is():
    done = subprocess.run([sys.executable, "-m", "pullback.distributed.check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ranks    1 on 1 machine" in done.stdout and "nothing is wrong" in done.stdout
