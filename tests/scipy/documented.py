"""Do the examples of SciPy's documentation differentiate? The programs of its docstrings, unmodified, under `adapt`.

Every docstring of the installed SciPy is a program. It is cut behind a statement that gives a name to real numbers:
these move along a direction, and the statements behind run as they are, on plain numbers for central differences and
under `adapt`. Numbers in the text move too: those of the program itself ("literals"), and those of its functions
("inner"). Pictures, prints and what raises are left out. Nothing of SciPy's text is kept here.

    python -m tests.scipy.documented integrate.         # all of a subpackage, with what is not right
    python -m tests.scipy.documented                    # everything: an hour of processor time

Verdicts: `right`; `refused`, with an error of ours that says why; `wrong`, another number than differences; `lost`, no
derivative where there is one; `raised`, any other error; `other value`, values that are not SciPy's. `nothing` is a
program whose results do not move, or at which differences do not agree among themselves; `slow` takes too long.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import linecache
import math
import signal
import sys
import time
import traceback
import types
import warnings
from collections import Counter
from importlib import import_module

import numpy as np

import pullback as pb
from pullback.errors import AutogradError

BAD = ("wrong", "lost", "raised", "other value")
_LEFT_OUT = {"plt", "fig", "ax", "axs", "axes", "ax1", "ax2", "print", "timeit", "time", "perf_counter"}
_STEERING = {"tol", "atol", "rtol", "xtol", "ftol", "gtol", "epsabs", "epsrel", "eps", "maxiter", "options", "seed",
             "rng", "confidence_level", "random_state", "decimal"}  # fmt: skip
_CONSTANT = ("jac", "hess_inv", "rms_residuals", "abserr")  # fields of results that are said to have no derivative
_SECONDS = 12  # of the processor, for one program


def programs(prefix=""):
    """`(name, kind, docstring)` of all that `pb.scipy` knows and SciPy documents with examples."""
    for name, rule in sorted(pb.scipy.rules().items()):
        if not name.startswith(prefix):
            continue
        package, _, own = name.rpartition(".")
        value = getattr(import_module(f"scipy.{package}"), own)
        members = vars(value).items() if inspect.isclass(value) else ()
        public = [(f"{name}.{key}", member) for key, member in members if not key.startswith("_")]
        for label, documented in ((name, value), *public):
            text = getattr(documented, "__doc__", None)
            if isinstance(text, str) and ">>>" in text:
                yield label, rule.kind, text


# The programs.


def statements(text):
    """What a docstring's examples do, without pictures and what is meant to fail."""
    found, left_out = [], set(_LEFT_OUT)
    try:
        examples = doctest.DocTestParser().get_examples(inspect.cleandoc(text))
    except ValueError:
        return []
    for example in examples:
        with contextlib.suppress(SyntaxError):
            for node in ast.parse(example.source).body if not example.exc_msg else ():
                names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
                is_picture = isinstance(node, ast.Import | ast.ImportFrom) and "matplotlib" in ast.unparse(node)
                is_rounded = any(getattr(each, "attr", "") == "round" for each in ast.walk(node))  # a staircase
                uses_them = not _is_definition(node) and not left_out.isdisjoint(each.id for each in names)
                if is_picture or is_rounded or uses_them:
                    left_out.update(each.id for each in names if isinstance(each.ctx, ast.Store))
                else:
                    found.append(ast.fix_missing_locations(_Seeded().visit(node)))
    return found


def _is_definition(node):
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


class _Seeded(ast.NodeTransformer):
    """The same random numbers every time."""

    def visit_Call(self, node):
        self.generic_visit(node)
        if getattr(node.func, "attr", getattr(node.func, "id", "")) == "default_rng" and not node.args:
            node.args = [ast.Constant(0)]
        return node


class _Moving(ast.NodeTransformer):
    """Numbers in the text move with `_t`: those inside of functions, or those outside."""

    def __init__(self, is_inner):
        self.is_inner = is_inner
        self.count = self.depth = 0

    def visit_FunctionDef(self, node):
        if self.is_inner:
            self.depth += 1
            is_lambda = isinstance(node, ast.Lambda)
            node.body = self.visit(node.body) if is_lambda else [self.visit(each) for each in node.body]
            self.depth -= 1
        return node

    visit_Lambda = visit_FunctionDef

    def visit_Subscript(self, node):
        return node

    def visit_Call(self, node):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return node if name in ("range", "len", "arange", "linspace") else self.generic_visit(node)

    def visit_keyword(self, node):
        return node if node.arg in _STEERING else self.generic_visit(node)

    def visit_BinOp(self, node):
        if isinstance(node.op, ast.Pow):
            node.left = self.visit(node.left)
            return node
        for side in ("left", "right") if self.depth else ():
            part = getattr(node, side)
            if isinstance(part, ast.Constant) and type(part.value) is int and part.value:
                setattr(node, side, ast.Constant(float(part.value)))
        return self.generic_visit(node)

    def visit_Constant(self, node):
        if bool(self.depth) != self.is_inner or type(node.value) is not float or not node.value:
            return node
        self.count += 1
        return ast.parse(f"({node.value!r} * (1.0 + _t * {math.cos(self.count)!r}))", mode="eval").body


def _assigned(node):
    names = [] if _is_definition(node) else [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    return list(dict.fromkeys(each.id for each in names if isinstance(each.ctx, ast.Store)))


def text_of(body, cut, moving):
    """The program as a function of `_t`. It returns what statements behind `cut` assign and show."""
    numbers = _Moving(moving == "inner")
    lines = []
    for position, node in enumerate(body):
        if moving in ("literals", "inner"):
            node = numbers.visit(ast.parse(ast.unparse(node)).body[0])
        if isinstance(node, ast.Expr):
            lines.append(f"_out['line {position}'] = {ast.unparse(node.value)}")
            continue
        lines += ast.unparse(node).splitlines()
        if position == cut:
            lines.append(f"{moving} = {moving} + _t * _direction")
        lines += [f"_out['{name}, line {position}'] = {name}" for name in _assigned(node) if position > cut]
    if moving in ("literals", "inner") and not numbers.count:
        return ""
    return "\n    ".join(["def program(_t):", "_out = {}", *lines, "return _out\n"])


def loaded(text, direction, number=[0]):  # noqa: B006
    """The program as a function of a module of its own, which `adapt` sees."""
    number[0] += 1
    name = f"documented_program_{number[0]}"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    module = sys.modules[name] = types.ModuleType(name)
    module.np, module._direction = np, direction
    exec(compile(text, name, "exec"), module.__dict__)
    return module.program


def leaves(value, path="", depth=0):
    """Real and complex numbers in a result, with where they are."""
    if isinstance(value, pb.Tensor | np.ndarray | np.inexact | float | complex):
        if isinstance(value, pb.Tensor) or np.asarray(value).dtype.kind in "fc":
            yield path, value
    elif depth > 3 or isinstance(value, str | bytes | type | types.ModuleType | types.FunctionType):
        return
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in _CONSTANT:
                yield from leaves(each, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for key in value._fields:
            yield from leaves(getattr(value, key), f"{path}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for k, each in enumerate(value[:20]):
            yield from leaves(each, f"{path}[{k}]", depth + 1)
    elif hasattr(value, "toarray"):
        yield path, value.toarray()


@contextlib.contextmanager
def _quiet():
    with (
        warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"),
        np.printoptions(),
    ):  # fmt: skip
        warnings.simplefilter("ignore")
        np.random.seed(0)
        yield


# Verdicts.


class Slow(BaseException):
    """The program takes too long."""


def _late(*_):
    raise Slow


def verdict(program):
    """A word of the list above, and what there is to say."""
    signal.signal(signal.SIGPROF, _late)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        return _verdict(program)
    except Slow:
        return "slow", ""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _plainly(program, t):
    with _quiet():
        return {path: np.array(value) for path, value in leaves(program(t))}


def differences(program):
    """By place: the value, its central differences, and where these can be believed."""
    base = _plainly(program, 0.0)
    sides = [(_plainly(program, h), _plainly(program, -h), h) for h in (1e-4, 3e-5, 1e-3)]
    found = {}
    for path, value in base.items():
        if not all(path in side and side[path].shape == value.shape for *both, _ in sides for side in both):
            continue
        with np.errstate(all="ignore"):
            slopes = [(up[path] - down[path]) / (2 * h) for up, down, h in sides]
            bend = np.abs(sides[0][0][path] + sides[0][1][path] - 2 * value) / sides[0][2]  # large at a kink
            size = np.max(np.abs(slopes[:2]), axis=0, initial=0)
            spread = np.max([np.abs(slopes[0] - each) for each in slopes[1:]], axis=0, initial=0)
            sure = np.isfinite(size) & (np.maximum(spread, 0.1 * bend) <= 1e-3 * size + 1e-8 * (1 + np.abs(value)))
        found[path] = value, slopes[0], sure & (size < 1e9 * (1 + np.abs(value)))
    return found


def _verdict(program):
    started = time.process_time()
    try:
        known = differences(program)
    except Exception as error:
        return "nothing", f"plainly: {error!r:.80}"
    if time.process_time() - started > _SECONDS / 2:
        return "slow", ""
    t = pb.tensor(0.0, requires_grad=True)
    try:
        with _quiet():
            ours = dict(leaves(pb.func.adapt(program)(t)))
            found = {path: _compared(t, ours[path], *known[path]) for path in known if path in ours}
    except AutogradError as error:
        return "refused", _said(error)
    except NotImplementedError as error:
        return "refused" if "has no derivative" in str(error) else "raised", _said(error)
    except Exception as error:
        return "raised", _said(error)
    for word in (*BAD, "right"):
        notes = [f"{path}: {note}" for path, (said, note) in found.items() if said == word]
        if notes:
            return word, "; ".join(notes)
    return "nothing", ""


def _compared(t, ours, value, slope, sure):
    array = ours.detach().numpy() if isinstance(ours, pb.Tensor) else np.asarray(ours)
    if array.shape != value.shape or not np.allclose(array, value, rtol=1e-4, atol=1e-6, equal_nan=True):
        return "other value", f"{array.shape} {value.shape} {str(array)[:40]} {str(value)[:40]}"
    if not sure.any():
        return "nothing", ""
    weights = np.cos(np.arange(1.0, sure.sum() + 1))
    wanted = (slope[sure] * weights).sum()
    if not isinstance(ours, pb.Tensor) or not ours.requires_grad:
        is_lost = np.abs(slope[sure]).max() > 1e-4 * (1 + np.abs(value[sure]).max())
        return ("lost", f"differences {wanted:.6g}") if is_lost else ("nothing", "")
    chosen = (ours[sure] if ours.ndim else ours.reshape(1)) * weights
    gradients = [pb.autograd.grad(part.sum(), t, retain_graph=True, allow_unused=True)[0]
                 for part in ((chosen.real, chosen.imag) if array.dtype.kind == "c" else (chosen,))]  # fmt: skip
    got = sum((0 if part is None else part.item()) * factor for part, factor in zip(gradients, (1, 1j), strict=False))
    if np.isnan(got) and not np.isfinite(array).all():
        return "nothing", ""  # an element that is infinite has no slope to leave out
    size = np.abs(slope[sure] * weights).sum() + 1e-5 * np.abs(value[sure] * weights).sum()
    if not abs(got - wanted) <= 5e-3 * size + 1e-5:
        return "wrong", f"{got:.6g}, differences {wanted:.6g}"
    return ("right", "") if abs(wanted) > 1e-9 else ("nothing", "")


def _said(error):
    first = (str(error).splitlines() or [""])[0]
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename.startswith("documented_")]
    line = frames[0].line if frames else ""
    return f"{type(error).__name__} {first[:140]} | {line}"


def verdicts(text, most=4):
    """`(what moves, verdict, note)` of a docstring: some of its names, and the numbers in it."""
    body = statements(text)
    scope, first = {"np": np}, {}
    try:
        with _quiet():
            for position, node in enumerate(body):
                exec(compile(ast.Module([node], []), "example", "exec"), scope)
                for name in _assigned(node) if isinstance(node, ast.Assign) else ():
                    value = scope.get(name)
                    if isinstance(value, float | complex | np.ndarray | np.inexact) and name not in first:
                        array = np.asarray(value)
                        if array.dtype.kind in "fc" and array.size and position < len(body) - 1:
                            first[name] = position, array
    except Exception as error:
        yield "*", "nothing", f"plainly: {error!r:.80}"
        return
    rng = np.random.default_rng(3)
    for name, (position, array) in list(first.items())[:most]:
        finite = array[np.isfinite(array)]
        direction = rng.standard_normal(array.shape) * (np.abs(finite).mean() if finite.any() else 1.0)
        yield name, *verdict(loaded(text_of(body, position, name), direction if array.ndim else float(direction)))
    for moving in ("literals", "inner"):
        source = text_of(body, -1, moving)
        if source:
            yield moving, *verdict(loaded(source, None))


def main():
    """Print what is not right, and how many there are of each."""
    counts = Counter()
    for name, kind, text in programs(*sys.argv[1:2]):
        for moving, word, note in verdicts(text):
            counts[word] += 1
            if word in (*BAD, "slow") or (word == "refused" and "-v" in sys.argv):
                print(f"{word}: {name} ({kind}) by {moving}: {note[:300]}", flush=True)
    print(*sys.argv[1:2], dict(counts))


if __name__ == "__main__":
    main()
