"""Random small programs run on Pullback and on torch, compared after every statement.

    python -m tests.oracle --programs 20000 --seed 1 --jobs 2

| module | what it holds |
|---|---|
| `statements` | one statement of a program, and programs printed as Python for either framework |
| `programs` | the generator: a seed and an index give a program |
| `machine` | the interpreter both sides share: run a statement, observe every tensor |
| `run_pullback`, `run_torch` | the two sides; the torch side applies the rules |
| `native_torch`, `ruled_views`, `ruled_writes`, `ruled_passes` | the torch side, one layer per group of rules |
| `formulas`, `inference`, `saved`, `reach`, `regions` | what those layers are made of |
| `rules` | every difference: what torch does, what Pullback does, where it is undone |
| `compare` | two lists of observations in, the first disagreement out |
| `worker` | torch in a process of its own, so that a crash costs one program |
| `shrink` | a disagreeing program made minimal |
| `oracle` | the command line |

The torch side does not skip what Pullback does differently. It runs torch with the difference undone: an output of
`unbind` that Pullback lets you write is written through an equal `select`, a saved value that Pullback checks by
region is checked by region. What comes out is what Pullback must do, and each rule counts how often it mattered.
"""
