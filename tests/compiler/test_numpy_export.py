"""Exported source runs with NumPy alone and gives the same bits. One other process runs all operators' samples."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.numpy_source import compile_numpy, export_source
from pullback.declare.op import registry
from pullback.errors import AOTError
from pullback.graph.ir import Program
from tests.compiler.graphs import Builder, all_samples, one_node, same_bits
from tests.compiler.test_numpy_backend import call_of, halving, typed
from tests.compiler.test_numpy_programs import random_graph

# The other process: neither Pullback nor SciPy can be imported there.
RUNNER = """
import pickle, runpy, sys
for name in ("pullback", "scipy"):
    sys.modules[name] = None
import numpy as np
source, inputs, outputs = sys.argv[1:]
functions = runpy.run_path(source)
with open(inputs, "rb") as file:
    calls = pickle.load(file)
with np.errstate(all="ignore"):
    results = [functions[name](*arrays) for name, arrays in calls]
with open(outputs, "wb") as file:
    pickle.dump(results, file)
"""


def run_alone(source, calls, folder):
    """The results of calls of an exported file in a process that has NumPy and nothing else."""
    paths = [folder / name for name in ("exported.py", "inputs", "outputs")]
    paths[0].write_text(source)
    paths[1].write_bytes(pickle.dumps(calls))
    subprocess.run([sys.executable, "-I", "-c", RUNNER, *map(str, paths)], check=True, timeout=120)
    return pickle.loads(paths[2].read_bytes())


def keeps_its_layout(x):
    """Does an array come out of a pickle as it went in? Layouts matter: sums are taken in the order of memory."""
    return not isinstance(x, np.ndarray) or x.flags.c_contiguous or x.flags.f_contiguous


SCIPYS = (
    "_linalg_sylvester", "_linalg_sqrtm", "_linalg_logarithm", "_linalg_solve_banded", "_gammainc_by", "_betainc_by",
    "_row_distances",
)  # fmt: skip


def needs_scipy(op, program):
    """Operators that SciPy computes are refused, each with a sentence that says so."""
    is_of_images = getattr(op.kernel, "__module__", "").startswith("pullback.operators.images")
    if op.family != "special" and op.name not in SCIPYS and not is_of_images:
        return False
    try:
        export_source(program)
    except AOTError as error:
        assert op.name in str(error)
        return True
    return False


def exportable():
    """Graphs of one operator each, a few for every operator, with arrays and what is expected."""
    refused = {}
    taken = Counter()
    for op, sample, _ in all_samples():
        operands = sample.inputs()
        taken[op.name] += 1
        if taken[op.name] > 5 and taken[op.name] % 3:
            continue
        if op.family == "random" or op.name == "_orthogonal_factor" or not all(map(keeps_its_layout, operands)):
            continue
        program, arrays, expected = one_node(op, operands, sample.params)
        if op.name not in refused:
            refused[op.name] = needs_scipy(op, program)
        if not refused[op.name]:
            yield program, arrays, expected


def test_every_operator_that_is_not_scipys_exports(tmp_path):
    cases = list(exportable())
    assert len(cases) > 1000
    for number, (program, _, _) in enumerate(cases):
        program.name = f"function_{number}"
    source = export_source([program for program, _, _ in cases])
    assert "import pullback" not in source and "scipy" not in source
    calls = [(program.name, arrays) for program, arrays, _ in cases]
    results = run_alone(source, calls, tmp_path)
    wrong = [
        program.nodes[0].op
        for (program, _, expected), outputs in zip(cases, results, strict=True)
        if not all(same_bits(out, wanted) for out, wanted in zip(outputs, expected, strict=True))
    ]
    assert not wrong


def test_programs_with_updates_loops_and_views_export(tmp_path):
    builders = [random_graph(seed, 30) for seed in range(10)]
    loop = halving()
    programs = [b.program for b in builders] + [loop]
    for number, program in enumerate(programs):
        program.name = f"program_{number}"
    inputs = [[b.arrays[value] for value in b.program.inputs] for b in builders]
    inputs.append([np.array(100.0), np.array(1.0), np.array(0.0)])
    path = tmp_path / "all.py"
    source = export_source(programs, path)
    assert path.read_text() == source
    calls = [(program.name, arrays) for program, arrays in zip(programs, inputs, strict=True)]
    for program, arrays, outputs in zip(programs, inputs, run_alone(source, calls, tmp_path), strict=True):
        for out, wanted in zip(outputs, compile_numpy(program).flat(*arrays), strict=True):
            assert same_bits(out, wanted)


def test_a_forward_and_a_backward_share_their_kernels():
    forward, backward = Builder(np.ones((2, 3))), Builder(np.ones((2, 3)), name="backward")
    for b in (forward, backward):
        b.output(b("softmax", b.inputs[0], axis=(1,)))
    source = export_source((forward.program, backward.program))
    assert source.count("def softmax(") == 1 and "def forward(" in source and "def backward(" in source


def test_the_docstring_says_what_the_function_takes_and_gives():
    b = Builder(np.ones((2, 3), np.float32))
    b.output(b("exp", b.inputs[0]))
    assert '"""(args[0]: f32[2,3]) -> (output[0]: f32[2,3])"""' in export_source(b.program)


def constants():
    odd = np.array([0.1, -0.0, np.inf, np.nan, 5e-324])
    yield odd
    yield odd.astype(np.float32)
    yield odd + 1j
    yield np.arange(200.0).reshape(10, 20)
    yield np.array([True, False])
    yield np.zeros((0, 3))
    yield np.array(7, np.int8)


def test_constants_are_exact(tmp_path):
    programs = []
    for number, array in enumerate(constants()):
        b = Builder(np.ones(1), name=f"function_{number}")
        programs.append(b.output(b.constant(array)))
    results = run_alone(export_source(programs), [(p.name, [np.ones(1)]) for p in programs], tmp_path)
    for (out,), wanted in zip(results, constants(), strict=True):
        assert (out.dtype, out.shape, out.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())


def test_custom_operators_are_refused_by_name():
    @pb.library.custom_op("compiler_test::cube", mutates_args=())
    def cube(x: np.ndarray) -> np.ndarray:
        return x**3

    program = Program("forward")
    x = program.add_input(typed(3), "args[0]")
    program.add_output(program.add(cube.op, (x,), {"call": call_of(cube, 1)}, [typed(3)]).result, "output[0]")
    assert same_bits(compile_numpy(program).flat(np.arange(3.0))[0], np.arange(3.0) ** 3)
    with pytest.raises(AOTError, match=r"compiler_test::cube cannot be exported") as caught:
        export_source(program)
    assert "input" in caught.value.fix


def test_a_generator_is_exported_in_the_state_that_it_is_in():
    program, generator = Program("forward"), np.random.default_rng(0)
    generator.random(5)
    attrs = {"kind": "random", "shape": (3,), "dtype": np.dtype(float), "generator": generator}
    program.add_output(program.add(registry["_draw"], (), attrs, [typed(3)]).result, "output[0]")
    space = {}
    exec(export_source(program), space)
    for _ in range(2):
        assert same_bits(space["forward"]()[0], generator.random(3))
