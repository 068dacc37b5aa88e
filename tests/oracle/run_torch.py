"""Programs run on torch with the deliberate differences undone.

`RuledTorch` is the reference. It is torch as it is (`native_torch`) with one layer per group of rules: reading
(`ruled_views`), writing (`ruled_writes`) and differentiating (`ruled_passes`). Each method that departs from plain
torch names the rule it carries out and fires it when torch alone would have done something else.
"""

from __future__ import annotations

from .machine import Observation
from .ruled_passes import RuledPasses
from .statements import Program

# What a program meets if torch's own account of saved values may differ from Pullback's.
TELLING_ERRORS = ("VERSION", "VIEW_MULTI", "SECOND_BACKWARD")


class RuledTorch(RuledPasses):
    """Torch doing what Pullback does."""


def run_ruled(program: Program) -> list[Observation]:
    """What Pullback must do with `program`.

    Torch's own saved-value checks are used until a program shows that they matter: then it is run again with ours.
    """
    needed = any(s.kind == "set_data" or s.facts.get("op") == "div_" for s in program)
    observations = RuledTorch(own_saved_values=needed).run(program)
    if not needed and any(observation.error in TELLING_ERRORS for observation in observations):
        observations = RuledTorch(own_saved_values=True).run(program)
    return observations
