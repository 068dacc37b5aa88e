"""Nested containers of tensors, as transforms take and return them; `register` adds a class of your own.

>>> leaves, structure = pb.utils.pytree.flatten({"a": 1, "b": (2, 3)})
>>> leaves
[1, 2, 3]
>>> pb.utils.pytree.unflatten(structure, [4, 5, 6])
{'a': 4, 'b': (5, 6)}
"""

from pullback.core.pytree import flatten, map_leaves, register, unflatten

__all__ = ["flatten", "map_leaves", "register", "unflatten"]
