"""`export_source`: a function and its gradient as a file that needs NumPy alone."""

import os
import subprocess
import sys

import numpy as np
import pytest

import pullback as pb
from pullback import aot


def loaded(source):
    space = {}
    exec(source, space)
    return space


def test_forward_and_backward_are_those_of_eager_code_to_the_bit(tmp_path):
    w = pb.tensor(np.linspace(-1, 1, 12).reshape(4, 3), requires_grad=True)
    f = lambda x: (pb.tanh(x @ w) ** 2).sum()
    x = pb.tensor(np.linspace(0, 1, 8).reshape(2, 4), requires_grad=True)
    path = tmp_path / "exported.py"
    source = aot.export_source(f, x, path=path)
    assert path.read_text() == source and "pullback" not in source.replace("Pullback", "")
    space = loaded(source)
    loss, *saved = space["forward"](x._data, w._data)
    gradients = space["backward"](*saved, np.ones(()))
    eager = f(x)
    eager.backward()
    assert loss.tobytes() == eager._data.tobytes()
    for mine, theirs in zip(gradients, (x.grad, w.grad), strict=True):
        assert mine.tobytes() == theirs._data.tobytes()


def test_the_file_runs_where_there_is_no_pullback(tmp_path):
    aot.export_source(lambda x, k: pb.softmax(x * k, axis=0), pb.ones(3), 2.0, path=tmp_path / "exported.py")
    program = "import exported, sys, numpy as np; exported.forward(np.arange(3.0)); print('pullback' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True, env=environment
    )
    assert found.stdout.splitlines()[-1] == "False"
    np.testing.assert_array_equal(
        loaded((tmp_path / "exported.py").read_text())["forward"](np.arange(3.0))[0],
        pb.softmax(pb.tensor(np.arange(3.0)) * 2.0, axis=0)._data,
    )


def test_results_that_are_views_are_results_like_others():
    f = lambda x: ((h := x * 3).reshape(-1), h, x.T)
    x = pb.tensor(np.arange(4.0).reshape(2, 2), requires_grad=True)
    space = loaded(aot.export_source(f, x))
    flat, h, turned, *_ = space["forward"](x._data)
    np.testing.assert_array_equal(flat, 3 * np.arange(4.0))
    np.testing.assert_array_equal(h, 3 * x._data)
    np.testing.assert_array_equal(turned, x._data.T)


def test_written_arguments_are_written():
    def f(x, n):
        n.add_(1)
        return x * n

    space = loaded(aot.export_source(f, pb.ones(2), pb.zeros(2)))
    n = np.zeros(2)
    assert space["forward"](np.ones(2), n)[0].tolist() == [1.0, 1.0] and n.tolist() == [1.0, 1.0]


def test_what_has_no_source_is_refused():
    @pb.library.custom_op("tests::not_exported", mutates_args=())
    def custom(x: np.ndarray) -> np.ndarray:
        return x * 2

    custom.register_fake(lambda x: pb.empty_like(x))
    with pytest.raises(aot.AOTError, match="tests::not_exported"):
        aot.export_source(lambda x: custom(x), pb.ones(2))
