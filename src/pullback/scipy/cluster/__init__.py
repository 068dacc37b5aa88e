"""`scipy.cluster`: see `vq` and `hierarchy`."""

from pullback.core.lazy import deferred as _deferred

__getattr__, __dir__ = _deferred(globals(), {name: f"{__name__}.{name}" for name in ("hierarchy", "vq")})

__all__ = ["hierarchy", "vq"]
