"""Small graphs as code on Python's numbers: what NumPy computes, or an exception where NumPy would warn."""

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.scalar_source import RAISED, scalar_function
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from tests.compiler.graphs import one_node


def as_numbers(array):
    return array.ravel().tolist() if np.ndim(array) else float(array)


def test_every_operator_that_has_a_form_on_numbers_gives_what_its_kernel_gives():
    covered = set()
    for op in registry.values():
        if op.sample_rule is None or op.family == "random":
            continue
        for sample in samples_of(op):
            program, arrays, expected = one_node(op, sample.inputs(), sample.params)
            bind = scalar_function(program, ())
            if bind is None:
                continue
            with np.errstate(all="ignore"):
                try:
                    found = bind([])(*map(as_numbers, arrays))
                except RAISED:
                    continue
            for out, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(np.reshape(out, wanted.shape), wanted, rtol=1e-12, err_msg=op.name)
                covered.add(op.name)
    assert covered > {"add", "matmul", "sum", "_basic_index", "_place_slice", "_concat", "where", "_reshape", "_stack"}


def compiled_graph(function, *tensors):
    compiled = pb.compile(function, backend="numpy", fallback="raise")
    with pb.no_grad():
        compiled(*tensors)
        return compiled.entry_for(*tensors).forward_graph


def test_what_is_held_is_computed_with_once():
    p, y = pb.tensor([1.5, 0.5]), pb.tensor(2.0)
    graph = compiled_graph(lambda y, p: pb.exp(p[0]) * y + pb.maximum(p[1], 0.0) * pb.where(y > 1, y * y, -y), y, p)
    bind = scalar_function(graph, [1])
    assert bind([[1.5, 0.5]])(2.0) == pytest.approx((np.exp(1.5) * 2 + 2.0,))
    assert bind([[0.0, -3.0]])(-2.0) == pytest.approx((-2.0,))


def test_functions_that_python_has_not_are_scipys():
    function = lambda x: pb.special.j0(x) * pb.special.erf(x) + pb.special.digamma(x)
    computed = scalar_function(compiled_graph(function, pb.tensor(0.7)), ())([])
    assert computed(0.9) == pytest.approx((function(pb.tensor(0.9)).item(),), rel=1e-14)


@pytest.mark.parametrize("function, at", [(lambda x: 1 / x, 0.0), (pb.log, -1.0), (pb.exp, 1e4), (pb.sqrt, -1.0),
                                          (lambda x: x**0.5, -2.0), (lambda x: x**-1.5, 0.0)])  # fmt: skip
def test_what_numpy_would_warn_of_raises(function, at):
    computed = scalar_function(compiled_graph(function, pb.tensor(0.7)), ())([])
    assert computed(0.7) == pytest.approx((function(pb.tensor(0.7)).item(),))
    with pytest.raises(RAISED):
        computed(at)


def test_large_graphs_and_other_dtypes_have_no_such_form():
    assert scalar_function(compiled_graph(lambda x: x * 2, pb.ones(1000)), ()) is None
    assert scalar_function(compiled_graph(lambda x: x * 2, pb.ones(2, dtype=np.float32)), ()) is None
    assert scalar_function(compiled_graph(lambda x: x * 2j, pb.ones(2)), ()) is None
