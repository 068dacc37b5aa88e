"""`make mutants`: does a test fail if one operator, comparison, constant or index of the package is another?

| module    | what it does                                                                                   |
|-----------|------------------------------------------------------------------------------------------------|
| `sites`   | the places that can be changed, and the text with one of them changed                          |
| `drawn`   | mutants drawn from them, the same ones after an edit elsewhere                                 |
| `probes`  | a module that notes where the value at a place would have been another                         |
| `loading` | modules of the package as they are imported with probes or with a mutant; no file is written   |
| `reach`   | a plugin of pytest: which probes each test sets off                                            |
| `warm`    | a plugin of pytest: everything is imported and collected once, and a fork runs each mutant     |
| `run`     | the command                                                                                    |

The tests of the package are run once with probes at the drawn places. A test that never sees another value there cannot
notice the mutant, so a mutant that sets off no probe is a survivor without being run, and the others run those tests
alone, the quickest of each file first, until one fails or the time is up. Everything is kept in a folder outside of the
repository, and a run that is started again goes on where it stopped.

Which tests are those of a package: `run.TESTS`. What is never changed, because no test of behaviour can notice it:
`sites`.
"""
