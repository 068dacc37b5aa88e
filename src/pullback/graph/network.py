"""`FlowNetwork`: the largest flow and the smallest cut of a network with integer capacities (Dinic's method).

Each phase numbers the vertices by their distance from the source along edges with capacity left, and then pushes flow
along edges that lead one step further until no such path is left. Paths are followed with a list, not by recursion: a
graph of ten thousand nodes in a row is an ordinary graph. Push-relabel would also do; on the shallow networks of a
partition, where most values may not be recomputed, this needs a handful of phases.
"""

from __future__ import annotations

UNLIMITED = 1 << 62
"""A capacity that no sum of weights reaches. It takes part in the arithmetic like any other."""


class FlowNetwork:
    """Vertices are 0, 1, ...; edge `e` and its reverse `e ^ 1` lie side by side in the lists."""

    def __init__(self) -> None:
        self._edges_of: list[list[int]] = []
        self._head: list[int] = []
        self._left: list[int] = []  # capacity that is left

    def add_vertex(self) -> int:
        """A new vertex."""
        self._edges_of.append([])
        return len(self._edges_of) - 1

    def add_edge(self, tail: int, head: int, capacity: int) -> None:
        """An edge that carries at most `capacity`."""
        self._edges_of[tail].append(len(self._head))
        self._head.append(head)
        self._left.append(capacity)
        self._edges_of[head].append(len(self._head))
        self._head.append(tail)
        self._left.append(0)

    def push_all(self, source: int, sink: int) -> int:
        """Send as much as possible from `source` to `sink`; return how much arrived."""
        total = 0
        while True:
            levels = self._levels(source, sink)
            if levels[sink] < 0:
                return total
            total += self._block(source, sink, levels)

    def sink_side(self, sink: int) -> list[bool]:
        """After `push_all`: which vertices still reach the sink. The cut into this set is the one nearest the sink."""
        found = [False] * len(self._edges_of)
        found[sink] = True
        waiting = [sink]
        while waiting:
            for edge in self._edges_of[waiting.pop()]:
                tail = self._head[edge]
                if not found[tail] and self._left[edge ^ 1]:
                    found[tail] = True
                    waiting.append(tail)
        return found

    def _levels(self, source: int, sink: int) -> list[int]:
        """Distance of every vertex from the source along edges with capacity left; -1 where none leads."""
        levels = [-1] * len(self._edges_of)
        levels[source] = 0
        frontier = [source]
        while frontier and levels[sink] < 0:
            following = []
            for vertex in frontier:
                for edge in self._edges_of[vertex]:
                    head = self._head[edge]
                    if levels[head] < 0 and self._left[edge]:
                        levels[head] = levels[vertex] + 1
                        following.append(head)
            frontier = following
        return levels

    def _block(self, source: int, sink: int, levels: list[int]) -> int:
        """Push along paths of increasing level until there is none. An edge that failed once is not tried again."""
        head, left = self._head, self._left
        position = [0] * len(self._edges_of)
        path: list[int] = []  # edges
        vertex, pushed = source, 0
        while True:
            if vertex == sink:
                amount = min([left[edge] for edge in path])
                for edge in path:
                    left[edge] -= amount
                    left[edge ^ 1] += amount
                pushed += amount
                # Go on from the tail of the first edge that is full now.
                full = next(index for index, edge in enumerate(path) if not left[edge])
                vertex = head[path[full] ^ 1]
                del path[full:]
            elif position[vertex] < len(self._edges_of[vertex]):
                edge = self._edges_of[vertex][position[vertex]]
                if left[edge] and levels[head[edge]] == levels[vertex] + 1:
                    path.append(edge)
                    vertex = head[edge]
                else:
                    position[vertex] += 1
            elif path:
                vertex = head[path.pop() ^ 1]
                position[vertex] += 1
            else:
                return pushed
