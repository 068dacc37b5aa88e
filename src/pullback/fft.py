"""Discrete Fourier, cosine and sine transforms with the names and arguments of `numpy.fft` and `scipy.fft`, and `stft`.

    >>> pb.fft.rfft(pb.tensor([1.0, 2.0, 3.0]))
    tensor([ 6. +0.j       , -1.5+0.8660254j], dtype=complex128)

All transforms are linear. The gradients of those between real numbers and half spectra are exact adjoints, as
described in the documentation of `irfft`.
"""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.operators.public import namespace as _namespace
from pullback.operators.signal import frames as _fft_frames
from pullback.operators.signal import transforms as _fft
from pullback.operators.signal import trigonometric as _fft_trigonometric

_modules = (_fft, _fft_frames, _fft_trigonometric)
_functions = _namespace("fft")
globals().update(_functions)

__all__ = list(_functions)
_explain_unknown(globals())
