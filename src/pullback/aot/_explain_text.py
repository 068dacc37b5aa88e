"""An explanation as a table for people who read text, and as a page for browsers."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from pullback.aot._metadata import OWN, OutputType

_STYLE = "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:2px 8px;text-align:left}"


def table(data: dict[str, Any]) -> list[str]:
    """The lines of the table."""
    split, flops, graph = data["partition"], data["flops"], data["graph"]
    inputs = [
        ("-" if x["slot"] is None else str(x["slot"]), x["name"], x["type"], "grad" if x["requires_grad"] else "-",
         "leaf" if x["is_leaf"] else "", _happens(x)) for x in data["inputs"]
    ]  # fmt: skip
    saved = ", ".join(f"{x['name']} {x['bytes']} B" for x in split["saved"]) or "none"
    return [
        *_aligned("inputs", inputs),
        *_aligned("outputs", [(str(x["position"]), x["type"], _described(x)) for x in data["outputs"]]),
        *_aligned("tangents", [(x["name"], x["type"]) for x in data["tangents"]]),
        f"saved    {saved}   total {split['saved_bytes']} B, new {split['activation_bytes']} B",
        f"recompute {', '.join(split['recomputed']) or 'none'}   flops fw {flops['forward']}  bw {flops['backward']}  "
        f"recompute {flops['recompute']}   peak {split['peak_bytes']} B",
        f"nodes    fw {graph['fw_nodes']}  bw {graph['bw_nodes']}   partition {split['method']}",
        *_numpy(data.get("left_to_numpy")),
        f"notes    {'; '.join(data['notes']) or 'none'}",
    ]


def _numpy(left: list[dict[str, Any]] | None) -> list[str]:
    """What native code leaves to NumPy; no line if there is no native code."""
    if left is None:
        return []
    return _aligned("numpy", [(x["graph"], str(x["count"]), x["operator"].lstrip("_"), x["reason"]) for x in left])


def _aligned(title: str, rows: Sequence[tuple[str, ...]]) -> list[str]:
    if not rows:
        return [f"{title:<9}none"]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        text = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        lines.append(f"{title if number == 0 else '':<9}{text}")
    return lines


def _happens(given: dict[str, Any]) -> str:
    same = given["duplicate_of"]
    return str(given["mutation"]) + ("" if same is None else f", the same object as {same}")


def _described(out: dict[str, Any]) -> str:
    """What an output is."""
    if out["duplicate_of"] is not None:
        return f"the same object as output {out['duplicate_of']}"
    kind = OutputType[out["kind"]]
    via = f" via ({', '.join(out['via'])})" if out["via"] else ""
    if kind is OutputType.is_input:
        return f"is input {out['base']}"
    if kind is OutputType.alias_of_input:
        return f"view of input {out['base']}{via}"
    if kind is OutputType.alias_of_intermediate_base_is_user_output:
        return f"view of output {out['base']}{via}"
    if kind not in OWN:
        return f"view of intermediate {out['base']}{via}"
    text = {OutputType.unsafe_view_alias: "new, a view inside", OutputType.custom_function_view: "view by a Function"}
    return text.get(kind, "new") + (", requires grad" if out["requires_grad"] else "")


def page(data: dict[str, Any], picture: str) -> str:
    """The page, with a picture of the graph."""
    split, flops = data["partition"], data["flops"]
    recomputed = html.escape(", ".join(split["recomputed"]) or "nothing")
    inputs = [
        (x["slot"], x["name"], x["type"], x["requires_grad"], x["is_leaf"], _happens(x)) for x in data["inputs"]
    ]
    return "".join([
        f"<style>{_STYLE}</style><h3>Inputs</h3>",
        _rows(("slot", "name", "type", "requires grad", "leaf", "what happens to it"), inputs),
        "<h3>Outputs</h3>",
        _rows(("position", "type", "what it is"), [(x["position"], x["type"], _described(x)) for x in data["outputs"]]),
        "<h3>Saved for backward</h3>",
        _rows(("value", "bytes"), [(x["name"], x["bytes"]) for x in split["saved"]]),
        f"<p>{split['saved_bytes']} bytes saved, {split['activation_bytes']} of them new; at most ",
        f"{split['peak_bytes']} bytes in use. Recomputed: {recomputed}. Floating point operations: {flops['forward']} ",
        f"forward, {flops['backward']} backward, {flops['recompute']} of them repeated.</p>",
        *(f"<p>{html.escape(note)}</p>" for note in data["notes"]),
        "<h3>Graph</h3>", picture,
    ])  # fmt: skip


def _rows(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(x))}</td>" for x in row) + "</tr>" for row in rows)
    return f"<table><tr>{cells}</tr>{body}</table>"
