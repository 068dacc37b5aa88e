"""Random functions whose way depends on values: branches, early returns, loops that stop, numbers taken out of tensors,
writes before and after questions, draws, exceptions. `program(seed)` is the text of one, a function of x, y and s."""

from __future__ import annotations

import random

HEAD = "import math\nimport numpy as np\nimport pullback as pb\n\n"


class Writer:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.lines: list[str] = []
        self.tensors = ["x", "y"]  # of shape (3,)
        self.numbers = ["s"]
        self.count = 0

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def tensor(self) -> str:
        return self.draw.choice(self.tensors)

    def number(self) -> str:
        return self.draw.choice([*self.numbers, str(self.draw.choice([0.5, 1, 2.0, -1.5, 3]))])

    def expression(self) -> str:
        a, b, n = self.tensor(), self.tensor(), self.number()
        return self.draw.choice([
            f"{a} * {b}", f"{a} + {b}", f"{a} - {n}", f"{a} * {n}", f"pb.sin({a})", f"{a}.detach() * {b}",
            f"{a} / (1 + {b} * {b})", f"pb.where({a} > 0, {a}, {b})", f"pb.maximum({a}, {b})", f"{a}[::-1] * 1",
            f"pb.tanh({a}) * {n}", f"{a} * {b}.sum()",
        ])  # fmt: skip

    def condition(self) -> str:
        a, n = self.tensor(), self.number()
        return self.draw.choice([
            f"{a}.sum() > {n}", f"{a}[0] < {a}[1]", f"{a}.max() > 1", f"float({a}.detach().mean()) < {n}",
            f"{a}.sum().item() > 0.5", f"({a} > 0).all()", f"({a} > 1).any() and {a}[2] < {n}", f"not {a}[1] > 0",
            f"0 < {a}.mean() < 1", f"{n} > 0.75", f"bool({a}[0] > {n})",
        ])  # fmt: skip

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, depth: int, length: int, in_loop: bool = False) -> None:
        kept, numbers = list(self.tensors), list(self.numbers)
        self.put(depth, "pass")
        for _ in range(length):
            self.statement(depth, in_loop)
        self.tensors, self.numbers = kept, numbers  # what an arm makes, others may not have

    def statement(self, depth: int, in_loop: bool) -> None:
        weights = {
            "new": 5, "again": 5, "number": 3, "write": 3, "part": 2, "if": 5 * (depth < 4), "while": depth < 3,
            "for": depth < 3, "pure": 2 * (depth < 3), "return": 1, "break": 2 * in_loop, "draw": 1, "raise": 0.5,
            "list": 1,
        }  # fmt: skip
        kind = self.draw.choices(list(weights), list(weights.values()))[0]
        if kind == "new":
            name, text = self.name("t"), self.expression()
            self.put(depth, f"{name} = {text}")
            self.tensors.append(name)
        elif kind == "again" and len(self.tensors) > 2:
            name = self.draw.choice(self.tensors[2:])
            self.put(depth, f"{name} = {self.expression()}")
        elif kind == "number":
            name, tensor, other = self.name("n"), self.tensor(), self.number()
            text = self.draw.choice([
                f"{tensor}.sum().item()", f"float({tensor}.detach()[0]) * {other}", f"math.sqrt(abs({other}) + 1)",
                f"int({tensor}.detach().sum())", f"max({other}, 0.25)", f"{tensor}.max().item() ** 2 + {other}",
                f"({tensor} > 0).sum().item()", f"1 / (2 + abs({other}))",
            ])  # fmt: skip
            self.put(depth, f"{name} = {text}")
            self.numbers.append(name)
        elif kind == "write" and len(self.tensors) > 2:
            self.put(depth, f"{self.draw.choice(self.tensors[2:])} = {self.tensor()} * 1")
            self.put(depth, f"z = {self.tensor()}.detach()" if self.draw.random() < 0.3 else f"z = {self.tensor()} * 1")
            self.put(depth, self.draw.choice(["z.add_(1)", "z[0] = 2.0", f"z[1:] = {self.tensor()}[:2]", "z *= 0.5"]))
            self.tensors.append("z") if depth == 1 and "z" not in self.tensors else None
        elif kind == "part":
            writes = "w.add_(1)", f"w[1] = {self.number()}", f"w.mul_({self.tensor()}.detach())"
            self.put(depth, self.draw.choice(writes))
        elif kind == "if":
            self.put(depth, f"if {self.condition()}:")
            self.block(depth + 1, self.draw.randint(1, 3), in_loop)
            if self.draw.random() < 0.6:
                self.put(depth, "else:")
                self.block(depth + 1, self.draw.randint(1, 2), in_loop)
        elif kind == "while":
            name = self.name("u")
            self.put(depth, f"{name} = {self.expression()}")
            self.tensors.append(name)
            self.put(depth, f"c{depth} = 0")
            self.put(depth, f"while (abs({name}) > 1).any():")
            self.put(depth + 1, f"c{depth} += 1")
            self.put(depth + 1, f"if c{depth} > 5: break")
            self.put(depth + 1, f"{name} = {name} * 0.4")
            self.block(depth + 1, self.draw.randint(0, 2), True)
        elif kind == "pure":
            self.pure_loop(depth)
        elif kind == "for":
            name = self.name("v")
            self.put(depth, f"{name} = {self.expression()}")
            self.tensors.append(name)
            self.put(depth, f"for k{depth} in range({self.draw.randint(1, 4)}):")
            self.put(depth + 1, f"{name} = {name} * {self.number()} + {self.tensor()}")
            self.block(depth + 1, self.draw.randint(0, 2), True)
        elif kind == "return":
            self.put(depth, f"if {self.condition()}:")
            self.put(depth + 1, f"return {self.results()}")
        elif kind == "break":
            self.put(depth, f"if {self.condition()}:")
            self.put(depth + 1, self.draw.choice(["break", "continue"]))
        elif kind == "draw":
            name = self.name("t")
            self.put(depth, f"{name} = {self.tensor()} * pb.random.uniform(size=(3,))")
            self.tensors.append(name)
        elif kind == "raise":
            self.put(depth, f"if {self.tensor()}.sum() > 40:")
            self.put(depth + 1, f"raise ValueError(f'too large: {{{self.tensor()}.sum().item():.3f}}')")
        elif kind == "list":
            name = self.name("t")
            self.put(depth, f"rows = [{self.tensor()}, {self.tensor()} * 2]")
            self.put(depth, f"{name} = sum(rows[1:], rows[0])")
            self.tensors.append(name)

    def pure_loop(self, depth: int) -> None:
        """A loop that ends by itself, and of which nothing is counted: it can become one of the graph."""
        name, other, more, err = self.name("u"), self.name("t"), self.name("t"), self.name("n")
        self.put(depth, f"{name} = pb.tanh({self.expression()}) * {self.draw.choice([1, 5, 300])}")
        self.put(depth, f"{other} = {name}" if self.draw.random() < 0.3 else f"{other} = {self.expression()}")
        if self.draw.random() < 0.5:
            self.put(depth, f"{more} = {self.tensor()} * 2")
        update = self.draw.choice([
            f"{name} = {name} * 0.4", f"{name} = {name} * 0.5 + pb.tanh({self.tensor()}) * 0.01",
            f"{other} = {name}; {name} = {name} * 0.6 + {other} * 0.1",
            f"{name} = pb.sin({name}) * 0.5 + {name}.detach() * 0.3", f"{name} = {name} / (2 + ({self.number()}) ** 2)",
        ])  # fmt: skip
        size = f"float(abs({name}).max().detach())"
        kind = self.draw.choice(["while", "true", "for", "number", "same arm"])
        if kind == "while":
            self.put(depth, f"while (abs({name}) > 1).any():")
            self.put(depth + 1, update)
        elif kind == "true":
            self.put(depth, "while True:")
            self.put(depth + 1, update)
            self.put(depth + 1, f"if not abs({name}).sum() > 3: break")
        elif kind == "for":
            self.put(depth, f"for k in range({self.draw.choice([5, 9, 50])}):")
            self.put(depth + 1, update)
            self.put(depth + 1, f"{err} = {size}")
            self.put(depth + 1, f"if {err} < 1: break")
            self.put(depth + 1, f"{name} = {name} * 0.9")
            if self.draw.random() < 0.5:
                self.put(depth, "else:")
                self.put(depth + 1, f"{name} = {name} + 1")
            self.numbers += [err, "k"] if depth == 1 else []
        elif kind == "number":
            self.put(depth, f"{err} = {size}")
            self.put(depth, f"while {err} > 1:")
            self.put(depth + 1, update)
            self.put(depth + 1, f"{err} = {size} * 0.99")
            self.numbers.append(err)
        else:
            self.put(depth, f"while (abs({name}) > 1).any():")
            self.put(depth + 1, f"if {self.tensor()}.sum() > {self.number()}: {name} = {name} * 0.7")
            self.put(depth + 1, update)
        self.tensors.append(name)

    def results(self) -> str:
        return self.draw.choice([
            f"{self.tensor()}, {self.number()}", f"({self.tensor()}).sum()", f"{self.tensor()}, {self.tensor()}",
            f"{self.tensor()}[1:], w", f"{{'a': {self.tensor()}, 'n': {self.number()}}}", "x", "None",
        ])  # fmt: skip


def program(seed: int) -> str:
    """The text of a function f(x, y, w, s): x and y get gradients, w is written, s is a number."""
    writer = Writer(seed)
    writer.put(0, "def f(x, y, w, s):")
    for _ in range(writer.draw.randint(3, 8)):
        writer.statement(1, False)
    writer.put(1, f"return {writer.results()}, {writer.tensor()}")
    return HEAD + "\n".join(writer.lines) + "\n"
