"""What the codes of errors mean, in words and with a program: `pb.help("VERSION")`.

The texts are in the Markdown files beside this module, by subject, and are read when they are first asked for. A
section has the code as its heading, one sentence, a program that ends in the error, the reason, and ways out. The site
makes its pages of errors from the same sections, and tests run the programs.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pullback.errors import AutogradError

__all__ = ["help"]


@dataclass(frozen=True)
class Explanation:
    """What is known of one code, or of one class of exceptions."""

    name: str
    subject: str
    text: str

    @property
    def sentence(self) -> str:
        """What happened, in one sentence."""
        return self.text.partition("\n\n")[0].replace("\n", " ")

    @property
    def program(self) -> str:
        """A program that ends in the error; empty if there is none."""
        found = re.search(r"^    .*(?:\n(?:    .*)?)*", self.text, re.MULTILINE)
        return textwrap.dedent(found[0]).strip() + "\n" if found else ""


@cache
def explanations() -> dict[str, Explanation]:
    """Everything that is explained, by code or name of the class."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.md")):
        for section in re.split(r"^# ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            name, _, text = section.partition("\n")
            found[name] = Explanation(name, path.stem, text.strip() + "\n")
    return found


def help(code: str | BaseException | type[BaseException]) -> None:
    """Print what an error means: a program that raises it, the reason, and ways out.

    `code` is the code that stands in brackets in the message, the name of a class of `pullback.errors`, such a class,
    or an error that was caught.

    >>> pb.help("LEAF_INPLACE")  # doctest: +ELLIPSIS
    LEAF_INPLACE: A leaf that requires grad is written in place while operations are recorded.
    ...
    """
    name = code if isinstance(code, str) else _name_of(code)
    known = explanations()
    if name not in known:
        near = difflib.get_close_matches(name.upper(), known, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise KeyError(f"there is no error with the code {name!r}{hint}")
    print(f"{name}: {known[name].text}", end="")


def _name_of(error: BaseException | type[BaseException]) -> str:
    if isinstance(error, AutogradError):
        return error.code
    return error.__name__ if isinstance(error, type) else type(error).__name__
