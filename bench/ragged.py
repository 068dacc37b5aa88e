"""How long do functions of rows of different lengths take, against padded arrays and torch's nested tensors?

64 rows of 5 to 199 elements times 32 numbers, one thread: about half of a padded array would be elements. Results are
compared row by row first. The last rows are a step of training, forward and backward of a layer, softmax over rows and
a sum, on ragged and on padded arrays, the latter with a mask; at half and at nine tenths of a padded array.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pullback as pb
from bench.runner import Options, Report, format_seconds, print_table, time_in_turns

ROWS, WIDTH = 64, 32


@dataclass(frozen=True)
class Question:
    """One row of the table: who is timed, first the one that counts, and the one it is compared with."""

    name: str
    runs: dict[str, Callable[[], Any]]
    over: str
    aim: float


def data(low: int, high: int) -> tuple[Any, Any, Any]:
    """Values, lengths, and the same as a padded array."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(low, high, ROWS)
    values = rng.normal(size=(lengths.sum(), WIDTH))
    return values, lengths, pb.nested.from_values(values, lengths=lengths).to_padded(0.0).numpy()


def rows_of(x: Any, lengths: Any) -> list[Any]:
    """The rows of a result of anybody, as arrays."""
    if isinstance(x, pb.Tensor) and x.ndim == 2 and not x.is_nested:  # values
        return np.split(x.numpy(), np.cumsum(lengths)[:-1])
    if isinstance(x, pb.Tensor):
        return [row.detach().numpy() for row in (x.unbind() if x.is_nested else x)]
    if hasattr(x, "unbind"):
        return [row.detach().numpy() for row in x.unbind()]
    return list(x)


def check(question: Question, lengths: Any) -> None:
    """Raise unless all have the same rows."""
    found = [rows_of(run(), lengths) for run in question.runs.values()]
    for other in found[1:]:
        for length, mine, theirs in zip(lengths, found[0], other, strict=True):
            np.testing.assert_allclose(mine[:length], theirs[:length], atol=1e-9, err_msg=question.name)


def padded_softmax(x: Any, hidden: Any) -> Any:
    """Softmax over the elements of padded rows, with NumPy."""
    shifted = np.where(hidden, -np.inf, x)
    powers = np.exp(shifted - shifted.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def forward_questions() -> list[Question]:
    """Elementwise work, softmax and attention."""
    values, lengths, padded = data(5, 200)
    x = pb.nested.from_values(values, lengths=lengths)
    y, v, w = x * 2, pb.asarray(values), pb.asarray(values * 2)
    hidden = np.arange(padded.shape[1])[None, :, None] >= lengths[:, None, None]
    softmax = pb.compile(lambda x: x.softmax(1))
    attention = pb.compile(lambda x: pb.nn.scaled_dot_product_attention(x, x, x))
    runs: dict[str, dict[str, Callable[[], Any]]] = {
        "add": {"ragged": lambda: x + y, "values alone": lambda: v + w},
        "softmax": {
            "ragged": lambda: x.softmax(1), "compiled": lambda: softmax(x),
            "NumPy padded": lambda: padded_softmax(padded, hidden),
        },
        "attention": {
            "ragged": lambda: pb.nn.scaled_dot_product_attention(x, x, x), "compiled": lambda: attention(x),
        },
    }  # fmt: skip
    over = {"add": "values alone", "softmax": "NumPy padded", "attention": "ragged"}
    aims = {"add": 1.1, "softmax": 0.5, "attention": 1.0}
    try:
        import torch
    except ImportError:
        print("   torch is not installed: its nested tensors are not compared")
    else:
        torch.set_num_threads(1)
        nested = torch.nested.nested_tensor_from_jagged(
            torch.from_numpy(values), torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
        )
        dense, mask = torch.from_numpy(padded), torch.from_numpy(~hidden[:, :, 0])[:, None, :]
        attend = torch.nn.functional.scaled_dot_product_attention
        four, double = nested.unsqueeze(2).transpose(1, 2), nested * 2
        runs["add"]["torch nested"] = lambda: nested + double
        runs["softmax"]["torch nested"] = lambda: torch.softmax(nested, 1)
        runs["attention"]["torch nested"] = lambda: attend(four, four, four).transpose(1, 2).squeeze(2)
        runs["attention"]["torch padded"] = lambda: attend(dense, dense, dense, attn_mask=mask)
        over |= {"softmax": "torch nested", "attention": "torch padded"}
        aims |= {"softmax": 0.7, "attention": 0.7}
    found = [Question(name, each, over[name], aims[name]) for name, each in runs.items()]
    for question in found:
        check(question, lengths)
    return found


def step_question(name: str, low: int, high: int, aim: float) -> Question:
    """A training step on ragged rows, over the same on a padded array with a mask."""
    values, lengths, padded = data(low, high)
    weight = np.random.default_rng(1).normal(size=(WIDTH, WIDTH)) / 6
    x, dense = pb.nested.from_values(values, lengths=lengths), pb.asarray(padded)
    seen = pb.asarray(np.arange(padded.shape[1])[None, :, None] < lengths[:, None, None])

    def ragged() -> Any:
        w = pb.tensor(weight, requires_grad=True)
        h = pb.tanh(x @ w)
        ((h.softmax(1) * h).sum(1) ** 2).sum().backward()
        return w.grad

    def on_padded() -> Any:
        w = pb.tensor(weight, requires_grad=True)
        h = pb.tanh(dense @ w)
        share = pb.where(seen, h, -np.inf).softmax(1)
        ((share * h).sum(1) ** 2).sum().backward()
        return w.grad

    np.testing.assert_allclose(ragged().numpy(), on_padded().numpy(), rtol=1e-9)
    return Question(name, {"ragged": ragged, "padded": on_padded}, "padded", aim)


def main(options: Options) -> None:
    """Compare the values, then time in turns and print the ratios."""
    report = Report("ragged")
    questions = forward_questions()
    questions += [step_question("step, half full", 5, 200, 0.65), step_question("step, nine tenths", 160, 200, 1.05)]
    rows = []
    for question in questions:
        if options.only and options.only not in question.name:
            continue
        best = {name: min(times) for name, times in time_in_turns(question.runs, options).items()}
        ratio = best["ragged"] / best[question.over]
        times = ", ".join(f"{name} {format_seconds(each)}" for name, each in best.items())
        rows.append([question.name, f"{ratio:.2f}", f"<= {question.aim}", question.over, times])
        report.findings[question.name] = {**best, "ratio": ratio, "aim": question.aim, "over": question.over}
    print_table("rows of different lengths", ["function", "ratio", "aim", "over", "times"], rows)
    report.write()


if __name__ == "__main__":
    main(Options())
