"""Random functions, run eagerly and compiled, and compared in everything that a caller can see.

    python -m tests.aot.random_programs --programs 20000 --seed 0 --jobs 2
    python -m tests.aot.random_programs --seed 0 --only 4711     # one program, printed with its verdict

| module | what it holds |
|---|---|
| `program` | a program: how its arguments are made, its statements, what it returns; printed as Python |
| `generate` | a seed and an index give a program |
| `arguments`, `reads`, `views`, `writes`, `composites` | what the generator draws from |
| `functions` | custom Functions that programs call |
| `observe` | run one side, and write down what the caller sees |
| `compare` | two lists of observations in, the first disagreement out; the differences that are meant |
| `check` | one program on all sides |
| `shrink`, `parse` | a disagreeing program made minimal, and read again from its text |
| `command` | the command line |

The generator runs every statement while it draws it, on real tensors. So it knows shapes and dtypes, most statements
succeed, and what raises is kept only now and then.
"""
