"""Ctrl-C at any moment: no `.grad` is half added, modes are as before, and the same call works afterwards (W4)."""

import dis
import sys
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import current

MOMENTS = 30


class Interruption:
    """Raises KeyboardInterrupt in the package's code after the `moment`-th of its calls, which is where Python looks
    for signals; without a moment it counts them."""

    def __init__(self, moment=None):
        self.moment = moment
        self.seen = 0

    def trace(self, frame, event, arg):
        name = frame.f_code.co_filename
        if "pullback" not in name and not name.startswith("<"):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code, before = frame.f_code.co_code, [-1]

        def inside(frame, event, arg):
            if event == "opcode":
                is_behind_a_call = before[0] >= 0 and dis.opname[code[before[0]]].startswith("CALL")
                before[0] = frame.f_lasti
                if is_behind_a_call:
                    self.seen += 1
                    if self.seen == self.moment:
                        sys.settrace(None)
                        raise KeyboardInterrupt
            return inside

        return inside

    def run(self, work):
        """Was the call interrupted?"""
        before = sys.gettrace()
        sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for it when a trace is set
        sys.settrace(self.trace)
        try:
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False


def calls_of(work):
    """How many calls the package makes for a call."""
    counter = Interruption()
    counter.run(work)
    return counter.seen


def loss(x, w, b):
    return (pb.tanh(x @ w + b) ** 2).sum()


def leaves():
    rng = np.random.default_rng(7)
    return [pb.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((4, 3), (3, 2), (2,))]


KINDS = {
    "backward": lambda x, w, b: loss(x, w, b).backward(),
    "backward with a graph": lambda x, w, b: loss(x, w, b).backward(create_graph=True),
    "autograd.grad": lambda x, w, b: pb.autograd.grad(loss(x, w, b), (x, w, b)),
    "func.grad": lambda x, w, b: pb.grad(loss, argnums=(0, 1, 2))(x, w, b),
    "vmap": lambda x, w, b: pb.vmap(pb.grad(loss), in_dims=(0, None, None))(x.detach(), w.detach(), b.detach()),
    "jacrev": lambda x, w, b: pb.jacrev(lambda v: pb.tanh(v @ w))(x.detach()[:2]),
    "gradcheck": lambda x, w, b: pb.autograd.gradcheck(
        lambda v: (v @ w.detach()).sum(), (x[:1].detach().requires_grad_(),)
    ),
}


@pytest.mark.parametrize("has_grad", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_call_changes_no_grad_and_works_again(kind, has_grad):
    work = KINDS[kind]
    work(*leaves())  # functions that are made at their first call are there
    total = calls_of(lambda: work(*leaves()))
    modes = current()
    rng = np.random.default_rng(3)
    for moment in rng.integers(1, total, MOMENTS):
        given = leaves()
        if has_grad:
            for leaf in given:
                leaf.grad = pb.ones(leaf.shape)
        before = [None if leaf.grad is None else leaf.grad.tolist() for leaf in given]
        expected = leaves()
        for leaf in expected if has_grad else ():
            leaf.grad = pb.ones(leaf.shape)
        work(*expected)
        complete = [None if leaf.grad is None else leaf.grad.tolist() for leaf in expected]
        was = Interruption(moment).run(lambda given=given: work(*given))
        assert current() is modes and pb.autograd.graph.current_graph_task_id() == -1
        after = [None if leaf.grad is None else leaf.grad.tolist() for leaf in given]
        assert after in (before, complete)
        if was and after == before:
            work(*given)
            assert [None if leaf.grad is None else leaf.grad.tolist() for leaf in given] == complete


def test_gradients_that_several_threads_add_to_shared_leaves_are_all_there():
    a, b = pb.zeros(3, requires_grad=True), pb.zeros(3, requires_grad=True)

    def work():
        for _ in range(50):
            (a * 2 + b).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert a.grad.tolist() == [400.0] * 3 and b.grad.tolist() == [200.0] * 3
