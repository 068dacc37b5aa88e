"""Measurements, one file per question: `python -m bench [eager|memory|startup] [--quick] [--only TEXT]`."""
