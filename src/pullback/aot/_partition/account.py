"""What a partition costs: bytes that are kept, bytes at the worst moment, operations, operations done twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pullback.aot._partition.extract import Halves
from pullback.aot._partition.joint import reads
from pullback.graph.cost import flops
from pullback.graph.ir import Program, Value, returned_roots, root_of


def statistics(halves: Halves, num_forward_outputs: int) -> dict[str, int]:
    """The numbers of a partition. Memory that several saved values share is counted once, and views are free."""
    forward, backward = halves.forward, halves.backward
    saved = _roots_of(forward.outputs[num_forward_outputs:])
    alive = {*forward.inputs, *_roots_of(forward.outputs[:num_forward_outputs])}
    peaks = [peak_bytes(forward), peak_bytes(backward, donated(halves))]
    return {
        "saved_bytes": sum([root.nbytes for root in saved]),
        "activation_bytes": sum([root.nbytes for root in saved if root not in alive]),
        "peak_bytes": max(peaks),
        "forward_peak_bytes": peaks[0],
        "backward_peak_bytes": peaks[1],
        "forward_flops": sum([flops(node) for node in forward.nodes]),
        "backward_flops": sum([flops(node) for node in backward.nodes]),
        "recompute_flops": sum([flops(node) for node in halves.repeated]),
    }


def donated(halves: Halves) -> frozenset[Value]:
    """The inputs of backward that nobody else holds, so that it may reuse their memory.

    A saved value that is, or shares memory with, an input or output of forward is somebody else's; so is one that
    backward hands back as a gradient.
    """
    returned = returned_roots(halves.backward)
    crossing = halves.forward.outputs[len(halves.forward.outputs) - len(halves.carried) :]
    holders = Counter([root_of(value) for value in crossing if value is not None])
    private = []
    for value, carried, given in zip(halves.backward.inputs, halves.carried, crossing, strict=False):
        is_shared = given is None or holders[root_of(given)] > 1
        if not (carried.is_checked or carried.is_target or is_shared or value in returned):
            private.append(value)
    return frozenset(private)


def peak_bytes(program: Program, donated: frozenset[Value] = frozenset()) -> int:
    """The most memory that is in use while the graph runs node by node, if everything is freed after its last use.

    Inputs belong to the caller and stay, except for those that are donated. Outputs stay until the end.
    """
    last_use = {root_of(value): index for index, node in enumerate(program.nodes) for value in reads(node)}
    kept = {*program.inputs, *returned_roots(program)} - donated
    in_use = sum([value.nbytes for value in program.inputs])
    peak = in_use
    for index, node in enumerate(program.nodes):
        made = [] if node.is_view else node.results
        in_use += sum([value.nbytes for value in made])
        peak = max(peak, in_use)
        touched = _roots_of([*made, *reads(node)])
        in_use -= sum([root.nbytes for root in touched if root not in kept and last_use.get(root, index) == index])
    return peak


def _roots_of(values: Iterable[Value | None]) -> list[Value]:
    return list(dict.fromkeys([root_of(value) for value in values if value is not None]))
