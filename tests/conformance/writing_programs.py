"""Random programs that write over what their gradients need, and what must be true of each (`test_overwrites_random`).

A program is a list of statements on a few buffers and views of them. It runs in two ways: with writes, and as its twin,
where every write makes a new value and the views are taken again. `python -m tests.conformance.writing_programs 20000`
runs many.
"""

import gc
import sys
import weakref

import numpy as np

import pullback as pb
from pullback.autograd import overwrite_policy
from pullback.autograd.graph import report_overwrites

SIZE = 4
PARTS = (
    slice(0, 3), slice(None, None, 2), slice(None, None, -1), slice(1, 4), slice(2, None), slice(None), slice(1, 1),
)  # fmt: skip
KINDS = ("use", "use part", "use matrix", "whole", "whole unary", "part", "part of itself", "assign", "assign element",
         "masked", "copy", "fill", "use view", "number")  # fmt: skip
UNARY = {"exp_": pb.exp, "tanh_": pb.tanh, "sqrt_": lambda x: pb.sqrt(x), "sin_": pb.sin}


def drawn(seed, length=8):
    """The statements of a program."""
    rng = np.random.default_rng(seed)
    return [
        (
            KINDS[rng.integers(len(KINDS))],
            int(rng.integers(3)),
            int(rng.integers(3)),
            PARTS[rng.integers(len(PARTS))],
            list(UNARY)[rng.integers(len(UNARY))],
            int(rng.integers(SIZE)),
        )
        for _ in range(length)
    ]


def placed(x, part, value):
    """`x` with `value` in the place of `x[part]`, without a write."""
    places = np.arange(SIZE)[part]
    columns = np.zeros((len(places), SIZE))
    columns[np.arange(len(places)), places] = 1.0
    mask = np.zeros(SIZE, bool)
    mask[places] = True
    return pb.where(pb.asarray(mask), value @ pb.asarray(columns), x)


def run(program, x, writes):
    """The result of a program, and the buffers as it leaves them."""
    buffers = [x * 1.1, x * 0.9, x * x + 0.2]
    views = [None if not writes else buffer[1:] for buffer in buffers]  # they live on over all writes
    uses = []

    def put(target, part, value):
        if writes:
            buffers[target][part] = value
        else:
            value = value if isinstance(value, pb.Tensor) and value.ndim else pb.ones(SIZE)[part] * value
            buffers[target] = placed(buffers[target], part, value)

    for kind, target, source, part, unary, at in program:
        b, c = buffers[target], buffers[source]
        if kind == "use":
            uses.append((b * c).sum())
        elif kind == "use part":
            uses.append((b[part].exp() * c[part]).sum())
        elif kind == "use matrix":
            uses.append(pb.sin(pb.outer(b, c)[1:, ::2]).sum())
        elif kind == "use view":
            view = views[target] if writes else b[1:]
            uses.append((view * view).sum())
        elif kind == "whole":
            if writes:
                b *= c
            else:
                buffers[target] = b * c
        elif kind == "whole unary":
            if writes:
                getattr(b.abs_().add_(0.3), unary)()
            else:
                buffers[target] = UNARY[unary](pb.abs(b) + 0.3)
        elif kind == "part":
            if writes:
                view = b[part]
                view += c[part] * 0.5
            else:
                put(target, part, b[part] + c[part] * 0.5)
        elif kind == "part of itself":
            if writes:
                b[part] *= b[part]
            else:
                put(target, part, b[part] * b[part])
        elif kind == "assign":
            put(target, part, c[part] * 2 + 0.1)
        elif kind == "assign element":
            put(target, slice(at, at + 1), c[at] * 1.5)
        elif kind == "masked":
            mask = pb.asarray(np.arange(SIZE) % 2 == at % 2)
            if writes:
                b[mask] = 0.7
            else:
                buffers[target] = pb.where(mask, pb.tensor(0.7), b)
        elif kind == "copy":
            if writes:
                b.copy_(pb.tanh(c))
            else:
                buffers[target] = pb.tanh(c)
        elif kind == "fill":
            if writes:
                b[part].fill_(0.4)
            else:
                put(target, part, 0.4)
        elif writes:
            b += 0.25
        else:
            buffers[target] = b + 0.25
    return sum(uses, (buffers[0] * buffers[1] + buffers[2]).sum()), buffers


def start():
    return pb.tensor([0.3, 0.5, 0.7, 0.9], requires_grad=True)


def gradient(program, writes):
    x = start()
    loss, buffers = run(program, x, writes)
    loss.backward()
    return loss.item(), x.grad.numpy(), [each.detach().numpy().copy() for each in buffers]


def check(seed, compiled=False):
    """Everything that is promised of a program."""
    program = drawn(seed)
    found, wanted = gradient(program, True), gradient(program, False)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12, err_msg=f"value, seed {seed}")
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-10, atol=1e-12, err_msg=f"gradient, seed {seed}")
    np.testing.assert_allclose(found[2], wanted[2], rtol=1e-12, err_msg=f"buffers, seed {seed}")
    # What the program sees, and the versions, do not depend on the policy.
    seen = []
    for policy in ("preserve", "raise"):
        with overwrite_policy(policy):
            loss, buffers = run(program, start(), True)
        seen.append((loss.item(), [each.tolist() for each in buffers], [each._version for each in buffers]))
    assert seen[0] == seen[1], seed
    # Nobody differentiates: nothing is kept.
    with pb.no_grad(), report_overwrites() as report:
        run(program, start(), True)
    assert not report, seed
    # A transform, and higher derivatives.
    inside = pb.func.grad(lambda x: run(program, x, True)[0])(start().detach())
    np.testing.assert_allclose(inside, found[1], rtol=1e-12, err_msg=f"transform, seed {seed}")
    if compiled:
        x = start()
        pb.compile(lambda x: run(program, x, True)[0])(x).backward()
        np.testing.assert_allclose(x.grad, found[1], rtol=1e-9, atol=1e-12, err_msg=f"compiled, seed {seed}")


def check_freed(seed):
    """What a program made is freed as soon as nobody has it, without the collector."""
    program = drawn(seed)
    x = start()
    loss, buffers = run(program, x, True)
    alive = [weakref.ref(each) for each in buffers] + [weakref.ref(each._data) for each in buffers]
    alive.append(weakref.ref(loss.grad_fn))
    del loss, buffers
    assert not [each for each in alive if each() is not None], seed


def main():
    """As many programs as asked for, from a seed."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failed = 0
    for seed in range(first, first + count):
        try:
            check(seed, compiled=seed % 50 == 0)
            gc.disable()
            check_freed(seed)
        except Exception as error:
            failed += 1
            print(seed, type(error).__name__, str(error)[:300].replace("\n", " "), flush=True)
        finally:
            gc.enable()
    print(count, "programs,", failed, "failed")


if __name__ == "__main__":
    main()
