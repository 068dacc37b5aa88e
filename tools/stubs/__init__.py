"""`make stubs`: writes the `.pyi` files beside modules whose names are made at run time.

    python -m tools.stubs

Functions of Pullback are made from declarations, so no type checker can read them in the source. Here they are looked
at as they are once they exist: `signatures` has parameters by `inspect.signature`, with types by the annotation or by
name (`table`), and results by the annotation or by what the example of the reference returns (`results`). Signatures
that need more than that, such as overloads, are written by hand in `parts`. Which modules get a stub, and why others
do not, is in docs/design/types.md.
"""
