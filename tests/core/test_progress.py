"""How far long work is: who is told, what is shown, and that it can be stopped."""

import io
import time
from types import SimpleNamespace

import numpy as np
import pytest

import pullback as pb
from pullback.core import progress as told
from pullback.core.state import NORMAL, current


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A terminal without tqdm."""
    stream = Terminal()
    monkeypatch.setattr(told, "sys", SimpleNamespace(stderr=stream, modules={}))
    monkeypatch.setattr(told.util, "find_spec", lambda name: None)
    monkeypatch.setattr(told, "_BETWEEN", 0.0)
    yield stream
    pb.set_progress("auto")


def f(x):
    return (x[1:] * x[:-1]).sum() * x


X = pb.tensor(np.arange(6.0))
WORK = {
    "jacrev": lambda tell: pb.func.jacrev(f, chunk_size=2, progress=tell)(X),
    "jacrev one by one": lambda tell: pb.func.jacrev(f, chunk_size=1, progress=tell)(X),
    "jacfwd": lambda tell: pb.func.jacfwd(f, chunk_size=2, progress=tell)(X),
    "jacobian": lambda tell: pb.func.jacobian(f, chunk_size=2, progress=tell)(X),
    "hessian": lambda tell: pb.func.hessian(lambda x: f(x).sum(), chunk_size=2, progress=tell)(X),
    "vmap": lambda tell: pb.vmap(pb.sin, chunk_size=2, progress=tell)(X),
    "gradcheck": lambda tell: pb.autograd.gradcheck(pb.sin, X.clone().requires_grad_(), progress=tell),
    "gradgradcheck": lambda tell: pb.autograd.gradgradcheck(pb.sin, X.clone().requires_grad_(), progress=tell),
}


@pytest.mark.parametrize("name", WORK)
def test_a_function_is_told_how_much_is_done_of_how_much(name):
    heard = []
    WORK[name](lambda *arguments: heard.append(arguments))
    done = [each[0] for each in heard]
    assert done == sorted(done) and len(done) > 1 and heard[-1][0] == heard[-1][1]
    assert {label for _, _, label in heard} == {"jacrev" if name in ("jacrev one by one", "jacobian") else name}


@pytest.mark.parametrize("name", WORK)
def test_a_bar_is_shown_on_the_error_output_and_erased(name, terminal, capsys):
    WORK[name](True)
    text = terminal.getvalue()
    assert "/" in text and "left" in text and text.endswith("\r") and text.rstrip("\r").endswith(" ")
    assert capsys.readouterr().out == ""


def test_sparse_matrices_say_how_many_directions_are_done():
    pytest.importorskip("scipy.sparse", reason="SciPy is an optional extra")
    heard = []
    tell = lambda *arguments: heard.append(arguments)
    pb.func.sparse_jacobian(lambda x: x[1:] * x[:-1], chunk_size=1, progress=tell)(X)
    assert heard == [(1, 2, "sparse_jacobian"), (2, 2, "sparse_jacobian")]


def test_quick_work_shows_nothing_by_itself(terminal):
    WORK["jacrev"](None)
    WORK["jacrev"](False)
    assert terminal.getvalue() == ""


def test_slow_work_shows_a_bar_on_a_terminal_and_none_elsewhere(terminal, monkeypatch):
    monkeypatch.setattr(told, "_QUIET_FOR", 0.0)
    WORK["jacrev"](None)
    assert terminal.getvalue().startswith("\rjacrev [########                ] 2/6")
    plain = io.StringIO()
    monkeypatch.setattr(told, "sys", SimpleNamespace(stderr=plain, modules={}))
    WORK["jacrev"](None)
    assert plain.getvalue() == ""


def test_the_setting_and_the_environment_decide_for_all(terminal, monkeypatch):
    pb.set_progress("on")
    WORK["jacfwd"](None)
    assert terminal.getvalue()
    length = len(terminal.getvalue())
    monkeypatch.setenv("PULLBACK_PROGRESS", "off")
    monkeypatch.setattr(told, "_mode", [""])
    WORK["jacfwd"](None)
    assert len(terminal.getvalue()) == length
    with pytest.raises(ValueError, match="mode must be one of"):
        pb.set_progress("sometimes")


def test_work_inside_of_other_work_shows_no_bar_of_its_own(terminal):
    pb.set_progress("on")
    pb.func.jacfwd(pb.func.jacrev(f, chunk_size=1), chunk_size=2)(X)
    assert "/36" not in terminal.getvalue() and "6/6" in terminal.getvalue()


def test_a_timeout_ends_a_gradcheck_with_a_warning():
    def slow(x):
        time.sleep(0.01)
        return pb.sin(x)

    x = pb.ones(50, requires_grad=True)
    began = time.monotonic()
    with pytest.warns(UserWarning, match=r"stopped by its timeout, after \d+ of 50") as caught:
        assert pb.autograd.gradcheck(slow, x, timeout=0.05) is False
    assert time.monotonic() - began < 2 and caught[0].filename == __file__
    assert x.tolist() == [1.0] * 50 and pb.autograd.gradcheck(pb.sin, x, timeout=60.0)


class Stop(KeyboardInterrupt):
    """As if somebody had pressed Ctrl-C."""


def interrupted_at(moment):
    """A function that interrupts at its call number `moment`."""
    calls = [0]

    def hear(*_):
        calls[0] += 1
        if calls[0] == moment:
            raise Stop

    return hear


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("moment", [1, 2])
def test_interrupted_work_leaves_everything_as_it_was_and_can_be_repeated(name, moment):
    expected = WORK[name](None)
    version = X._version
    with pytest.raises(Stop):
        WORK[name](interrupted_at(moment))
    assert current() is NORMAL and X._version == version and told._outer.get() is None
    again = WORK[name](None)
    assert again is expected if isinstance(again, bool) else again.tolist() == expected.tolist()


@pytest.mark.parametrize("moment", range(1, 8))
def test_a_backward_pass_that_is_interrupted_can_be_repeated(moment):
    def run(hear):
        x = pb.ones(4, requires_grad=True)
        h = x
        for _ in range(8):
            h = pb.sin(h) * x
            h.register_hook(lambda g: hear())
        return x, h.sum()

    x, loss = run(lambda: None)
    loss.backward()
    y, other = run(interrupted_at(moment))
    with pytest.raises(Stop):
        other.backward(retain_graph=True)
    assert current() is NORMAL and y.grad is None
    other.backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.grad.numpy())


def test_an_interrupted_trace_leaves_nothing_behind():
    class Switch:
        is_on = True

    def g(x):
        for k in range(5):
            x = pb.sin(x)
            if k == 3 and Switch.is_on:
                raise Stop
        return x

    compiled = pb.compile(g, backend="numpy")
    with pytest.raises(Stop):
        compiled(X)
    assert current() is NORMAL and compiled.entries() == []
    Switch.is_on = False
    np.testing.assert_allclose(compiled(X).numpy(), g(X).numpy(), rtol=1e-14)
