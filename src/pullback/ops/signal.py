"""Signals, gathered: `convolution.py`, which is always loaded, and the files `signal_*.py`."""

from __future__ import annotations

from pullback.ops import convolution, signal_filters, signal_spectra

parts = (convolution, signal_filters, signal_spectra)
"""The modules that declare the family."""
