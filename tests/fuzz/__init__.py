"""Random programs, run in two ways or more, and compared: one command, one world, all testers.

    make fuzz MINUTES=10                      all testers in turn
    make fuzz MINUTES=2 ONLY=compiled SEED=7  one of them, the programs of a seed

| module | what it holds |
|---|---|
| `world` | of which lengths, dtypes, layouts, byte orders and values everything is drawn |
| `program` | a program as text: arguments, surroundings, statements, calls; and what a disagreement is |
| `phrases`, `numpy_calls`, `statements` | what programs are made of: texts with places to fill in |
| `writing` | programs drawn statement by statement, each run as soon as it is drawn |
| `compiled`, `eager`, `derivatives`, `protocol` | testers of such programs |
| `native`, `others` | testers with generators of their own, on the same world |
| `seeded`, `callbacks` | testers whose programs are checked by the tests that they belong to |
| `ways` | programs that go the special ways which others seldom or never go |
| `known` | differences that are meant, and where that is written |
| `shrink` | a disagreeing program made small |
| `findings` | findings kept as files that run, each kind once; totals of all runs |
| `run`, `worker`, `replay` | the command, the processes that it starts, and one finding run again |

A tester draws the program of a number, checks it, and names smaller programs (`testers.Tester`). Processes that end and
programs that do not are findings as well.
"""

import tests.paths  # noqa: F401  (before the package: who asks for it has the special ways counted)
