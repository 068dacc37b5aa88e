"""Random programs, eager and compiled: a few hundred here, and as many as one likes with
`python -m tests.aot.random_programs`. And the comparison itself: what it would not notice, it could not find."""

from collections import Counter
from dataclasses import replace

import pytest

import pullback as pb
from tests.aot.random_programs.check import check, traits_of
from tests.aot.random_programs.compare import disagreement
from tests.aot.random_programs.generate import generate
from tests.aot.random_programs.observe import Side
from tests.aot.random_programs.parse import parse
from tests.aot.random_programs.program import Program, Statement
from tests.aot.random_programs.shrink import shrink

SEED = 20
PROGRAMS = 240
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_compiled_is_eager(part):
    for index in range(part, PROGRAMS, PARTS):
        program = generate(SEED, index)
        way = "numpy" if index // PARTS % 2 else "min_cut"
        found = check(program, ways=(way,))
        assert found is None, f"seed {SEED}, program {index}\n{program}\n{found}"


def test_a_seed_and_an_index_give_the_same_program_every_time():
    assert generate(3, 14) == generate(3, 14)
    assert generate(3, 14) != generate(3, 15)
    assert pb.is_grad_enabled()


def test_a_printed_program_can_be_read_again():
    for index in range(40):
        program = generate(4, index)
        if program.shape in ("tuple", "single"):
            again = parse(str(program))
            assert (again.source(), again.roots, again.order) == (program.source(), program.roots, program.order)


def test_programs_do_everything():
    """Every kind of statement appears, most programs succeed, and few are refused."""
    text = "\n".join(str(generate(5, index)) for index in range(500))
    for word in (
        ".add_(", ".copy_(", ".fill_(", "] += ", ".detach()", ".detach_()", ".data = ", ".requires_grad_()",
        ".unbind()", ".t_()", "pb.autograd.grad(", "set_grad_enabled", "pb.no_grad()", "as_strided", ".diagonal()",
        "np.array([",
        "fn.Halved", "fn.Flattened", "fn.Both", "fn.Fixed", "fn.Doubled", "pb.checkpoint(", "pb.cond(", "pb.scan(",
        "pb.random.", ".sum().backward()", "pb.zeros(3)", "complex128", "int64", "reshape(0)", ".real", "later: ",
        "inference_mode",
    ):  # fmt: skip
        assert word in text, word


SHARED = """
    w = pb.tensor([1.0, 2.0], requires_grad=True)
    x = w * 2.0
    def f(x):
        x.mul_(3.0)
        t1 = x * x
        t2 = t1[0]
        return (t1, t2, x)
    later: o[1].mul_(2.0)
    """


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("x.mul_(3.5)\nt1 = x * x\nt2 = t1[0]", "values"),
        ("x.mul_(3.0)\nt1 = x * x\nt2 = t1[0].clone()", "base"),
        ("x.mul_(1.5)\nx.mul_(2.0)\nt1 = x * x\nt2 = t1[0]", "version"),
        ("x.detach().mul_(3.0)\nt1 = x * x\nt2 = t1[0]", "gradient"),
        ("x.mul_(3.0)\nt1 = x * x\nt2 = t1[0]\nx = x[...]", "first"),
        ("x.mul_(3.0)\nt1 = x.detach() * x.detach()\nt2 = t1[0]", "requires_grad"),
        ("x.mul_(3.0)\nx.unsqueeze_(0)\nx.squeeze_(0)\nt1 = x * x\nt2 = t1[0]", "version"),
        ("x.mul_(3.0)\nt1 = x * x\nt2 = t1[0]\nraise ValueError", "error"),
    ],
)
def test_a_mistake_is_noticed(body, what):
    """Two functions that differ in one thing that a caller can see are told apart by it."""
    right = parse(SHARED)
    wrong = replace(right, body=(Statement(body),))
    eager, other = (Side(program, program.function()).observed() for program in (right, wrong))
    found = disagreement(eager, other, Counter(), traits_of(right))
    assert found is not None and what in found.what
    assert disagreement(eager, Side(right, right.function()).observed(), Counter()) is None


def test_memory_that_is_not_shared_is_noticed():
    program = parse("""
        x = pb.tensor([1.0, 2.0])
        def f(x):
            t1 = x.detach()
            return (t1,)
        """)
    without = replace(program, body=(Statement("t1 = x.clone()"),))
    eager, other = (Side(each, each.function()).observed() for each in (program, without))
    found = disagreement(eager, other, Counter())
    assert found is not None and found.what == "shared memory"


def test_a_hidden_base_is_the_only_base_that_may_be_missing():
    program = parse("""
        x = pb.tensor([1.0, 2.0])
        def f(x):
            t1 = x[1:]
            return (t1,)
        """)
    without = replace(program, body=(Statement("t1 = x[1:].detach()"),))
    eager, other = (Side(each, each.function()).observed() for each in (program, without))
    found = disagreement(eager, other, Counter())
    assert found is not None and found.what == "out[0].base"


def test_shrinking_keeps_what_matters():
    lines = tuple(Statement(f"t{k} = x0 * {k}.0", ("x0",), (f"t{k}",)) for k in range(8))
    setup = (Statement("x0 = pb.tensor([1.0])", (), ("x0",)), Statement("x1 = pb.tensor([1.0])", (), ("x1",)))
    program = Program(setup, ("x0", "x1"), lines, ("t3", "t5", "3"), "nested")
    small = shrink(program, lambda candidate: "t5" in candidate.returned and "t5 =" in candidate.source())
    assert (small.parameters, small.returned, small.shape) == (("x0",), ("t5",), "tuple")
    assert [statement.makes for statement in small.body] == [("t5",)]
