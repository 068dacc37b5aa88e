"""Declarations: what an operator is, before anybody runs it. Internal; families are used by `pullback.operators`."""
