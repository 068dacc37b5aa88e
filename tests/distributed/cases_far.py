"""Ranks that share no memory, as on several machines: what they are about to do is compared by messages."""

import numpy as np

import pullback as pb
from pullback import distributed as dist
from tests.distributed import cases_collectives, cases_data_parallel, cases_transforms
from tests.distributed.oracle import raises

RANKS = 4
ON_THREADS = ()
ENVIRONMENT = {"PULLBACK_DISTRIBUTED_BOARD": "messages"}

case_011_far = cases_collectives.case_011_all_reduce_sum_and_mean
case_022_far = cases_collectives.case_022_all_to_all
case_023_far = cases_collectives.case_023_sendrecv
case_026_far = cases_collectives.case_026_pipeline
case_029_far = cases_collectives.case_029_halo_in_two_halves
case_030_far = cases_collectives.case_030_halo_of_a_short_block
case_036_far = cases_collectives.case_036_dtypes_differ
case_040_far = cases_transforms.case_040_vmap
case_045_far = cases_transforms.case_045_recording_differs
case_065_far = cases_data_parallel.case_065_buckets_start_early_and_in_order
case_068_far = cases_data_parallel.case_068_no_sync


def case_120_swapped_far():
    comm = dist.world().dup()
    first, second = (dist.all_gather, dist.all_to_all) if dist.rank() == 2 else (dist.all_to_all, dist.all_gather)

    def run():
        first(np.ones(4), comm=comm)
        second(np.ones(4), comm=comm)

    raises(dist.CollectiveMismatch, run, "all_gather", "all_to_all")
    assert dist.all_reduce(pb.ones(2)).tolist() == [4.0, 4.0]
