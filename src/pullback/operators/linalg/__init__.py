"""Linear algebra; `family` gathers what `pullback.linalg` offers."""
