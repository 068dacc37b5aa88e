"""Draws and distributions; `family` gathers what `pullback.random` offers."""
