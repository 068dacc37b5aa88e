"""Programs drawn: every statement is run as soon as it is drawn, on real tensors, and kept if it works."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np

import pullback as pb

from . import namespace, statements
from .numpy_calls import FUNCTIONS, ufunc_phrases
from .phrases import Chooser, Phrase
from .program import Input, scope
from .world import World

LARGEST = 1e4
MOST = 200_000
NUMPY = [Phrase(each.text, tuple(k for k in each.keywords if not k.endswith("out")), each.weight)
         for each in (*FUNCTIONS, *ufunc_phrases())]  # fmt: skip

# Which tables, and how often.
USUAL: dict[str, float] = {
    "arithmetic": 6, "reads": 4, "reductions": 3, "products": 1.5, "numpy": 1.5, "writes": 3.5, "blocks": 2,
    "flow": 1.2, "inside": 0.8, "namespace": 2,
}  # fmt: skip
# What a program is mostly about.
PROFILES: tuple[dict[str, float], ...] = (
    {}, {"blocks": 9}, {"flow": 8, "blocks": 4}, {"numpy": 8}, {"namespace": 12}, {"writes": 9, "reads": 6},
    {"reductions": 8, "products": 5}, {"inside": 3, "blocks": 4},
)  # fmt: skip
TABLES: dict[str, list[Phrase]] = {
    "arithmetic": statements.ARITHMETIC, "reads": statements.READS, "reductions": statements.REDUCTIONS,
    "products": statements.PRODUCTS, "numpy": NUMPY, "writes": statements.WRITES, "blocks": statements.BLOCKS,
    "flow": statements.FLOW, "inside": statements.INSIDE, "namespace": namespace.calls(),
}  # fmt: skip
EXPRESSIONS = ("arithmetic", "reads", "reductions", "products", "numpy", "namespace")


class StatementChooser(Chooser):
    """Also knows new names."""

    def __init__(self, *args: Any, names: Any):
        super().__init__(*args)
        self.names = names
        self.new: dict[str, str] = {}

    def place_t(self) -> str:
        return self.new.setdefault("t", next(self.names))

    def place_u(self) -> str:
        return self.new.setdefault("u", next(self.names))


class Writer:
    """Draws inputs, surroundings and a body; `variables` are expressions with the values that they have."""

    def __init__(self, rng: random.Random, world: World, tables: dict[str, float] | None = None):
        self.rng, self.world = rng, world
        self.tables = (tables or USUAL) | rng.choice(PROFILES)
        self.scope = scope()
        self.variables: dict[str, Any] = {}
        self.numbers: list[str] = []
        self.inputs: list[Input] = []
        self.setup: list[str] = []
        self.around: list[str] = []  # names of what is around
        self.body: list[str] = []
        self.names = (f"t{number}" for number in range(1, 1000))

    def draw_inputs(
        self, count: int, *, dtypes: Any = None, kinds: Any = ("leaf", "tensor", "array"), edges: bool = True
    ) -> None:
        """Arguments, of which some fit others."""
        for name in "xyz"[:count]:
            shape = self.shape_beside()
            dtype = self.world.dtype(dtypes) if dtypes else "float64" if self.rng.random() < 0.6 else self.world.dtype()
            kind = self.rng.choices(kinds, (5, 3, 1)[: len(kinds)])[0]
            if kind == "leaf" and np.dtype(dtype).kind not in "fc":
                kind = "tensor"
            layout = self.world.layout()
            if layout == "broadcast" and not edges:
                layout = "C"  # equal rows are an edge: of matrices without full rank, and of ties
            values = self.world.values(edges and self.rng.random() < 0.3)
            self.inputs.append(Input(name, shape, dtype, layout, values, self.world.seed(), kind))
            self.scope[name] = eval(self.inputs[-1].text(), self.scope)
            self.variables[name] = self.scope[name]

    def shape_beside(self, axes: int = 3) -> tuple[int, ...]:
        """A shape that goes with one that is there: the same, a part, a row, a square."""
        if not self.inputs or self.rng.random() < 0.25:
            small = [n for n in self.world.lengths if 1 < n < 18]
            if self.rng.random() < 0.3:  # short enough for loops
                return tuple(self.rng.choices(small, k=self.rng.choice((1, 2, 2))))
            return self.world.shape(axes)
        other = self.rng.choice(self.inputs).shape
        side = self.rng.choice((2, 3, 5, 8))
        forms = [other, other, other[1:], other[-1:], (side, side), (side,)]
        if other and other[0] * other[-1] <= self.world.most_elements and len(other) < 3:
            forms += [(other[-1], other[0]), (*other[:-1], 1)]
        return self.rng.choice([form for form in forms if len(form) <= axes])

    def draw_surroundings(self) -> None:
        """What the function uses and is not given."""
        self.setup = ["state = SimpleNamespace()", "box = {}"]
        for name, (text, _) in statements.SURROUNDINGS.items():
            if self.rng.random() < 0.35:
                self.around.append(name)
                self.setup.append(self.with_arrays(text))
                self.run(self.setup[-1]) if len(self.around) > 1 else self.run("\n".join(self.setup))
                if name in statements.NUMBERS:
                    self.numbers.append(name)
                else:
                    self.variables[name] = eval(name, self.scope)
        if not self.around:
            self.setup = []

    def with_arrays(self, text: str) -> str:
        """The text with a description of an array, of a shape that is there, in each place for one."""
        while "{tensor}" in text or "{array}" in text:
            shape = (
                self.rng.choice(self.inputs).shape if self.inputs and self.rng.random() < 0.7 else self.world.shape(2)
            )
            if int(np.prod(shape)) > 6000:
                shape = shape[-1:] if shape[-1] <= 6000 else ()
            place = "{tensor}" if "{tensor}" in text else "{array}"
            kind = "array" if place == "{array}" else "leaf" if self.rng.random() < 0.6 else "tensor"
            dtype = self.rng.choices(("float64", "float32", "complex128", "int64"), (10, 1, 1, 1))[0]
            kind = "tensor" if dtype == "int64" and kind == "leaf" else kind
            layout = self.world.layout() if self.rng.random() < 0.2 else "C"
            made = Input("", shape, dtype, layout, "unit", self.world.seed(), kind)
            text = text.replace(place, made.text(), 1)
        return text

    def change(self) -> list[str]:
        """A statement that changes what is around."""
        if not self.around:
            return []
        name = self.rng.choice(self.around)
        return [self.with_arrays(self.rng.choice(statements.SURROUNDINGS[name][1]))]

    def run(self, text: str) -> None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exec(compile(text, "<statement>", "exec"), self.scope)

    def draw_body(self, length: int) -> None:
        for _ in range(6 * length):
            if len(self.body) >= length:
                return
            self.draw_statement()

    def draw_statement(self) -> None:
        table = self.rng.choices(list(self.tables), list(self.tables.values()))[0]
        phrase = self.rng.choices(TABLES[table], [each.weight for each in TABLES[table]])[0]
        chooser = StatementChooser(self.rng, self.world, self.variables, self.numbers, names=self.names)
        if table in EXPRESSIONS:
            text = phrase.text
            if table == "numpy" and self.rng.random() < 0.3 and hasattr(pb, text[3:].split("(")[0].split(".")[0]):
                text = text.replace("np.", "pb.", 1)
            phrase = Phrase(text, phrase.keywords, phrase.weight)
        text = chooser.text(phrase)
        if text is None:
            return
        if table in EXPRESSIONS:
            text = f"{chooser.place_t()} = {text}"
        is_write = table == "writes" and "t" not in chooser.new
        if is_write and not isinstance(chooser.subject, pb.Tensor):
            return  # who writes to an array writes behind the back of everything that shares its memory
        before = {name: value.detach().numpy().copy() for name, value in self.variables.items()
                  if isinstance(value, pb.Tensor)} if is_write else {}  # fmt: skip
        grad_mode = pb.is_grad_enabled()
        try:
            self.run(text)
            made = {name: self.scope[name] for name in chooser.new.values()}
            ok = all(map(self.is_tame, [*made.values(), *(self.variables.values() if is_write else ())]))
        except Exception:
            ok = False
        pb.set_grad_enabled(grad_mode)
        if not ok:
            for name, old in before.items():
                data = self.variables[name].detach().numpy()
                if data.flags.writeable:
                    data[...] = old
            return
        self.body.append(text)
        self.variables |= {name: value for name, value in made.items() if isinstance(value, (pb.Tensor, np.ndarray))}

    def is_tame(self, value: Any) -> bool:
        """Neither large in size nor in value: what overflows hides mistakes."""
        if isinstance(value, (list, tuple)):
            return all(map(self.is_tame, value))
        if isinstance(value, pb.Tensor):
            value = value.detach().numpy()
        if not isinstance(value, np.ndarray):
            return True
        if value.size > MOST:
            return False
        if value.size == 0 or value.dtype.kind not in "fc":
            return True
        finite = value[np.isfinite(value)]
        has_edges = any(each.values == "edge" for each in self.inputs)
        return (has_edges or finite.size == value.size) and (not finite.size or bool(np.abs(finite).max() < LARGEST))

    def results(self, only_real: bool = False) -> list[str]:
        """Some of the newest variables."""
        names = [
            n for n, x in self.variables.items() if isinstance(x, pb.Tensor) and (not only_real or x.dtype.kind == "f")
        ]
        if not names:
            return []
        count = min(len(names), self.rng.choice((1, 1, 2, 3, 5)))
        newest = names[-8:]
        return sorted(set(self.rng.choices(newest, range(1, len(newest) + 1), k=count)))
