"""How fast are the function transforms, against torch.func and JAX without and with `jit`?

All three spell `jacrev`, `jacfwd`, `hessian`, `jvp`, `vmap` and `grad` alike, so a row is one function and one
transform of it for everybody. The exception is the sparse Jacobian: the others have none, and their users would compute
the dense matrix with `jacfwd`; that is what stands in their columns.

The second table is about forward mode on a tiny chain, where overhead is everything: the time of the value and its
derivative over the time of the value alone, each within one framework. What the transforms cost those who do not use
them is the subject of `bench eager`, before and after.

The third is about transforms of small programs, as users of JAX and of HIPS autograd write them: each over a plain
`backward()` of the same program, and `grad` beside `torch.func.grad` and `autograd.grad`.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench import eager
from bench.frameworks import THREADS, Arrays, Case
from bench.runner import Options, Report, Row, Workload, format_seconds, measure, print_table, time_in_turns

FORWARD_AIM = 3.0  # times plain evaluation, on the chain of 40 operators

Transform = Callable[[Any, Callable[..., Any]], Callable[..., Any]]


# The frameworks -------------------------------------------------------------------------------------------------------


def as_it_is(value: Any) -> Any:
    """Neither compiled nor waited for."""
    return value


@dataclass(frozen=True)
class Functional:
    """A framework that transforms functions: its arrays, its transforms, and whether the result is compiled."""

    name: str
    namespace: Any
    func: Any
    from_array: Callable[[np.ndarray], Any]
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]] = as_it_is
    wait: Callable[[Any], Any] = as_it_is

    def case(self, transform: Transform, function: Callable[..., Any], arrays: Arrays) -> Case:
        """The transformed function at these operands."""
        operands = [self.from_array(array) for array in arrays]
        call = self.compiled(transform(self, partial(function, self.namespace)))
        return Case(lambda: self.wait(call(*operands)), lambda result: list(map(dense, leaves_of(result))))


def leaves_of(result: Any) -> list[Any]:
    """The arrays of a result, which may be tuples of tuples."""
    return [leaf for part in result for leaf in leaves_of(part)] if isinstance(result, (tuple, list)) else [result]


def dense(array: Any) -> np.ndarray:
    """An array of any framework, or a sparse matrix, as an array of NumPy."""
    return array.toarray() if hasattr(array, "toarray") else np.asarray(array)


def make_pullback() -> list[Functional]:
    """Pullback, as this repository has it."""
    pullback = importlib.import_module("pullback")
    return [Functional("pullback", pullback, importlib.import_module("pullback.func"), pullback.asarray)]


def make_torch() -> list[Functional]:
    """Torch eager."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(THREADS)
    return [Functional("torch", torch, importlib.import_module("torch.func"), torch.from_numpy)]


def make_jax() -> list[Functional]:
    """JAX twice. Compilation is not part of the time."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    numpy = importlib.import_module("jax.numpy")
    wait = jax.block_until_ready
    return [
        Functional("jax", numpy, jax, numpy.asarray, wait=wait),
        Functional("jax jit", numpy, jax, numpy.asarray, compiled=jax.jit, wait=wait),
    ]


def load() -> dict[str, Functional]:
    """The frameworks that can be imported here. A missing one is named on the screen."""
    found = []
    for make in (make_pullback, make_torch, make_jax):
        try:
            found += make()
        except ImportError as error:
            print(f"without {make.__name__.removeprefix('make_')}: {error}")
    return {each.name: each for each in found}


# The transforms -------------------------------------------------------------------------------------------------------


def jacrev(framework: Functional, f: Callable[..., Any]) -> Callable[..., Any]:
    """The Jacobian with respect to the first operand."""
    return framework.func.jacrev(f)


def jacfwd(framework: Functional, f: Callable[..., Any]) -> Callable[..., Any]:
    """The Jacobian with respect to the first operand."""
    return framework.func.jacfwd(f)


def hessian(framework: Functional, f: Callable[..., Any]) -> Callable[..., Any]:
    """The matrix of second derivatives."""
    return framework.func.hessian(f)


def hvp(framework: Functional, f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient, and the product of the Hessian with a vector: forward over reverse."""
    return lambda x, v: framework.func.jvp(framework.func.grad(f), (x,), (v,))


def per_sample(framework: Functional, f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients with respect to four parameters, for every example of the last two operands."""
    gradients = framework.func.grad(f, (0, 1, 2, 3))
    return framework.func.vmap(gradients, (None, None, None, None, 0, 0))


def sparse_jacobian(framework: Functional, f: Callable[..., Any]) -> Callable[..., Any]:
    """The Jacobian as a sparse matrix, its pattern found in every call; the dense one where there is no such thing."""
    transform = framework.func.sparse_jacobian if framework.name == "pullback" else framework.func.jacfwd
    return transform(f)


def sparse_jacobian_again(framework: Functional, f: Callable[..., Any]) -> Callable[..., Any]:
    """The same where the pattern is known already, as in the later iterations of a solver."""
    if framework.name != "pullback":
        return framework.func.jacfwd(f)
    known: list[Any] = []

    def again(*operands: Any) -> Any:
        if not known:
            known.append(framework.func.jacobian_sparsity(f, *operands))
        return framework.func.sparse_jacobian(f, sparsity=known[0])(*operands)

    return again


# The functions --------------------------------------------------------------------------------------------------------


def layer(m: Any, x: Any, a: Any) -> Any:
    """From R^100 to R^100."""
    return m.tanh(a @ x) * x


def rosenbrock(m: Any, x: Any) -> Any:
    """The banana in n dimensions."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def network_loss(cross_entropy: Callable[..., Any]) -> Callable[..., Any]:
    """The loss of a network with one hidden layer on one example."""

    def loss(m: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, label: Any) -> Any:
        return cross_entropy(m, m.tanh(x @ w1 + b1) @ w2 + b2, label)

    return loss


def jax_cross_entropy(m: Any, z: Any, label: Any) -> Any:
    """JAX has the logarithm of softmax only."""
    return -importlib.import_module("jax").nn.log_softmax(z)[label]


NETWORK = {
    "pullback": network_loss(lambda m, z, label: m.nn.cross_entropy(z, label)),
    "torch": network_loss(lambda m, z, label: m.nn.functional.cross_entropy(z, label)),
    "jax": network_loss(jax_cross_entropy),
    "jax jit": network_loss(jax_cross_entropy),
}

CAMERAS, POINTS, OBSERVATIONS = 20, 300, 2000


def reprojection(m: Any, parameters: Any, camera: Any, point: Any, seen: Any) -> Any:
    """How far points land in the images from where they were seen: the residual of bundle adjustment.

    A camera has an axis of rotation (its length is the angle), a shift and a focal length.
    """
    cameras = parameters[: 7 * CAMERAS].reshape((CAMERAS, 7))[camera]
    points = parameters[7 * CAMERAS :].reshape((POINTS, 3))[point]
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    u, v, w = cameras[:, 0], cameras[:, 1], cameras[:, 2]
    angle = m.sqrt(u * u + v * v + w * w)
    u, v, w = u / angle, v / angle, w / angle
    sine, cosine = m.sin(angle), m.cos(angle)
    along = (u * x + v * y + w * z) * (1 - cosine)
    right = x * cosine + (v * z - w * y) * sine + u * along + cameras[:, 3]
    down = y * cosine + (w * x - u * z) * sine + v * along + cameras[:, 4]
    away = z * cosine + (u * y - v * x) * sine + w * along + cameras[:, 5]
    scale = cameras[:, 6] / away
    return (m.stack([right * scale, down * scale], 1) - seen).reshape((2 * OBSERVATIONS,))


# Their operands -------------------------------------------------------------------------------------------------------


def of_layer(rng: np.random.Generator) -> Arrays:
    """A point and a matrix."""
    return [rng.standard_normal(100), rng.standard_normal((100, 100)) / 10]


def near_one(*shapes: int) -> Callable[[np.random.Generator], Arrays]:
    """A point in the valley, and directions."""
    return lambda rng: [1 + 0.1 * rng.standard_normal(shape) for shape in shapes]


def batch(rng: np.random.Generator) -> Arrays:
    """The weights of 32-64-10 and a batch of 64, in float32, and its labels."""
    weights = [rng.standard_normal((32, 64)) / 6, np.zeros(64), rng.standard_normal((64, 10)) / 8, np.zeros(10)]
    floats = [*weights, rng.standard_normal((64, 32))]
    return [*(array.astype(np.float32) for array in floats), rng.integers(0, 10, 64)]


def scene(rng: np.random.Generator) -> Arrays:
    """Cameras in front of a cloud of points, who sees what, and where."""
    turned, shift = 0.2 * rng.standard_normal((CAMERAS, 3)), 0.2 * rng.standard_normal((CAMERAS, 3)) + [0, 0, 6]
    cameras = np.concatenate([turned, shift, rng.uniform(0.9, 1.1, (CAMERAS, 1))], axis=1)
    pairs = rng.choice(CAMERAS * POINTS, OBSERVATIONS, replace=False)
    parameters = np.concatenate([cameras.ravel(), rng.standard_normal(3 * POINTS)])
    return [parameters, pairs // POINTS, pairs % POINTS, 0.1 * rng.standard_normal((OBSERVATIONS, 2))]


# The rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transformed(Workload):
    """A transform of a function."""

    transform: Transform = jacrev
    slow: bool = False

    def case(self, framework: str, adapter: Functional) -> Case:
        """This workload in one framework."""
        function = self.function if callable(self.function) else self.function[framework]
        return adapter.case(self.transform, function, self.operands(np.random.default_rng(7)))


@dataclass(frozen=True)
class Slow(Options):
    """Options for rows that take seconds in some framework."""

    @property
    def rounds(self) -> int:
        """How many turns each framework takes."""
        return 2 if self.quick else 5


@dataclass(frozen=True)
class Brief(Options):
    """Options for runs of a tenth of a millisecond, of which one wants to know the ratio: many turns, and so short that
    some of them are not interrupted however busy the machine is."""

    @property
    def rounds(self) -> int:
        """How many turns each framework takes."""
        return 30 if self.quick else 300

    @property
    def seconds(self) -> float:
        """How long one turn lasts at least."""
        return 0.0004


EVERYBODY = ("pullback", "torch", "jax", "jax jit")


def workloads() -> list[Transformed]:
    """The rows of the main table."""
    row = partial(Transformed, frameworks=EVERYBODY, aim=1.0)
    return [
        row("jacrev R100 to R100", layer, of_layer, transform=jacrev),
        row("jacfwd R100 to R100", layer, of_layer, transform=jacfwd),
        row("hessian rosenbrock 100", rosenbrock, near_one(100), transform=hessian),
        row("hvp rosenbrock 10000", rosenbrock, near_one(10_000, 10_000), transform=hvp),
        row("per-sample gradients mlp 64", NETWORK, batch, transform=per_sample, tolerance=2e-5),
        row("sparse jacobian 2000 observations", reprojection, scene, transform=sparse_jacobian, slow=True),
        row("sparse jacobian, pattern known", reprojection, scene, transform=sparse_jacobian_again, slow=True),
    ]


def show(rows: Sequence[Row], names: Sequence[str]) -> None:
    """Times, and Pullback's time over each of the others'."""
    others = [name for name in names if name != "pullback"]
    body = []
    for row in rows:
        ratios = [f"{row.best['pullback'] / row.best[name]:.3g}" for name in others]
        body.append([row.name, *(format_seconds(row.best[name]) for name in names), *ratios])
    print_table("transforms, best of all rounds", ["", *names, *(f"ratio to {name}" for name in others)], body)


# Forward mode on a tiny chain -----------------------------------------------------------------------------------------


def forward_runs(framework: Functional) -> dict[str, Callable[[], Any]]:
    """The chain evaluated, and with its derivative in one direction, as each framework does it."""
    x, w, b = (framework.from_array(array) for array in eager.vectors((8,), (8,), (8,))(np.random.default_rng(7)))
    direction = framework.from_array(np.ones(8))

    def plain(operand: Any) -> Any:
        return eager.chain(framework.namespace, operand, w, b)

    value = framework.compiled(plain)
    both = framework.compiled(lambda at, along: framework.func.jvp(plain, (at,), (along,)))
    wait = framework.wait
    runs = {"plain": lambda: wait(value(x)), "jvp": lambda: wait(both(x, direction))}
    if not hasattr(framework.namespace, "autograd"):
        return runs
    duals = framework.namespace.autograd.forward_ad

    def in_level() -> Any:
        with duals.dual_level():
            return tuple(duals.unpack_dual(plain(duals.make_dual(x, direction))))

    return {**runs, "dual_level": in_level}


def forward_overhead(frameworks: Mapping[str, Functional], options: Options) -> list[dict[str, Any]]:
    """Print and return the times of the chain, and how many times plain evaluation forward mode takes."""
    runs = {name: forward_runs(framework) for name, framework in frameworks.items()}
    check_forward(runs)
    flat = {f"{name}/{kind}": run for name, kinds in runs.items() for kind, run in kinds.items()}
    best = {name: min(times) for name, times in time_in_turns(flat, options).items()}
    found, body = [], []
    for name, kinds in runs.items():
        plain = best[f"{name}/plain"]
        for kind in kinds:
            seconds = best[f"{name}/{kind}"]
            found.append({"framework": name, "kind": kind, "best": seconds, "ratio_to_plain": seconds / plain})
            body.append([f"{name} {kind}", format_seconds(seconds), f"{seconds / plain:.2f}"])
    print_table("40 operators on 8 elements, forward mode", ["", "best", "ratio to plain"], body)
    print(f"  the aim for Pullback is at most {FORWARD_AIM:g} times plain evaluation")
    return found


def check_forward(runs: Mapping[str, Mapping[str, Callable[[], Any]]]) -> None:
    """Compare values and derivatives of all frameworks, in both ways of asking."""
    expected = [dense(part) for part in leaves_of(runs["pullback"]["jvp"]())]
    for name, kinds in runs.items():
        for kind, run in kinds.items():
            for actual, wanted in zip(leaves_of(run()), expected, strict=False):
                np.testing.assert_allclose(dense(actual), wanted, rtol=1e-10, err_msg=f"{name} {kind}")


# Small programs -------------------------------------------------------------------------------------------------------
#
# Each is a function of a namespace and one array, with a number as result.


def chain(m: Any, x: Any) -> Any:
    """Forty operators one after the other."""
    y = x
    for _ in range(10):
        y = m.sin(y) * 0.9 + x
        y = m.exp(-y * y)
    return y.sum()


def network(m: Any, x: Any) -> Any:
    """Two layers with weights that are made of the point."""
    weights = m.outer(x, x)
    hidden = m.tanh(weights @ x + 0.1)
    return ((weights @ hidden - 1.0) ** 2).mean()


def runge_kutta(m: Any, x: Any) -> Any:
    """Five steps of a pendulum."""
    y, step = x, 0.1
    for _ in range(5):
        k1 = -m.sin(y)
        k2 = -m.sin(y + k1 * (step / 2))
        k3 = -m.sin(y + k2 * (step / 2))
        k4 = -m.sin(y + k3 * step)
        y = y + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (step / 6)
    return (y * y).sum()


def filled(m: Any, x: Any) -> Any:
    """An array that is made and filled element by element."""
    h = m.zeros(20)
    h[0] = x[0]
    for i in range(19):
        h[i + 1] = h[i] * 0.9 + x[1]
    return (h * h).sum()


def scalars(m: Any, x: Any) -> Any:
    """Thirty steps of Newton's method for a square root, on numbers."""
    a = (x * x).sum()
    y = a
    for _ in range(30):
        y = (y + a / y) * 0.5
    return y


def log_sum(m: Any, x: Any) -> Any:
    """The logarithm of a sum of exponentials, and the weights of its terms."""
    e = m.exp(x - 1.0)
    weights = e / e.sum()
    return m.log(e.sum()) + (weights * x).sum()


def elements(m: Any, x: Any) -> Any:
    """A sum over neighbours, element by element."""
    total = x[0] * x[0]
    for i in range(1, 5):
        total = total + x[i] * x[i - 1]
    return total


def stencil(m: Any, x: Any) -> Any:
    """Ten steps of the heat equation in place."""
    u = x * 1.0
    for _ in range(10):
        u[1:-1] += (u[2:] - 2.0 * u[1:-1] + u[:-2]) * 0.1
    return (u * u).sum()


PROGRAMS: dict[str, tuple[Callable[..., Any], int]] = {
    "chain of 40, 10": (chain, 10), "chain of 40, 1000": (chain, 1000), "network": (network, 10),
    "runge-kutta": (runge_kutta, 10), "scalar loop": (scalars, 5), "softmax": (log_sum, 10),
    "elements": (elements, 10), "fill loop": (filled, 5), "stencil in place": (stencil, 50),
}  # fmt: skip
IN_PLACE = ("fill loop", "stencil in place")


def small_runs(program: Callable[..., Any], size: int, is_in_place: bool) -> dict[str, Callable[[], Any]]:
    """Every transform of a program in Pullback, and the gradient in whichever of the others is there."""
    pullback = importlib.import_module("pullback")
    func = pullback.func
    value = np.linspace(0.3, 0.8, size)
    f = partial(program, pullback)
    x, leaf, ones = pullback.tensor(value), pullback.tensor(value, requires_grad=True), pullback.ones(size)
    rows = pullback.tensor(np.stack([value] * 5))
    five = pullback.tensor(np.linspace(0.3, 0.8, 5))

    def backward() -> Any:
        leaf.grad = None
        f(leaf).backward()
        return leaf.grad

    runs: dict[str, Callable[[], Any]] = {"backward": backward}
    gradient = func.grad(f)
    second = func.grad(lambda v: gradient(v).sum())
    each, with_value, jacobian = func.vmap(gradient), func.value_and_grad(f), func.jacrev(lambda v: v * f(v))
    runs |= {
        "grad": lambda: gradient(x), "value_and_grad": lambda: with_value(x),
        "vjp": lambda: func.vjp(f, x)[1](pullback.tensor(1.0)), "jvp": lambda: func.jvp(f, (x,), (ones,)),
        "grad(grad)": lambda: second(x), "vmap(grad)": lambda: each(rows), "jacrev of 5": lambda: jacobian(five),
    }  # fmt: skip
    for name, made in (("torch", "torch"), ("hips", "autograd")):
        if name == "hips" and is_in_place:
            continue
        try:
            library = importlib.import_module(made)
        except ImportError:
            continue
        if name == "torch":
            given = library.from_numpy(value)
            library.set_default_dtype(library.float64)
            theirs = importlib.import_module("torch.func").grad(partial(program, library))
        else:
            given, theirs = value, library.grad(partial(program, importlib.import_module("autograd.numpy")))
        runs[f"{name} grad"] = lambda theirs=theirs, given=given: theirs(given)
        np.testing.assert_allclose(np.asarray(runs[f"{name} grad"]()), gradient(x).numpy(), rtol=1e-9)
    return runs


def small_transforms(options: Options) -> list[dict[str, Any]]:
    """Print and return the times of transforms of small programs."""
    found, body, names = [], [], []
    for name, (program, size) in PROGRAMS.items():
        runs = small_runs(program, size, name in IN_PLACE)
        for run in runs.values():
            for _ in range(200):  # native code is there after so many nodes
                run()
        best = {kind: min(times) for kind, times in time_in_turns(runs, options).items()}
        plain = best["backward"]
        found.append({"program": name, "best": best})
        names = names or list(runs)
        ratios = [f"{best[kind] / plain:.2f}" if kind in best else "-" for kind in names[1:]]
        body.append([name, format_seconds(plain), *ratios])
    print_table("transforms of small programs, over backward()", ["", *names], body)
    return found


def main(options: Options) -> None:
    """Measure, print and store everything in this file."""
    report = Report("transforms")
    frameworks = load()
    chosen = [workload for workload in workloads() if options.only in workload.name]
    if chosen:
        patience = Slow(options.quick)
        rows = [measure(workload, frameworks, patience if workload.slow else options) for workload in chosen]
        show(rows, list(frameworks))
        report.add_rows("transforms", rows)
    if options.only in "forward":
        report.findings["forward"] = forward_overhead(frameworks, Brief(options.quick))
    if options.only in "small":
        report.findings["small"] = small_transforms(Brief(options.quick))
    report.write()


if __name__ == "__main__":
    main(Options())
