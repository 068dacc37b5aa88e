"""Statements that take views, and aliases of other kinds."""

from __future__ import annotations

from typing import Any

from .program import Statement


class ViewStatements:
    """Makers of statements whose result shares memory with an operand."""

    rng: Any
    scope: dict[str, Any]
    pick_tensor: Any
    fresh: Any
    made: Any
    statement: Any

    def make_view(self) -> Statement | None:
        x = self.pick_tensor()
        if x is None:
            return None
        return self.made(self.rng.choice(self.view_forms(self.scope[x])).format(x), x)

    def view_forms(self, x: Any) -> list[str]:
        """The views that a tensor has, as text."""
        rng, ndim, shape = self.rng, x.ndim, x.shape
        forms = ["{0}[...]", "{0}.reshape(-1)", "{0}.ravel()", "{0}.expand_dims(0)", "{0}.squeeze()", "{0}[None]",
                 "{0}.real", f"pb.broadcast_to({{0}}, {(2, *shape)})", "{0}.view({0}.shape)"]  # fmt: skip
        if x.dtype.kind == "c":
            forms += ["{0}.real", "{0}.imag"] * 3
        if ndim:
            forms += [f"{{0}}[{self.basic_index(shape)}]" for _ in range(5)]
            forms += ["{0}.flip(0)", "{0}.T", "{0}.swapaxes(0, -1)", f"{{0}}.expand_dims({rng.randint(0, ndim)})"]
        if ndim > 1:
            axes = rng.sample(range(ndim), ndim)
            forms += [f"{{0}}.permute{tuple(axes)}", "{0}.mT", "{0}.diagonal()", "pb.moveaxis({0}, 0, 1)"]
            forms += [f"{{0}}.reshape{tuple(reversed(shape))}"]
        if ndim == 1 and x.size % 2 == 0 and x.size:
            forms.append("{0}.reshape(2, -1)")
        if x.size > 2:
            forms.append(f"{{0}}.as_strided(({rng.randint(1, 2)},), (1,), {rng.randint(0, 1)})")
        return forms

    def basic_index(self, shape: tuple[int, ...]) -> str:
        """An index that makes a view."""
        parts = []
        for length in shape[: self.rng.randint(1, len(shape))]:
            number = str(self.rng.randrange(length)) if length else ":"
            parts.append(self.rng.choice((number, ":", "1:", ":2", "::-1", "::2", "1:2", "-1:")))
        if self.rng.random() < 0.1:
            parts.insert(self.rng.randint(0, len(parts)), "None")
        return ", ".join(parts)

    def make_pieces(self) -> Statement | None:
        """Several views at once."""
        x = self.pick_tensor(lambda v: v.ndim > 0 and v.shape[0] in (2, 3, 4))
        if x is None:
            return None
        length = self.scope[x].shape[0]
        if self.rng.random() < 0.5:
            names = tuple(self.fresh() for _ in range(length))
            return self.statement(f"{', '.join(names)} = {x}.unbind()", x, makes=names)
        names = self.fresh(), self.fresh()
        form = self.rng.choice(("pb.array_split({0}, 2)", "pb.split({0}, [1])", "{0}.array_split(2, axis=-1)"))
        return self.statement(f"{', '.join(names)} = {form.format(x)}", x, makes=names)

    def make_detach(self) -> Statement | None:
        x = self.pick_tensor()
        form = self.rng.choices(("{0}.detach()", "{0}.data", "{0}.detach()[...]"), (5, 1.5, 1))[0]
        return None if x is None else self.made(form.format(x), x)
