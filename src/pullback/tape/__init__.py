"""Recording and going back: nodes, the engine, saved values, hooks, modes, views' histories.

The inside of `pullback.autograd`, which is its public face. `engine` is the place to start reading.
"""
