"""What operators do with rows of different lengths, derived from their declarations.

A ragged tensor is a tensor on a `RaggedArray`. Every operator on it is made of operators on its values, which are an
ordinary tensor, and of those of `arrays/segments.py`: recorded, differentiated and traced as these are. Three views
lead from one to the other.

| module   | what                                                                                    |
|----------|-----------------------------------------------------------------------------------------|
| parts    | the views: values of a ragged tensor, and a ragged tensor on values; packing            |
| families | elementwise, reductions, along rows, along other axes: by family; writes; refusals      |
| rows     | operators along rows that have a way of their own: softmax, sorts, products, attention   |
| shapes   | axes moved, added, split; joining                                                       |
| indexing | subscripts                                                                              |
| making   | from lists, padded arrays, Awkward and pandas, and back: what `pb.nested` has           |
"""
