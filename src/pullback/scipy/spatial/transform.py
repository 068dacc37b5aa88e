"""`scipy.spatial.transform` with derivatives, by whatever a rotation is made from."""

from pullback.scipy import _surface
from pullback.scipy.spatial import _rotations

for _name in ("Rotation", "Slerp"):
    _surface.declare_as(f"spatial.transform.{_name}", getattr(_rotations, _name), kind="C", by="all representations")


def _stand_in(value: object) -> object | None:
    """What stands for rotations that SciPy has made; None if it is none of those here."""
    theirs = _surface.scipy_module("spatial.transform")
    return _rotations.Rotation(value.as_quat()) if isinstance(value, theirs.Rotation) else None


__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("spatial.transform")
