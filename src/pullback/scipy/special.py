"""`scipy.special` with derivatives: everything of `pb.special`, more by formulas, and the rest guarded."""

from pullback.scipy import _special_inverses as _special_inverses
from pullback.scipy import _special_rules as _special_rules
from pullback.scipy import _surface, _twins

_twins.declare_existing("special")
_twins.declare_ufuncs()

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("special")
