"""Programs run on torch with the deliberate differences undone.

`RuledTorch` is the reference. It is torch as it is (`native_torch`) with one layer per group of rules: reading
(`ruled_views`), writing (`ruled_writes`) and differentiating (`ruled_passes`). Each method that departs from plain
torch names the rule it carries out and fires it when torch alone would have done something else.
"""

from __future__ import annotations

from .machine import Observation
from .ruled_passes import RuledPasses
from .statements import Program, Statement

# What a program meets if torch's own account of saved values differs from Pullback's.
TELLING_ERRORS = ("VERSION", "VIEW_MULTI", "SECOND_BACKWARD", "SAVED_DETACHED")
TELLING_RULES = ("D24", "N4")


class RuledTorch(RuledPasses):
    """Torch doing what Pullback does."""


def run_ruled(program: Program) -> list[Observation]:
    """What Pullback must do with `program`.

    Torch's own account of saved values is used until a program shows that the difference matters: then it is run again
    with ours. (Torch attaches a value that went through saved-tensor hooks to the leaf as it was when it was saved,
    and a value that did not to the leaf as it is, which is why ours is not used for all programs.)
    """
    observations = RuledTorch(own_saved_values=False).run(program)
    if any(observation.error in TELLING_ERRORS for observation in observations):
        return RuledTorch(own_saved_values=True).run(program)
    if any(may_tell(statement) for statement in program):
        ours = RuledTorch(own_saved_values=True).run(program)
        if any(rule in observation.fired for observation in ours for rule in TELLING_RULES) or has(program, "div_"):
            return ours
    return observations


def may_tell(statement: Statement) -> bool:
    """Statements after which the two accounts may differ although torch raises nothing."""
    lends = statement.kind == "grad" and statement.facts["create_graph"] and statement.facts["first_input"] > 1
    return statement.kind == "set_data" or statement.facts.get("op") == "div_" or lends


def has(program: Program, op: str) -> bool:
    return any(statement.facts.get("op") == op for statement in program)
