"""The arguments that the generator draws: every kind of tensor that a caller may have, and arrays."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import pullback as pb

from .program import Statement

SHAPES = ((), (2,), (3,), (4,), (2, 3), (3, 2), (2, 2), (3, 3), (1, 3), (2, 1), (2, 2, 2), (0,), (0, 2))
MOST_WRITTEN = 64  # elements that are written one by one
SHAPE_WEIGHTS = (1.5, 2, 4, 3, 4, 2, 2, 3, 1, 1, 1, 0.4, 0.2)


class ArgumentStatements:
    """Setup statements. Each makes one parameter, and what it needs."""

    rng: Any
    scope: dict[str, Any]
    draw: Any
    statements: list[Statement]

    def make_arguments(self, count: int) -> list[str]:
        """Make some arguments; the names of the parameters, one of which may come twice."""
        parameters: list[str] = []
        kinds = {
            "leaf": 4, "constant": 3, "inner": 3, "inner_view": 1.5, "related": 3.5, "unrelated": 1.2, "laid_out": 1,
            "array": 0.8, "integer": 0.6, "complex": 0.5, "single": 0.3, "no_grad_view": 0.3, "read_only": 0.15,
        }  # fmt: skip
        for name in [f"x{number}" for number in range(count)]:
            for _ in range(20):
                kind = "twin" if self.rng.random() < 0.04 else self.rng.choices(list(kinds), list(kinds.values()))[0]
                self.draw(partial(getattr(self, f"argument_{kind}"), name, parameters))
                if name in self.scope:
                    parameters.append(name)
                    break
        return parameters

    def argument_twin(self, name: str, parameters: list[str]) -> Statement | None:
        """The same object once more."""
        if not parameters:
            return None
        other = self.rng.choice(parameters)
        return Statement(f"{name} = {other}", (other,), (name,))

    def shape(self) -> tuple[int, ...]:
        return self.rng.choices(SHAPES, SHAPE_WEIGHTS)[0]

    def values(self, whole: bool = False) -> str:
        """An array of random numbers, as text."""
        shape = self.shape()
        count = prod(shape)
        if count > MOST_WRITTEN:
            numbers = f"np.arange({count}) * 7 % 23"
            text = f"({numbers} - 11)" if whole else f"({numbers} * 0.17 - 1.9)"
            return f"{text}.reshape{shape}".replace(",)", ")")
        if whole:
            numbers = [self.rng.randint(-3, 4) for _ in range(count)]
        else:
            numbers = [round(self.rng.uniform(-2, 2), 1) for _ in range(count)]
        if len(shape) == 0:
            return str(numbers[0])
        dtype = "" if numbers or whole else ", float"
        return f"np.array({numbers}{dtype}).reshape{shape}".replace(",)", ")")

    def argument_leaf(self, name: str, _: list[str]) -> Statement:
        return Statement(f"{name} = pb.tensor({self.values()}, requires_grad=True)", (), (name,))

    def argument_constant(self, name: str, _: list[str]) -> Statement:
        return Statement(f"{name} = pb.tensor({self.values()})", (), (name,))

    def argument_inner(self, name: str, _: list[str]) -> Statement:
        leaf = f"w{name}"
        text = f"{leaf} = pb.tensor({self.values()}, requires_grad=True)\n{name} = {leaf} * 2.0"
        return Statement(text, (), (leaf, name))

    def argument_inner_view(self, name: str, _: list[str]) -> Statement:
        """A view of a tensor that is no argument."""
        leaf, whole = f"w{name}", f"v{name}"
        history = self.rng.choice(("{0} * 2.0", "{0}.sin()", "{0}.detach().clone()"))
        view = self.rng.choice(("[1:]", "[0]", "[...]", ".T", ".reshape(-1)", "[::-1]", "[:, 1:]", "[None]"))
        text = (
            f"{leaf} = pb.tensor({self.values()}, requires_grad=True)\n{whole} = {history.format(leaf)}\n"
            f"{name} = {whole}{view}"
        )
        return Statement(text, (), (leaf, whole, name))

    def argument_related(self, name: str, parameters: list[str]) -> Statement | None:
        """A view of another argument that autograd knows to be one."""
        if not parameters:
            return None
        view = self.rng.choice((
            "[1:]", "[:2]", "[0]", "[...]", ".T", ".reshape(-1)", "[::-1]", "[:, 1:]", "[..., 0]", "[None]",
            ".diagonal()", ".unbind()[0]", ".detach()", ".detach()[1:]", "[1:][:1]", ".as_strided((2,), (1,), 1)",
        ))  # fmt: skip
        other = self.rng.choice(parameters)
        return Statement(f"{name} = {other}{view}", (other,), (name,))

    def argument_unrelated(self, name: str, parameters: list[str]) -> Statement | None:
        """The memory of another argument, of which autograd knows nothing."""
        if not parameters:
            return None
        other = self.rng.choice([name for name in parameters if isinstance(self.scope[name], pb.Tensor)] or [None])
        if other is None:
            return None
        form = self.rng.choice((
            "{0}.data", "{0}.data[1:]", "pb.asarray({0}.detach().numpy())", "pb.asarray({0}.detach().numpy()[..., :1])",
            "{0}.detach().numpy()", "pb.asarray({0})",
        ))  # fmt: skip
        return Statement(f"{name} = {form.format(other)}", (other,), (name,))

    def argument_laid_out(self, name: str, _: list[str]) -> Statement:
        """Arrays that do not lie in memory in row-major order."""
        form = self.rng.choice((
            "{0}.T", "{0}[::-1]", "{0}[..., ::2]", "np.asfortranarray({0})", "np.swapaxes({0}, 0, -1)",
        ))  # fmt: skip
        wants = self.rng.choice((", requires_grad=True", ""))
        made = form.format(f"np.array({self.values()})")
        text = f"pb.asarray({made})" + (".requires_grad_()" if wants else "")
        return Statement(f"{name} = {text}", (), (name,))

    def argument_array(self, name: str, _: list[str]) -> Statement:
        return Statement(f"{name} = np.array({self.values()}, dtype=float)", (), (name,))

    def argument_integer(self, name: str, _: list[str]) -> Statement:
        return Statement(f"{name} = pb.tensor({self.values(True)}, dtype=pb.int64)", (), (name,))

    def argument_complex(self, name: str, _: list[str]) -> Statement:
        wants = self.rng.choice(("True", "False"))
        text = f"{name} = pb.tensor({self.values()} * (1 + 0.5j), dtype=pb.complex128, requires_grad={wants})"
        return Statement(text, (), (name,))

    def argument_single(self, name: str, _: list[str]) -> Statement:
        wants = self.rng.choice(("True", "False"))
        text = f"{name} = pb.tensor({self.values()}, dtype=pb.float32, requires_grad={wants})"
        return Statement(text, (), (name,))

    def argument_no_grad_view(self, name: str, parameters: list[str]) -> Statement | None:
        if not parameters:
            return None
        other = self.rng.choice(parameters)
        view = self.rng.choice(("[1:]", "[...]", ".T"))
        return Statement(f"{name} = {other}{view}", (other,), (name,), ("no_grad",))

    def argument_read_only(self, name: str, parameters: list[str]) -> Statement:
        whole = f"v{name}"
        made = f"{whole} = pb.tensor({self.values()}, requires_grad=True)"
        text = f"{made}\n{name} = pb.broadcast_to({whole}, (2, *{whole}.shape))"
        return Statement(text, (), (whole, name))
