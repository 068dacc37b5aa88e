"""Backends: functions made of graphs. `planning` decides which memory holds what; `numpy_source` writes NumPy code."""
