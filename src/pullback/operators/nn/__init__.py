"""Functions of neural networks; `family` gathers what `pullback.nn` offers."""
