"""What programs are made of: texts with places for variables, numbers, axes and keys.

    Phrase("np.sum({x})", "axis={ax}", "keepdims=True")

The first text is always written, each of the others (keywords of the call) in some of the programs. A place says what
may stand there: `PLACES` for variables, the methods `place_*` for everything else. The first variable is the subject:
axes, keys and partners are those that fit it. Nothing here needs to be right: a statement that raises is drawn again.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .world import REAL, World

PLACE = re.compile(r"\{(\w+)\}")


class Phrase(NamedTuple):
    """A text with places, keywords that may be added, and how often it is drawn."""

    text: str
    keywords: tuple[str, ...] = ()
    weight: float = 1.0


def phrases(table: str, weight: float = 1.0) -> list[Phrase]:
    """Phrases of lines: text, then keywords, with `|` between them. A `;` in a text is the end of a line."""
    rows = [[part.strip() for part in line.split(" | ")] for line in table.strip().splitlines() if line.strip()]
    return [Phrase(row[0].replace("; ", "\n"), tuple(row[1:]), weight) for row in rows]


def is_real(x: Any) -> bool:
    return x.dtype.kind == "f"


PLACES: dict[str, Callable[[Any], bool]] = {
    "x": lambda x: True,
    "f": lambda x: x.dtype.kind in "fc",
    "r": is_real,
    "d": lambda x: is_real(x) and x.ndim > 0 and x.size > 0,  # something to reduce
    "z": lambda x: x.dtype.kind == "c",
    "b": lambda x: x.dtype.kind == "b",
    "j": lambda x: x.dtype.kind in "iu",
    "v": lambda x: x.dtype.kind in "fc" and x.ndim == 1,
    "rv": lambda x: is_real(x) and x.ndim == 1,
    "m": lambda x: x.dtype.kind in "fc" and x.ndim == 2,
    "finite": lambda x: PLACES["m"](x) and bool(np.isfinite(x).all()),  # LAPACK may never end on others
    "q": lambda x: is_real(x) and x.ndim == 1 and 2 <= x.shape[0] <= 17,  # short enough for loops
    "rows": lambda x: is_real(x) and x.ndim == 2 and 1 <= x.shape[0] <= 17,
    "square": lambda x: is_real(x) and x.ndim == 2 and 1 <= x.shape[0] == x.shape[1] <= 17,
    "a": lambda x: x.ndim > 0,
    "three": lambda x: x.ndim == 3 and is_real(x) and 0 < x.size < 5000,
}


class Chooser:
    """Fills places in, of the variables that there are: a mapping of expressions to values."""

    def __init__(
        self, rng: random.Random, world: World, variables: Mapping[str, Any], numbers: list[str] | None = None
    ):
        self.rng = rng
        self.world = world
        self.variables = variables
        self.numbers = numbers or []

    def text(self, phrase: Phrase, chance: float = 0.3) -> str | None:
        """The text with all places filled, None if nothing fits."""
        text = phrase.text
        added = [keyword for keyword in phrase.keywords if self.rng.random() < chance]
        if added:
            text = f"{text[:-1]}, {', '.join(added)})"
        self.subject: Any = None
        try:
            return PLACE.sub(self.fill, text.replace("{{", "{ ").replace("}}", " }"))
        except LookupError:
            return None

    def fill(self, match: re.Match[str]) -> str:
        name = match.group(1)
        if name.rstrip("0123456789") in PLACES:
            return self.variable(PLACES[name.rstrip("0123456789")])
        return str(getattr(self, f"place_{name}")())

    def variable(self, accepts: Callable[[Any], bool]) -> str:
        names = [name for name, value in self.variables.items() if accepts(value)]
        if not names:
            raise LookupError
        chosen = self.rng.choices(names, [1 + 0.5 * k for k in range(len(names))])[0]
        if self.subject is None:
            self.subject = self.variables[chosen]
        return chosen

    def place_y(self) -> str:
        """A variable that broadcasts with the subject and makes nothing large, or a number."""
        if self.rng.random() < 0.15:
            return self.place_n()

        def fits(x: Any) -> bool:
            try:
                shape = np.broadcast_shapes(x.shape, self.subject.shape)
            except ValueError:
                return False
            return int(np.prod(shape)) <= max(2 * self.subject.size, 20_000)

        return self.variable(fits)

    def place_o(self) -> str:
        """A variable of the shape of the subject."""
        return self.variable(lambda x: x.shape == self.subject.shape)

    def place_l(self) -> str:
        """A variable that broadcasts to the subject."""
        return self.variable(lambda x: x.ndim <= self.subject.ndim and fits_into(x.shape, self.subject.shape))

    def place_right(self) -> str:
        """What the subject can be multiplied with as a matrix."""
        length = self.subject.shape[-1]
        return self.variable(lambda x: x.ndim in (1, 2) and x.dtype.kind in "fc" and x.shape[0] == length
                             and x.size * self.subject.size <= 4e6)  # fmt: skip

    def place_index(self) -> str:
        return self.variable(lambda x: x.dtype.kind == "i")

    def place_mask(self) -> str:
        names = [name for name, x in self.variables.items() if x.dtype.kind == "b" and x.shape == self.subject.shape]
        return self.rng.choice(names) if names else self.rng.choice(self.subjects_in_reach()) + " > 0"

    def subjects_in_reach(self) -> list[str]:
        found = [n for n, x in self.variables.items() if x.shape == self.subject.shape and x.dtype.kind in "fiu"]
        if not found:
            raise LookupError
        return found

    def place_n(self) -> str:
        if self.numbers and self.rng.random() < 0.5:
            return self.rng.choice(self.numbers)
        return self.rng.choice(("0.5", "2.0", "-1.5", "3", "2", "0.25", "1", "-1"))

    def place_k(self) -> int:
        return self.rng.choice((0, 1, 1, 2, 3))

    def place_kk(self) -> int:
        return self.rng.choice((1, 2, 2, 3, 5))

    def place_len(self) -> int:
        return self.world.length(1000)

    def place_ax(self) -> int:
        if self.subject is None or self.subject.ndim == 0:
            raise LookupError
        return self.rng.randrange(-self.subject.ndim, self.subject.ndim)

    def place_axes(self) -> Any:
        """An axis, several, or None."""
        rank = self.subject.ndim
        if self.rng.random() < 0.3 or rank == 0:
            return None
        if self.rng.random() < 0.6:
            return self.place_ax()
        return tuple(self.rng.sample(range(rank), self.rng.randint(0 if rank > 1 else 1, rank)))

    def place_order(self) -> Any:
        return tuple(self.rng.sample(range(self.subject.ndim), self.subject.ndim))

    def place_i(self) -> int:
        length = self.subject.shape[0] if self.subject.ndim else 0
        if length == 0:
            raise LookupError
        return self.rng.randrange(-length, length)

    def place_ii(self) -> list[int]:
        return [self.place_i() for _ in range(self.rng.randint(1, 4))]

    def place_sl(self) -> str:
        return self.rng.choice(("1:", ":-1", "::2", "::-1", ":3", "2:5", ":", "-3:", "1::3", "...", ":0"))

    def place_key(self) -> str:
        """A basic key that fits the subject."""
        rank = self.subject.ndim
        if rank == 0:
            return "..."
        parts = []
        for _ in range(self.rng.randint(1, rank)):
            draw = self.rng.random()
            if draw < 0.3 and self.subject.shape[len(parts)]:
                parts.append(str(self.rng.randrange(self.subject.shape[len(parts)])))
            elif draw < 0.34:
                parts.append("None")
            else:
                parts.append(self.place_sl().replace("...", ":"))
        if self.rng.random() < 0.15:
            parts.insert(0, "...")
        return ", ".join(parts)

    def place_dt(self) -> str:
        return repr(self.world.dtype())

    def place_fdt(self) -> str:
        return repr(self.world.dtype(REAL))

    def place_lib(self) -> str:
        return self.rng.choice(("pb", "np"))

    def place_other(self) -> Any:
        """Another shape for the same elements."""
        size = self.subject.size
        forms = [(-1,), (size,), (1, size), (size, 1), self.subject.shape[::-1]]
        if size % 2 == 0 and size:
            forms += [(2, size // 2), (size // 2, 2), (2, -1)]
        return self.rng.choice(forms)

    def place_side(self) -> str:
        return self.rng.choice(("'left'", "'right'"))

    def place_norm(self) -> str:
        return self.rng.choice(("'backward'", "'ortho'", "'forward'"))

    def place_mode(self) -> str:
        return self.rng.choice(("'full'", "'same'", "'valid'"))

    def place_pad(self) -> str:
        return self.rng.choice(("'constant'", "'edge'", "'reflect'", "'wrap'", "'symmetric'", "'linear_ramp'"))

    def place_method(self) -> str:
        return self.rng.choice(("'linear'", "'lower'", "'higher'", "'midpoint'", "'nearest'", "'hazen'", "'weibull'"))


def fits_into(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == tuple(target)
    except ValueError:
        return False
