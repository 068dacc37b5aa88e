"""Sums, extremes, scans, statistics, integrals."""
