"""Pages of errors, one for each code and class: the text that `pb.help` prints, and the message of its program."""

import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb
import pullback.errors
from docs._ext.reference import write
from pullback.utils._help import Explanation, explanations

SUBJECTS = {
    "backward": "Running backward",
    "ragged": "Rows of different lengths",
    "writing": "Writing in place, views and versions",
    "leaving": "Leaving the graph",
    "hooks": "Hooks",
    "functions": "Custom functions and operators",
    "forward": "Forward mode",
    "transforms": "Transforms, vmap and control flow",
    "adapt": "Adapting NumPy programs",
    "scipy": "SciPy",
    "foreign": "Arrays of other libraries",
    "graphs": "Graphs as texts",
    "payloads": "Payloads of your own",
    "classes": "Classes of exceptions",
}
"""The files of `pullback.utils._help` and what they are about."""


OUR_WARNINGS = [
    value for value in vars(pb.errors).values() if isinstance(value, type) and issubclass(value, UserWarning)
]


def raised_by(program: str) -> BaseException:
    """The error, or the warning, in which a program ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in OUR_WARNINGS:
            warnings.filterwarnings("error", category=category)
        try:
            exec(compile(program, "program.py", "exec"), {"pb": pb, "np": np, "__name__": "program"})
        except Exception as error:
            return error
    raise AssertionError(f"no error was raised by\n{program}")


def page_of(explanation: Explanation) -> str:
    """The page of one code."""
    text, program = explanation.text, explanation.program
    if program:
        error = raised_by(program)
        assert not isinstance(error, ImportError), f"{explanation.name}: {error}"
        shown = textwrap.indent(program.rstrip(), "    ", lambda line: True)
        block = "\n".join(line.rstrip() for line in shown.splitlines())
        assert block in text, explanation.name
        message = f"{type(error).__name__}: {error}"
        text = text.replace(block, f"```python\n{program}```\n\n```text\n{message}\n```")
    subject = SUBJECTS[explanation.subject]
    # The search counts words of titles most, and people search for what happened to them.
    title = f"{explanation.name}: {explanation.sentence.rstrip('.')}"
    head = f"---\norphan: true\n---\n\n# {title}\n\n*{subject}; [all codes](index.md)*"
    return f'{head}\n\n{text}\n`pb.help("{explanation.name}")` prints this page in the terminal.\n'


def index_page() -> str:
    """All codes by subject."""
    parts = [
        "# Errors by code\n\nThe message of an `AutogradError` begins with a code in brackets. Each has a page with a"
        " program that raises it, the reason and ways out; `pb.help(code)` prints the same text."
    ]
    for subject, title in SUBJECTS.items():
        found = [each for each in explanations().values() if each.subject == subject]
        rows = [f"| [{each.name}]({each.name}.md) | {each.sentence.replace('|', chr(92) + '|')} |" for each in found]
        parts.append(f"## {title}\n\n| code | what happened |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """The Markdown of every page, by its name."""
    return {"index": index_page(), **{name: page_of(each) for name, each in explanations().items()}}


def setup(app: Any) -> dict[str, Any]:
    """Sphinx asks for this: the pages are written before it looks for pages."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir, "errors"), pages()))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
