"""Graphs: shortest paths and spanning trees are chosen by SciPy; lengths are sums of the weights chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._surface import Call, Rule, constant, declare, no_rule, numbers, tensors
from pullback.scipy.sparse._tensor import Pattern, SparseTensor, from_any, made
from pullback.tensors.tensor import Tensor

_BY = "weights of the edges"


def _graph(call: Call) -> tuple[SparseTensor, Any]:
    """The weights as a sparse matrix, and SciPy's matrix. In a dense one zeros and infinities are no edges."""
    given = call["csgraph"]
    matrix = from_any(given)
    if isinstance(given, SparseTensor) or hasattr(given, "tocsr"):
        return matrix, matrix.detach().to_scipy().tocsr()
    values = numbers(matrix.data.detach())
    kept = np.flatnonzero((values != 0) & np.isfinite(values))
    pattern = Pattern(matrix.pattern.rows[kept], matrix.pattern.columns[kept], matrix.shape)
    own = SparseTensor(pattern, matrix.data[kept])
    return own, own.detach().to_scipy()


@declare(
    *(f"sparse.csgraph.{name}" for name in ("shortest_path", "dijkstra", "bellman_ford", "floyd_warshall", "johnson")),
    kind="P", by=_BY,
)  # fmt: skip
def paths(call: Call) -> Any:
    if not isinstance(call["csgraph"], SparseTensor | Tensor):
        return tensors(call.run())
    if call.given("unweighted") and call["unweighted"]:
        return tensors(call.run(csgraph=_graph(call)[1]))  # numbers of edges
    matrix, plain = _graph(call)
    found = call.run(csgraph=plain, return_predecessors=True)
    lengths, before, *rest = found
    starts = np.arange(matrix.shape[0]) if call["indices"] is None else np.asarray(call["indices"])
    result = _lengths(matrix, lengths, before, starts, bool(call["directed"]))
    return (result, before, *rest) if call["return_predecessors"] else result


def _lengths(matrix: SparseTensor, lengths: Any, before: Any, starts: Any, is_directed: bool) -> Tensor:
    """The lengths of the paths as sums of weights along them."""
    weights = numbers(matrix.data.detach())
    places: dict[tuple[int, int], int] = {}
    for k, (row, column) in enumerate(zip(matrix.pattern.rows.tolist(), matrix.pattern.columns.tolist())):
        for pair in ((row, column),) if is_directed else ((row, column), (column, row)):
            if pair not in places or weights[k] < weights[places[pair]]:
                places[pair] = k
    flat, chosen = before.reshape(-1, matrix.shape[0]), np.atleast_1d(starts)
    paths: list[int] = []
    edges: list[int] = []
    for row, ahead in enumerate(flat.tolist()):
        for last in range(matrix.shape[0]):
            node = last
            while ahead[node] >= 0:
                paths.append(row * matrix.shape[0] + last)
                edges.append(places[ahead[node], node])
                node = ahead[node]
    assert len(flat) == len(chosen) or np.ndim(starts) == 0
    total = pb.zeros((flat.size,), dtype=matrix.data.dtype)
    if paths:
        total = pb.index_add(total, 0, np.array(paths), matrix.data[np.array(edges)])
    unreached = ~np.isfinite(lengths)
    return pb.where(unreached, np.inf, total.reshape(lengths.shape))


@declare("sparse.csgraph.minimum_spanning_tree", kind="P", by=_BY)
def minimum_spanning_tree(call: Call) -> Any:
    if not isinstance(call["csgraph"], SparseTensor | Tensor):
        return call.run()
    matrix, plain = _graph(call)
    numbered = plain.tocoo()
    found = call.run(csgraph=plain).tocoo()
    places = {pair: k for k, pair in enumerate(zip(matrix.pattern.rows.tolist(), matrix.pattern.columns.tolist()))}
    assert numbered.nnz == len(places)
    pairs = sorted(zip(found.coords[0].tolist(), found.coords[1].tolist()))
    kept = np.array([places[pair] for pair in pairs], dtype=np.intp)
    pattern = Pattern(matrix.pattern.rows[kept], matrix.pattern.columns[kept], matrix.shape)
    return SparseTensor(pattern, matrix.data[kept])


@declare("sparse.csgraph.laplacian", kind="C", by=_BY)
def laplacian(call: Call) -> Any:
    """Degrees on the diagonal, and the weights of edges with other signs beside it."""
    given = call["csgraph"]
    if not isinstance(given, SparseTensor | Tensor):
        return tensors(call.run())
    if call["form"] != "array":
        raise no_rule(Rule(call.name, "X", reason="with form= the result is a function"), "csgraph")
    matrix = from_any(given)
    rows, columns, data = matrix.pattern.rows, matrix.pattern.columns, matrix.data * 1.0
    if call["symmetrized"]:
        rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        data = pb.concat([data, pb.conj(data)])
    beside = np.flatnonzero(rows != columns)
    rows, columns, data = rows[beside], columns[beside], data[beside]
    size = matrix.shape[0]
    ends = rows if call["use_out_degree"] else columns
    degrees = pb.index_add(pb.zeros((size,), dtype=data.dtype), 0, ends, data)
    diagonal = degrees
    if call["normed"]:
        is_alone = numbers(degrees.detach()) == 0
        degrees = pb.where(is_alone, 1.0, pb.sqrt(pb.where(is_alone, 1.0, degrees)))
        data = data / degrees[rows] / degrees[columns]
        diagonal = pb.asarray(1.0 - is_alone)
    inner = np.arange(size)
    places = np.concatenate([rows, inner]), np.concatenate([columns, inner])
    found: Any = made(pb.concat([-data, diagonal]), *places, matrix.shape, "csr")
    if isinstance(given, Tensor):
        found = found.toarray()
    return (found, degrees) if call["return_diag"] else found


constant(
    *(f"sparse.csgraph.{name}" for name in (
        "breadth_first_order", "depth_first_order", "breadth_first_tree", "depth_first_tree", "connected_components",
        "reverse_cuthill_mckee", "maximum_bipartite_matching", "min_weight_full_bipartite_matching", "structural_rank",
        "csgraph_to_masked", "construct_dist_matrix", "reconstruct_path",
    ))
)  # fmt: skip
