"""Random loops: a random step, run a number of times with everything that functions do to arrays in loops.

`python -m tests.graph.random_steps 2000` compares that many with their straight graphs.
"""

import sys

import numpy as np

import pullback as pb
from pullback.graph.reroll import reroll

STEPS = 11


class Loop:
    """A function of arrays with a loop. Its step is a list of actions on the variables, chosen once."""

    def __init__(self, seed, steps=STEPS):
        self.rng = np.random.default_rng(seed)
        self.actions = [self._action() for _ in range(self.rng.integers(2, 7))]
        self.ending = self.rng.integers(4)
        self.steps = steps + int(self.rng.integers(3))

    def _action(self):
        a, b = self.rng.integers(3, size=2)
        shift, slope = int(self.rng.integers(3)), int(self.rng.choice([-1, 1, 1, 2]))
        kinds = [
            lambda s, k: s.put(a, pb.sin(s.x[a]) * s.x[b]),
            lambda s, k: s.put(a, s.x[a] * 0.5 + s.x[b]),
            lambda s, k: s.put(a, pb.tanh(s.x[a] - s.rows(s.given, k, shift, slope))),
            lambda s, k: s.put(a, s.x[a] * s.rows(s.given, k, shift, slope)[0]),
            lambda s, k: s.put(a, s.x[b] * (0.1 * k + 1) / (k + 1)),
            lambda s, k: s.put(a, s.x[a] + pb.tensor(np.array([0.1 * k, 1.0, -0.0]))),
            lambda s, k: s.put(a, s.weights @ s.x[a] * 0.2),
            lambda s, k: s.put(a, (s.x[a][:, None] * s.x[b][None, :]).sum(0) * 0.3),
            lambda s, k: s.put(a, pb.where(s.x[a] > 0, s.x[b], s.x[a])),
            lambda s, k: s.put(a, s.old[-2] + s.x[a]),
            lambda s, k: s.add(a, 0.1 * s.x[b]),
            lambda s, k: s.write(s.x[a], k + shift),
            lambda s, k: s.write(s.x[a], k + shift, 1),
            lambda s, k: s.put(a, pb.sin(s.out[k + shift]) + s.x[b]),
            lambda s, k: s.increase(s.x[a], k + shift),
            lambda s, k: s.put(a, s.x[a] * s.out[k + 1, 2]),
            lambda s, k: s.kept.append(s.x[a]),
            lambda s, k: s.put(a, s.given[k + shift : k + shift + 2, :].sum(0) * s.x[a]),
            lambda s, k: s.put(a, s.given[2 * k : 2 * k + 2, shift].mean() + s.x[b]),
            lambda s, k: s.spread(s.x[a][:2], k),
            lambda s, k: s.old.append(s.x[a]),
            lambda s, k: s.part(a, s.x[b]),
            lambda s, k: s.put(a, s.x[b].reshape(1, 3).T[:, 0] * s.x[a]),
        ]
        return kinds[self.rng.integers(len(kinds))]

    def __call__(self, *arrays):
        state = State(arrays, self.steps)
        for k in range(self.steps):
            for action in self.actions:
                action(state, k)
        return state.end(self.ending)


class State:
    """The variables of a loop."""

    def __init__(self, arrays, steps):
        first, self.given, self.weights = arrays
        self.x = [first * 1.0, first + 0.5, first.clone()]
        self.out = pb.zeros(steps + 8, 3)
        self.line = pb.zeros(2 * steps + 8)
        self.old = [self.x[0], self.x[1]]
        self.kept = []

    def put(self, k, value):
        self.x[k] = value

    def add(self, k, value):
        self.x[k] = self.x[k].clone()
        self.x[k] += value

    def part(self, k, value):
        self.x[k] = self.x[k].clone()
        self.x[k][1:] = value[:2] * 0.5

    def rows(self, array, k, shift, slope):
        return array[(shift + slope * k) % len(array) if slope > 1 else shift + slope * k]

    def write(self, value, *place):
        self.out[place] = value if len(place) == 1 else value[0]

    def spread(self, value, k):
        self.line[2 * k : 2 * k + 2] = value

    def increase(self, value, k):
        self.out[k] += value

    def end(self, ending):
        total = sum(x.sum() for x in self.x) + (self.out * self.out).sum() * 0.1 + (self.line**2).sum()
        if self.kept and ending == 0:
            total = total + (pb.stack(self.kept) ** 2).sum()
        if self.kept and ending == 3:
            total = total + (pb.concat(self.kept) ** 2).sum() + pb.stack(self.kept[::-1], 1)[0].sum()
        if self.kept and ending == 1:
            total = total + self.kept[len(self.kept) // 2].sum()
        return (total, self.x[0], self.out) if ending == 2 else total


def inputs(rng, steps=STEPS):
    """Arrays for a loop of so many steps."""
    return [rng.standard_normal(3), rng.standard_normal((2 * steps + 8, 3)), rng.standard_normal((3, 3))]


def compare(seed):
    """The number of loops in the rolled graph, after its results were compared with those of the straight one."""
    loop = Loop(seed)
    rng = np.random.default_rng(seed)
    arrays = inputs(rng)
    joint = pb.aot.joint_graph(loop, *[pb.tensor(array, requires_grad=True) for array in arrays])
    straight = joint.captured.graph
    graph = reroll(straight, 4, 8).verify()
    given = [*arrays, *[rng.standard_normal(value.type.shape) for value in straight.inputs[3:]]]
    wanted = straight.eval(*given)
    for made in (graph, graph.simplify().cse().dce().verify()):
        for mine, theirs in zip(made.eval(*given), wanted, strict=True):
            assert (mine is None) is (theirs is None), seed
            assert mine is None or mine.tobytes() == theirs.tobytes(), seed
    return sum(node.op == "scan" for node in graph.nodes)


if __name__ == "__main__":
    counts = [compare(seed) for seed in range(int(sys.argv[1]))]
    print(f"{len(counts)} loops, {sum(count > 0 for count in counts)} of them rolled, {sum(counts)} scans")
