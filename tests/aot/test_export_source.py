"""`export_source`: a function and its gradient as a file that needs NumPy alone."""

import os
import subprocess
import sys

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from pullback.core.pytree import flatten


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


DRAWS = {
    "normal": lambda x: x * pb.random.normal(size=3),
    "uniform": lambda x: x + pb.random.uniform(-1, 2, size=(2, 3)),
    "single": lambda x: pb.random.normal(size=3, dtype=pb.float32) * 2,
    "complex": lambda x: pb.randn(3, dtype=pb.complex128) * x,
    "integers": lambda x: pb.random.integers(0, 9, size=(2, 3)),
    "bernoulli": lambda x: x * (pb.random.random(3) > 0.5),
    "gamma": lambda x: pb.random.gamma(2.5, size=(4, 3)) * x,
    "poisson": lambda x: pb.random.poisson(4.0, size=3) * x,
    "exponential": lambda x: pb.random.exponential(2.0, size=3) + x,
    "multinomial": lambda x: pb.random.multinomial(20, [0.2, 0.3, 0.5]),
    "permutation": lambda x: x[pb.random.permutation(3)],
    "choice": lambda x: x[pb.random.choice(3, size=5)],
    "beta and vonmises": lambda x: pb.random.beta(0.5, 2.0, size=3) * pb.random.vonmises(0.0, 2.0, size=3) * x,
    "several": lambda x: (pb.random.random(2), x.sum() * pb.random.normal(size=2), pb.random.random(1)),
    "in a loop": lambda x: pb.scan(lambda c, y: (c + y * pb.random.normal(), c), x[0], x),
    "in a branch": lambda x: pb.cond(x.sum() > 0, lambda: pb.random.normal(size=2), lambda: pb.zeros(2)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_those_of_eager_code_to_the_bit(name):
    f = DRAWS[name]
    x = pb.tensor([0.5, 1.5, 2.5])
    source = aot.export_source(f, x)
    assert "pullback" not in source.replace("Pullback", "")
    space = loaded(source)
    for seed in (3, 4):
        space["seed"](seed)
        pb.random.manual_seed(seed)
        for _ in range(2):
            results, expected = space["forward"](x._data), flatten(f(x))[0]
            assert [r.tobytes() for r in results] == [e._data.tobytes() for e in expected]
        assert space["generator"].random() == pb.random.random(1).item()


def test_a_gradient_uses_the_numbers_that_were_drawn():
    f = lambda x: (pb.exp(x) * pb.random.normal(size=3) + pb.random.gamma(2.0, size=3) * x).sum()
    x = pb.tensor([0.5, 1.5, 2.5], requires_grad=True)
    space = loaded(aot.export_source(f, x))
    space["seed"](5)
    pb.random.manual_seed(5)
    loss, *saved = space["forward"](x._data)
    (gradient,) = space["backward"](*saved, np.ones(()))
    eager = f(x)
    eager.backward()
    assert (loss.tobytes(), gradient.tobytes()) == (eager._data.tobytes(), x.grad._data.tobytes())


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_a_generator_of_the_function_is_exported_in_the_state_that_it_is_in(bits):
    mine, other = np.random.Generator(bits(1)), pb.random.Generator(2)
    mine.random(7)
    other.random(5)

    def f(x):
        first = pb.random.normal(size=3, generator=mine)
        return x * first + other.normal(size=3) + pb.random.normal(size=3), pb.random.random(2, generator=mine)

    x = pb.ones(3)
    space = loaded(aot.export_source(f, x))
    space["seed"](9)
    pb.random.manual_seed(9)
    for _ in range(2):
        results = space["forward"](x._data)
        assert [r.tobytes() for r in results] == [e._data.tobytes() for e in f(x)]


def test_what_has_no_source_is_refused():
    @pb.library.custom_op("tests::not_exported", mutates_args=())
    def custom(x: np.ndarray) -> np.ndarray:
        return x * 2

    custom.register_fake(lambda x: pb.empty_like(x))
    with pytest.raises(aot.AOTError, match="tests::not_exported"):
        aot.export_source(lambda x: custom(x), pb.ones(2))
