"""The conformance cases of the specification of variables, graph and engine, one test for each number."""
