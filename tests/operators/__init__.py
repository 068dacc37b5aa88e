"""Tests of the operators: by hand, one file per module, and systematic ones whose cases come from the declarations.

`declared` is what the systematic tests share; `forward` differentiates a function forward through the declared rules;
`conventions` is the table of gradients at ties, singular points and edges.
"""
