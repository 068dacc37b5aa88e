"""`pb.show`: one door to every picture."""

from __future__ import annotations

from typing import Any

from pullback.aot import Explanation
from pullback.aot._function import CompiledFunction
from pullback.core import pytree
from pullback.core.doors import door
from pullback.graph.ir import Program
from pullback.pictures.compiled import explanation_picture, graph_picture
from pullback.pictures.levels import deepest_levels, levels_picture
from pullback.pictures.memory import memory
from pullback.pictures.patterns import is_pattern, pattern_picture
from pullback.pictures.picture import Picture
from pullback.pictures.profile import profile
from pullback.pictures.tape import names_around, tape_picture
from pullback.pictures.trees import tree_picture
from pullback.tape.node import Node
from pullback.tensors.tensor import Tensor


class Show:
    """The function `pb.show`, which has another one in it: `pb.show.levels`."""

    __name__ = "show"

    def __init__(self) -> None:
        self.__doc__ = Show.__call__.__doc__

    @door
    def __call__(
        self, what: Any, /, *args: Any, depth: int | None = None, max_nodes: int = 400, theme: str = "auto"
    ) -> Picture:
        """A picture of `what`, whose form depends on what it is.

        | what | the picture |
        |---|---|
        | a tensor with a history, a list of them, a `grad_fn` | the tape: operations, leaves, what is kept |
        | a compiled function, with arguments | what that call does (`explain`) and its graph |
        | a compiled function alone, a graph | the graph of the last capture |
        | what `pb.profile` and `pb.memory` recorded | a line of time; an area over time |
        | a sparse matrix | where its entries are, and its colours |
        | a function with arguments | the levels of transforms inside of it |
        | a tree of parameters | shapes, dtypes, bytes |

        A leaf in the list that the others do not depend on is marked: no backward pass of theirs gives it a gradient.

        `depth` and `max_nodes` limit how much of a tape is drawn; `theme` is "auto", "light" or "dark".

        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> pb.show(x.exp())
        tape: 1 operation, 1 leaf, 16 B kept for backward, 16 B of them new
        exp  float64[2]  keeps out 16 B
        └─ leaf x  float64[2]  no .grad
        """
        if isinstance(what, Tensor | Node):
            return tape_picture([what], names_around(), depth, max_nodes, theme)
        if isinstance(what, list | tuple) and all(map(_is_on_a_tape, what)) and any(map(_is_recorded, what)):
            return tape_picture(what, names_around(), depth, max_nodes, theme)
        if isinstance(what, CompiledFunction):
            if args:
                return explanation_picture(what.explain(*args), theme)
            return graph_picture(what.graph(), theme, what._name)
        if isinstance(what, Program):
            return graph_picture(what, theme)
        if isinstance(what, Explanation):
            return explanation_picture(what, theme)
        if isinstance(what, profile | memory):
            return what.show(theme)
        if is_pattern(what):
            return pattern_picture(what, theme)
        if callable(what):
            return deepest_levels(what, args, theme)
        if any(hasattr(leaf, "dtype") for leaf in pytree.flatten(what)[0]):
            return tree_picture(what, theme)
        raise TypeError(
            f"there is no picture of a {type(what).__name__}; show draws tensors, nodes, compiled functions, profiles, "
            "ledgers, sparse matrices, functions with arguments, and trees of arrays"
        )

    def levels(self, *tensors: Tensor, theme: str = "auto") -> Picture:
        """Print which transforms are running here, from outer to inner, and which of them each tensor carries.

        >>> def f(x):
        ...     pb.show.levels(x)
        ...     return (x * x).sum()
        >>> _ = pb.vmap(pb.func.grad(f))(pb.ones((5, 3)))
        2 levels open, from outer to inner
           level              x: float64[3]
        1  vmap   batch of 5  batch axis 0 of 1
        2  grad   backward    differentiated
        """
        names = names_around()
        picture = levels_picture({names.get(id(x), f"tensor {k}"): x for k, x in enumerate(tensors)}, theme)
        print(picture)
        return picture

    def __repr__(self) -> str:
        return "<function show>"


def _is_on_a_tape(value: Any) -> bool:
    return isinstance(value, Node) or (isinstance(value, Tensor) and value.requires_grad)


def _is_recorded(value: Any) -> bool:
    return isinstance(value, Node) or (isinstance(value, Tensor) and value.grad_fn is not None)


show = Show()
