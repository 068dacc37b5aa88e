"""`make mutants`: does a test fail if one operator, comparison, constant or index of the package is another?

| module    | what it does                                                           |
|-----------|------------------------------------------------------------------------|
| `sites`   | the places that can be changed, and the text with one of them changed  |
| `tracing` | a plugin of pytest: which functions each test calls                    |
| `which`   | the table made of that: the tests that are worth running for a place   |
| `warm`    | a process that has everything imported, and forks for each mutant      |
| `run`     | copies of the tree, one mutant at a time in each, and what came of it  |

The table is made once, by running the suite; mutants then run the tests that call the changed function, the quickest
first, and if none of them fails others that do. Results are lines of JSON, one for each mutant, and a run
that is started again goes on where it stopped.
"""
