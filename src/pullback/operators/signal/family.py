"""Signals, gathered: `convolution.py`, which is always loaded, and the files `signal_*.py`."""

from __future__ import annotations

from pullback.operators.signal import convolution, filters, spectra

parts = (convolution, filters, spectra)
"""The modules that declare the family."""
