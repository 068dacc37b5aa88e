"""Random programs of nested loops and branches, the same for the same seed."""

import numpy as np

import pullback as pb

SIZE = 3


class RandomLoops:
    """A function of a matrix, a vector and a sequence of vectors; all intermediate values are vectors or scalars."""

    def __init__(self, seed):
        self.seed = seed

    def arguments(self):
        """A matrix, a vector and a sequence, which require grad."""
        rng = np.random.default_rng((self.seed, 1))
        shapes = (SIZE, SIZE), (SIZE,), (int(rng.integers(0, 5)), SIZE)
        return [pb.tensor(rng.normal(size=shape) * 0.6, requires_grad=True) for shape in shapes]

    def __call__(self, matrix, vector, sequence):
        # Drawn anew in every call, in the same order: the program is the same each time that it runs.
        rng = np.random.default_rng((self.seed, 2))
        known = self.statements(rng, [vector], matrix, sequence, 2)
        # A loop over nothing has no history, and a compiled one has: the result depends on the vector either way.
        return sum((x * x).sum() for x in known) + 0.1 * vector.sum()

    def statements(self, rng, known, matrix, sequence, depth):
        """`known`, and what a few random statements make of it."""
        known = list(known)
        kinds = ["elementwise", "product", "write", "detach", "index"] + ["scan", "cond", "while"] * (depth > 0)
        for _ in range(int(rng.integers(1, 4))):
            kind = rng.choice(kinds)
            made = getattr(self, f"make_{kind}")(rng, known, matrix, sequence, depth)
            known = [*known[-2:], *made]
        return known[-2:]

    def pick(self, rng, known):
        return known[int(rng.integers(len(known)))]

    def make_elementwise(self, rng, known, *_):
        x, y = self.pick(rng, known), self.pick(rng, known)
        forms = [lambda: x.sin(), lambda: x.tanh() * y, lambda: x - 0.5 * y, lambda: (x * y).cos(), lambda: x + y.sum(),
                 lambda: pb.where(x > 0, x, y * 0.5)]  # fmt: skip
        return [forms[int(rng.integers(len(forms)))]()]

    def make_product(self, rng, known, matrix, *_):
        x = self.pick(rng, known)
        forms = [lambda: (matrix @ x).tanh(), lambda: (x @ matrix).tanh(), lambda: (matrix.T @ x).sin()]
        return [forms[int(rng.integers(len(forms)))]()]

    def make_write(self, rng, known, *_):
        x, y = self.pick(rng, known).clone(), self.pick(rng, known)
        place = int(rng.integers(SIZE))
        forms = [lambda: x.mul_(y), lambda: x.__setitem__(place, y.sum()), lambda: x[1:].add_(y[:-1])]
        forms[int(rng.integers(len(forms)))]()
        return [x.tanh()]

    def make_detach(self, rng, known, *_):
        x, y = self.pick(rng, known), self.pick(rng, known)
        return [x * y.detach()]

    def make_index(self, rng, known, *_):
        x, y = self.pick(rng, known), self.pick(rng, known)
        return [x[::-1] * y[int(rng.integers(SIZE))]]

    def make_scan(self, rng, known, matrix, sequence, depth):
        inner = int(rng.integers(2**31))
        reverse, with_xs, closes_over = (bool(rng.integers(2)) for _ in range(3))
        outside = self.pick(rng, known)

        def body(carry, x):
            draws = np.random.default_rng(inner)
            given = [*carry["state"], *([x["x"]] if with_xs else []), *([outside] if closes_over else [])]
            made = self.statements(draws, given, matrix, sequence, depth - 1)
            new = [a * 0.5 + made[-1].tanh() for a in carry["state"]]
            return {"state": new, "count": carry["count"] + 1}, (made[0], new[0].sum())

        state = [self.pick(rng, known) for _ in range(int(rng.integers(1, 3)))]
        length = None if with_xs else int(rng.integers(0, 4))
        xs = {"x": sequence} if with_xs else None
        last, ys = pb.scan(body, {"state": state, "count": 0}, xs, length, reverse)
        return [*last["state"], ys[0].sum(0) + ys[1].sum() + last["count"]]

    def make_cond(self, rng, known, matrix, sequence, depth):
        first, second = (int(rng.integers(2**31)) for _ in range(2))
        x = self.pick(rng, known)

        def branch(seed):
            return lambda *args: self.statements(np.random.default_rng(seed), args, matrix, sequence, depth - 1)[-1]

        return [pb.cond(x.sum() > 0, branch(first), branch(second), x, self.pick(rng, known))]

    def make_while(self, rng, known, matrix, sequence, depth):
        inner, steps = int(rng.integers(2**31)), int(rng.integers(0, 4))

        def body(carry):
            made = self.statements(np.random.default_rng(inner), [carry[0]], matrix, sequence, depth - 1)
            return made[-1].tanh(), carry[1] + 1

        start = (self.pick(rng, known), 0)
        return [pb.while_loop(lambda c: (c[1] < steps) & (c[0].sum() > -1), body, start, max_steps=4)[0]]
