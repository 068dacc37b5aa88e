"""Source that is written out for a number of arguments, so that no loop over them is left. See fast-paths.md."""

from __future__ import annotations

from typing import Any


def written_out(template: str, count: int, **parts: str) -> str:
    """The template with every part repeated for the arguments k = 0, 1, ..., `count - 1`.

    The template names a part as `{part}`, and the number of arguments as `{count}`. The places in a node's `_state`
    stand in it as numbers: a name would be looked up at every use.
    """
    repeated = {name: "".join(part.strip("\n").replace("{k}", str(k)) + "\n" * ("\n" in part) for k in range(count))
                for name, part in parts.items()}  # fmt: skip
    source = template.format(count=count, **repeated)
    for place, name in enumerate(PLACES):
        source = source.replace(f"[{name}]", f"[{place}]")
    return source


def run_source(source: str, name: str, scope: dict[str, Any]) -> None:
    """Define in `scope` what the source defines."""
    exec(compile(source, f"<{name}>", "exec"), scope)


PLACES = ("PENDING", "NAMED", "ARGUMENTS", "KEPT", "MADE")
"""Places in the `_state` of a `QuickNode`, see there."""
