"""Random programs of masks, loops that end early, writes, views and state, compiled and compared with themselves for
arguments that select other numbers of elements and take other ways.

    python -m tests.aot.random_selections 1000        # so many programs; prints those that differ
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import pullback as pb
from tests.aot.random_numbers import main

SIZE = 6


class Writer:
    """Writes the source of one program of two vectors, with selections `s*`, numbers `n*` and vectors."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.vectors, self.numbers = ["x", "y"], ["x.sum()"]
        self.chosen: dict[str, str] = {}  # selections, with their masks
        self.lines: list[str] = []
        self.depth = 1

    def say(self, *lines: str) -> None:
        self.lines += ["    " * self.depth + line for line in lines]

    def pick(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def new(self, letter: str) -> str:
        return f"{letter}{len(self.lines)}"

    def vector(self) -> str:
        return self.pick(*self.vectors)

    def number(self) -> str:
        return self.pick(*self.numbers, "0.5", "state['scale']")

    def of(self, one: str, other: str) -> str:
        return self.pick(
            f"{one} * {other}", f"np.sin({one}) + {other}", f"{one} - 0.3 * {other}", f"np.maximum({one}, {other})",
            f"np.exp(-np.abs({one})) * {other}", f"{one} / (1 + {other} ** 2)", f"np.where({one} > 0, {other}, {one})",
        )

    def statement(self) -> None:
        kinds = [self.mask, self.mask, self.selected, self.selected, self.written, self.combined, self.reduced,
                 self.reduced, self.view, self.asked]  # fmt: skip
        if self.depth == 1:
            kinds += [self.loop, self.loop, self.counted, self.choice]
        self.pick(*kinds)()

    def mask(self) -> None:
        name, v = self.new("m"), self.vector()
        both = f"({v} > 0) & ({self.vector()} < 1)"
        self.say(f"{name} = {self.pick(f'{v} > 0', f'np.abs({v}) < 1', f'{v} > {self.number()}', both)}")
        chosen = self.new("s")
        self.say(f"{chosen} = {self.vector()}[{name}]")
        self.chosen[chosen] = name

    def selected(self) -> None:
        if not self.chosen:
            return self.mask()
        one = self.pick(*self.chosen)
        mask = self.chosen[one]
        others = [each for each, m in self.chosen.items() if m == mask]
        name = self.new("s")
        made = self.of(one, self.pick(*others)), self.of(one, self.number())
        self.say(f"{name} = {self.pick(*made, f'{self.vector()}[{mask}]', f'{one} - {one}.mean()')}")
        self.chosen[name] = mask

    def reduced(self) -> None:
        if not self.chosen:
            return self.mask()
        name, s = self.new("n"), self.pick(*self.chosen)
        how = self.pick("sum()", "sum()", "mean()", "prod()", "std()", "dot", "len", "size", "any()", "norm")
        texts = {"dot": f"{s} @ {s}", "len": f"len({s}) * 0.1", "size": f"{s}.sum() / ({s}.size + 1)",
                 "norm": f"np.linalg.norm({s})"}  # fmt: skip
        self.say(f"{name} = {texts.get(how, f'{s}.{how}')}")
        self.numbers.append(name)

    def written(self) -> None:
        name = self.new("v")
        self.say(f"{name} = {self.vector()} * 1.0")
        s = self.pick(*self.chosen) if self.chosen else None
        if s is not None and self.rng.random() < 0.5:
            self.say(f"{name}[{self.chosen[s]}] = {s}")
        else:
            op = self.pick("= 0.5", "*= 2", "+= 0.1", "-= 0.25")
            self.say(f"{name}[{self.pick(f'{name} > 0', f'{self.vector()} < 0.5', '1:3', '-1')}] {op}")
        self.vectors.append(name)

    def combined(self) -> None:
        name = self.new("v")
        self.say(f"{name} = {self.of(self.vector(), self.pick(self.vector(), self.number()))}")
        self.vectors.append(name)

    def view(self) -> None:
        """A write through a view of something that is read afterwards."""
        name, part = self.new("v"), self.new("p")
        self.say(f"{name} = {self.vector()} * 1.0", f"{part} = {name}[{self.pick('1:4', '::2', '::-1')}]")
        self.say(part + self.pick(" *= 0.5", " += 1.0", f"[0] = {self.number()}"))
        self.vectors.append(name)

    def asked(self) -> None:
        if not self.chosen:
            return self.combined()
        name, s = self.new("v"), self.pick(*self.chosen)
        self.say(f"{name} = {self.vector()} * (2.0 if len({s}) > 3 else 1.0)")
        self.vectors.append(name)

    def choice(self) -> None:
        name, v = self.vector(), self.new("v")
        self.say(f"{v} = {name} * 1.0", f"if {v}.sum() > {self.number()}:")
        self.say(f"    {v} = {self.of(v, self.vector())}", "else:", f"    {v}[0] = {self.number()}")
        self.vectors.append(v)

    def loop(self) -> None:
        """A loop until something is small, or that is left early."""
        v, k = self.new("v"), self.new("k")
        self.say(f"{v}, {k} = {self.vector()} * 1.0, 0")
        self.say(f"while np.abs({v}).sum() > 1.0 and {k} < 40:" if self.rng.random() < 0.6 else "while True:")
        body = self.pick(f"{v} = {v} * 0.7", f"{v} = 0.5 * {v} - 0.1 * np.sin({v})", f"{v}[1:] *= 0.6; {v}[0] *= 0.5",
                         f"{v} = {v} - 0.3 * {v} * len({v}) / 6")  # fmt: skip
        self.say(f"    {body}", f"    {k} += 1")
        if self.rng.random() < 0.3:
            self.say("    state['steps'] += 1")
        self.say(f"    if {k} >= {self.pick(3, 9, 20)} or {v}.max() < {self.pick('0.1', '0.5')}:", "        break")
        self.vectors.append(v)
        self.numbers.append(k)

    def counted(self) -> None:
        """A `for` over a range, whose body may read the counter."""
        v, i = self.new("v"), self.new("i")
        self.say(f"{v} = {self.vector()} * 1.0", f"{i} = 0", f"for {i} in range({self.pick(6, 6, 12)}):")
        index = f"{i} % 6"
        body = self.pick(f"{v} = {v} * (0.9 - 0.02 * {i})", f"{v}[{index}] = {v}[{index}] * 0.5 + {self.number()}",
                         f"{v} = {v} - 0.1 * x[{index}]", f"{v} = {v} * 0.8", f"{v} = {v} / ({i} + 1.5)")  # fmt: skip
        self.say(f"    {body}")
        ends = self.pick(f"{v}.sum() < 0.5", f"np.abs({v}).max() < 0.7", f"{v}[0] > {v}[1]")
        self.say(f"    if {ends}:", "        break")
        if self.rng.random() < 0.2:
            self.say("else:", f"    {v} = {v} + 1")
        self.vectors.append(v)
        if self.rng.random() < 0.5:
            self.numbers.append(i)

    def source(self) -> str:
        for _ in range(self.rng.randint(3, 8)):
            self.statement()
        results = [self.vector(), *self.numbers[1:][-2:]]
        if self.chosen and self.rng.random() < 0.15:
            results.append(self.pick(*self.chosen))
        return "\n".join(["def f(x, y):", *self.lines, f"    return {', '.join(results)},"])


def outcome(function: Any, arrays: list[Any], state: dict[str, Any]) -> Any:
    """What a call gives, with first and second derivatives, and what it leaves."""
    args = [pb.tensor(array.copy(), requires_grad=True) for array in arrays]
    try:
        results = function(*args)
    except (ValueError, IndexError, ZeroDivisionError, FloatingPointError) as error:
        return type(error).__name__
    found: list[Any] = [state["steps"]]
    total = pb.tensor(0.0)
    for result in results:
        if isinstance(result, pb.Tensor):
            found += [str(result.dtype), result.requires_grad, result.detach().numpy().copy()]
            total = total + (result * result).sum() if result.requires_grad else total
        else:
            found += [type(result).__name__, float(result)]
    if total.requires_grad:
        grads = pb.autograd.grad(total, args, allow_unused=True, create_graph=True)
        found += [None if each is None else each.detach().numpy().copy() for each in grads]
        squares = [(each * each).sum() for each in grads if each is not None and each.requires_grad]
        if squares:
            second = pb.autograd.grad(sum(squares[1:], squares[0]), args, allow_unused=True)
            found += [None if each is None else each.numpy().copy() for each in second]
    return found


def differs(one: Any, other: Any) -> bool:
    """Are these two outcomes?"""
    if isinstance(one, str) or isinstance(other, str) or len(one) != len(other):
        return bool(one != other)
    for mine, theirs in zip(one, other, strict=True):
        if isinstance(theirs, (np.ndarray, float)) and isinstance(mine, (np.ndarray, float)):
            if np.shape(mine) != np.shape(theirs):
                return True
            scale = 1 + np.abs(np.nan_to_num(theirs, posinf=0, neginf=0)).max(initial=0)
            if not np.allclose(mine, theirs, 1e-7, 1e-9 * scale, equal_nan=True):
                return True
        elif type(mine) is not type(theirs) or (not isinstance(mine, np.ndarray) and mine != theirs):
            return True
    return False


def check(seed: int, backend: str = "numpy") -> str | None:
    """What is wrong with the program of this number; None if nothing is."""
    rng = random.Random(seed)
    source = Writer(rng).source()
    scopes: list[dict[str, Any]] = [{"pb": pb, "np": np, "state": {"steps": 0, "scale": 0.25}} for _ in range(2)]
    for scope in scopes:
        exec(compile(source, f"<program {seed}>", "exec"), scope)
    compiled = pb.compile(scopes[1]["f"], backend=backend)
    draws = np.random.default_rng(seed)
    for number in range(10):
        shift = draws.choice([-2.0, -0.5, 0.0, 0.5, 2.0])
        arrays = [draws.normal(size=SIZE) + shift, draws.normal(size=SIZE)]
        if number == 6:
            for scope in scopes:
                scope["state"]["scale"] = 0.75
        with np.errstate(all="ignore"):
            wanted = outcome(scopes[0]["f"], arrays, scopes[0]["state"])
            found = outcome(compiled, arrays, scopes[1]["state"])
        if differs(found, wanted):
            return f"{source}\ncall {number} with {arrays}\n  eager    {wanted}\n  compiled {found}"
    return None


if __name__ == "__main__":
    main(check)
