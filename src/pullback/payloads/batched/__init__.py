"""The payload of tensors inside `vmap`, complete: `BatchedArray` with its operators, and what others do with it.

| module                      | what                                                                 |
|-----------------------------|----------------------------------------------------------------------|
| batched_array               | the array, its views, and what one example looks like                |
| alignment, layout           | levels and their axes, as functions of plain arrays                  |
| batching, fallback          | evaluating an operator                                               |
| contractions, copying       | operators that do all levels at once in a way of their own           |
| boundary                    | `enter` and `leave` a level, `sum_level`, `widened`                  |
| writing                     | `assign`, `widen_in_place`                                           |
| operators, batched_indexing | operators, methods and subscripts, as rules use them                 |
| randomness                  | how levels draw random numbers                                       |
| refusals                    | what cannot be done with many values at once                        |
"""

from __future__ import annotations

from pullback.payloads.batched.array import BatchedArray, bare, levels_of, parts_of, plain_array
from pullback.payloads.batched.edge import enter, leave, own_copies, roomy, sum_level, widened
from pullback.payloads.batched.evaluate import each_example, evaluate_batched, set_vmap_fallback
from pullback.payloads.batched.indexing import NeedsWidening, assign, read, store, widen_in_place
from pullback.payloads.operators import bind_operators

__all__ = [
    "BatchedArray",
    "NeedsWidening",
    "assign",
    "bare",
    "each_example",
    "enter",
    "leave",
    "levels_of",
    "own_copies",
    "parts_of",
    "plain_array",
    "roomy",
    "set_vmap_fallback",
    "sum_level",
    "widen_in_place",
    "widened",
]

BatchedArray.evaluate_op = staticmethod(evaluate_batched)
bind_operators(BatchedArray, read, store)
