"""The payload of tensors whose rows have different lengths.

| module  | what                                                                              |
|---------|-----------------------------------------------------------------------------------|
| offsets | where rows begin and end: `Offsets`, and `RaggedSize`, the length that is no number |
| array   | `RaggedArray`: the rows one below the other, and the offsets                       |

What operators do with them is derived from their declarations in `operators/ragged`.
"""
