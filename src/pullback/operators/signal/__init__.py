"""Transforms, convolutions and filters; `family` gathers what `pullback.signal` offers."""
