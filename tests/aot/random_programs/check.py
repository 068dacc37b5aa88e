"""One program on all sides: eager code, and compiled code twice for each way to compile."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pullback as pb

from .compare import Disagreement, Traits, disagreement
from .observe import Run, Side
from .program import Program

LOOKS = ("t_(", "squeeze_(", "unsqueeze_(", "swapaxes_(", "transpose_(")
HIDDEN = (".data", ".numpy()", "pb.asarray(x", "pb.asarray(t")
FLOW = ("pb.cond", "pb.scan")
WAYS: dict[str, dict[str, Any]] = {
    "numpy": {"backend": "numpy"},
    "min_cut": {"backend": "numpy", "partitioner": "min_cut"},
}


def check(program: Program, rules: Counter[str] | None = None, ways: Any = tuple(WAYS)) -> Disagreement | None:
    """The first disagreement between eager and compiled code, if there is one."""
    rules = Counter() if rules is None else rules
    function = program.function()
    traits = traits_of(program)
    eager = Side(program, function).observed()
    for way in ways:
        compiled = pb.compile(function, fallback="raise", **WAYS[way])
        for which in ("first call", "second call"):
            run = observed(program, compiled)
            found = disagreement(eager, run, rules, traits)
            if found is not None:
                return Disagreement(f"{way}, {which}, {found.step}", found.what, found.eager, found.compiled)
            if run.steps[0][1] is not None:
                break
    return None


def observed(program: Program, function: Any) -> Run:
    """A run of the compiled function."""
    return Side(program, function).observed()


def traits_of(program: Program) -> Traits:
    """What rules ask about a program."""
    texts = [statement.text for statement in (*program.setup, *program.body)]
    has_flow = any(word in text for text in texts for word in FLOW)
    scope = Side(program, program.function).scope
    views = [x for x in map(scope.get, program.parameters) if isinstance(x, pb.Tensor) and x._base is not None]
    return Traits(
        has_views=bool(views),
        chooses=any(".prod(" in text for text in texts) and any("autograd.grad" in text for text in texts),
        ignores=any("fn.Fixed" in text for text in texts),
        has_flow=has_flow,
        counts_steps=has_flow and any("as_strided" in text for text in texts),
        has_empty_views=any(view.size == 0 for view in views),
        looks=any(text.partition(".")[2].startswith(LOOKS) for text in texts),
        lets_go=any(".detach_()" in text or (text.startswith("t") and "requires_grad" in text) for text in texts),
        is_single=any("float32" in text for text in texts),
        rounds=any(word in text for text in texts for word in ("complex", "autograd.grad", *FLOW)),
        hides=any(word in text for text in texts for word in HIDDEN),
    )
