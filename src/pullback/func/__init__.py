"""Functions made of functions.

`adapt` turns an unmodified NumPy function into one that can be differentiated.
"""

from pullback.func._adapt import adapt

__all__ = ["adapt"]
