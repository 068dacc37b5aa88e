"""Signals: convolution and correlation over any number of axes, with SciPy's names and derivatives in both operands."""

from pullback.ops.methods import namespace as _namespace

_functions = _namespace("signal")
globals().update(_functions)

__all__ = [*_functions]
