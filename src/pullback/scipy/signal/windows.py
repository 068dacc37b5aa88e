"""`scipy.signal.windows` by their numbers; windows without any are constants."""

from pullback.scipy import _replay, _surface

_replay.declare_replayed(
    "signal.windows",
    "chebwin exponential gaussian general_cosine general_gaussian general_hamming get_window kaiser "
    "kaiser_bessel_derived taylor tukey",
    by="its numbers",
)

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("signal.windows")
