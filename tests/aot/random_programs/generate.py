"""The generator: a seed and an index give a program.

It holds real tensors for all variables, and runs every statement as soon as it is drawn. A statement that raises is
taken back, except now and then: then it is the last one.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb

from . import functions
from .arguments import ArgumentStatements
from .composites import CompositeStatements
from .program import Program, Statement, lines
from .reads import ReadStatements
from .views import ViewStatements
from .writes import WriteStatements

WEIGHTS = {
    "unary": 2, "binary": 4, "scalar": 3, "reduction": 2, "matmul": 0.7, "join": 0.6, "take": 0.7, "cast": 0.4,
    "where": 0.5, "clone": 0.7, "inner_grad": 0.5, "filled": 0.4, "view": 6, "pieces": 1.2, "detach": 1.2, "same": 0.5,
    "write": 4, "write_number": 3, "write_unary": 1, "write_item": 3, "write_item_op": 1, "write_advanced": 1,
    "copy": 1.5, "fill": 0.7, "look": 1, "flag": 0.5, "data": 0.25, "grad_mode": 0.15, "detach_in_place": 0.15,
    "retain": 0.2, "array_write": 0.3, "custom": 0.6, "checkpoint": 0.3, "branch": 0.3, "loop": 0.3, "noise": 0.3,
    "inner_grads": 0.3, "own_leaf": 0.3,
}  # fmt: skip

PROFILES: tuple[dict[str, float], ...] = (
    {},
    {"view": 10, "pieces": 2, "write": 8, "write_item": 5, "copy": 3},
    {"detach": 4, "data": 0.6, "flag": 1.5, "detach_in_place": 0.5, "write_number": 5},
    {"look": 4, "view": 8, "write_number": 4},
    {"binary": 6, "unary": 4, "reduction": 4, "matmul": 3},
)


MODE_STACKS: tuple[tuple[str, ...], ...] = ((), ("no_grad",), ("enable_grad",), ("inference",))


class Generator(ArgumentStatements, CompositeStatements, ReadStatements, ViewStatements, WriteStatements):
    """Draws one program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.scope: dict[str, Any] = {"pb": pb, "np": np, "fn": functions}
        self.names: list[str] = []  # the variables that hold arrays
        self.counter = 0
        self.modes: tuple[str, ...] = ()
        self.is_over = False
        self.keeps_errors = False
        self.derived: set[str] = set()  # arguments that others were made from
        weights = WEIGHTS | rng.choice(PROFILES)
        self.makers = [(name, weight) for name, weight in weights.items()]
        self.uses_modes = rng.random() < 0.4

    def program(self) -> Program:
        """Arguments, statements, results, and what happens to them later."""
        self.statements: list[Statement] = []
        self.parameters = parameters = self.make_arguments(self.rng.choices((1, 2, 3, 4), (3, 4, 2, 1))[0])
        setup, self.statements = tuple(self.statements), []
        self.names = list(dict.fromkeys(parameters))
        self.derived = {name for statement in setup for name in statement.reads}
        self.keeps_errors = True
        length = self.rng.randint(1, 10)
        for _ in range(3 * length):
            if len(self.statements) >= length or self.is_over:
                break
            self.enter_modes()
            names, weights = zip(*self.makers, strict=True)
            self.draw(getattr(self, f"make_{self.rng.choices(names, weights)[0]}"))
        body = tuple(self.statements)
        returned = self.results()
        shape = self.rng.choices(("tuple", "dict", "nested"), (5, 1, 1))[0]
        if len(returned) == 1 and self.rng.random() < 0.5:
            shape = "single"
        roots = -1 if self.rng.random() < 0.6 else self.rng.getrandbits(12)
        order = 2 if self.rng.random() < 0.15 else 1
        return Program(setup, tuple(parameters), body, returned, shape, self.afterwards(), roots, order)

    def enter_modes(self) -> None:
        if self.uses_modes and self.rng.random() < 0.5:
            self.modes = self.rng.choices(MODE_STACKS, (3, 3, 0.3, 0.2))[0]

    def draw(self, maker: Callable[[], Statement | None]) -> None:
        """Draw a statement, run it, and keep it if it works."""
        before = self.counter
        statement = maker()
        if statement is None:
            return
        text = "\n".join(lines([statement]))
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec(compile(text, "<statement>", "exec"), self.scope)
                if any(self.is_wild(self.scope[name]) for name in (*statement.makes, *statement.reads)):
                    raise OverflowError
        except Exception:
            if not self.keeps_errors or self.rng.random() > 0.04:
                self.counter = before
                return
            self.is_over = True
        self.statements.append(statement)
        if not self.is_over:
            self.names += [name for name in statement.makes if isinstance(self.scope[name], pb.Tensor)]

    def is_wild(self, x: Any) -> bool:
        """Values that are too large hide mistakes."""
        if isinstance(x, pb.Tensor):
            x = x._data
        return isinstance(x, np.ndarray) and x.size > 0 and x.dtype.kind in "fci" and not np.abs(x).max() < 1e6

    def results(self) -> tuple[str, ...]:
        """The leaves that are returned: variables, the newest most often, some twice, and literals."""
        leaves: list[str] = []
        for _ in range(self.rng.choices((0, 1, 2, 3, 4), (0.3, 3, 4, 3, 2))[0]):
            draw = self.rng.random()
            if draw < 0.07:
                leaves.append(self.rng.choice(("3", "2.5", "None", "'text'", "True")))
            elif leaves and draw < 0.15:
                leaves.append(self.rng.choice(leaves))
            else:
                leaves.append(self.rng.choices(self.names, [1 + 0.6 * k for k in range(len(self.names))])[0])
        return tuple(leaves)

    def afterwards(self) -> tuple[Statement, ...]:
        """Writes to results and arguments after the call."""
        texts = ("{x}.mul_(2.0)", "{x}.add_(1.0)", "{x}.fill_(0.5)", "{x}.mul_({x})", "{x}[...] = 3.0", "{x}.mul_({y})")
        some = [f"o[{k} % len(o)]" for k in range(8)]
        return tuple(
            Statement(
                self.rng.choice(texts).replace("{x}", self.rng.choice(some)).replace("{y}", self.rng.choice(some)),
                modes=self.rng.choices(((), ("no_grad",)), (3, 1))[0],
            )
            for _ in range(self.rng.choices((0, 1, 2), (1, 3, 1.5))[0])
        )

    # What the makers use.

    def fresh(self) -> str:
        """A new name."""
        self.counter += 1
        return f"t{self.counter}"

    def pick(self, wanted: Callable[[Any], bool] = lambda _: True) -> str | None:
        """A variable that satisfies `wanted`, recent ones more often; None if there is none."""
        found = [name for name in self.names if has_history(self.scope[name]) and wanted(self.scope[name])]
        return self.rng.choices(found, [1 + 0.5 * k for k in range(len(found))])[0] if found else None

    def pick_tensor(self, wanted: Callable[[Any], bool] = lambda _: True) -> str | None:
        """The same among tensors."""
        return self.pick(lambda x: isinstance(x, pb.Tensor) and wanted(x))

    def pick_float(self, wanted: Callable[[Any], bool] = lambda _: True) -> str | None:
        """The same among tensors of real numbers."""
        return self.pick_tensor(lambda x: x.dtype.kind == "f" and wanted(x))

    def number(self) -> str:
        """A number."""
        return self.rng.choice(("0.5", "2.0", "-1.5", "3.0", "0.25"))

    def statement(self, text: str, *reads: str, makes: tuple[str, ...] = ()) -> Statement:
        """A statement under the modes of the moment."""
        return Statement(text, tuple(dict.fromkeys(reads)), makes, self.modes)

    def made(self, text: str, *reads: str) -> Statement:
        """A statement that makes one variable."""
        name = self.fresh()
        return self.statement(f"{name} = {text}", *reads, makes=(name,))


def has_history(x: Any) -> bool:
    """Can one ask for the history of a tensor? Not of a view that a custom Function made, if its base was written."""
    try:
        return not isinstance(x, pb.Tensor) or x.grad_fn is not x
    except pb.autograd.AutogradError:
        return False


def generate(seed: int, index: int) -> Program:
    """Program number `index` of `seed`."""
    generator = Generator(random.Random(f"{seed}:{index}"))
    try:
        return generator.program()
    finally:
        pb.set_grad_enabled(True)
