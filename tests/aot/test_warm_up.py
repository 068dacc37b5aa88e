"""`warm_up`: captured and compiled for a kind of arguments, and nothing is run."""

from importlib import util

import pytest

import pullback as pb

needs_llvm = pytest.mark.skipif(util.find_spec("llvmlite") is None, reason="llvmlite is not installed")


def loss(x):
    return (pb.sin(x) * x).sum()


@pytest.mark.parametrize("backend", ["numpy", pytest.param("llvm", marks=needs_llvm)])
def test_calls_behind_it_compile_nothing(backend):
    f = pb.compile(loss, backend=backend, fallback="raise")
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    f.warm_up(x)
    (entry,) = f.entries()
    made = list(entry.compiled)
    assert [name for name, _ in made] == ["forward", "backward"] and f.cache_info().misses == 1
    f(x).backward()
    assert f.cache_info()[:3] == (1, 1, 1) and entry.compiled == made
    assert pb.allclose(x.grad, pb.grad(loss)(x.detach()))


@needs_llvm
@pytest.mark.parametrize("effort", ["quick", "good"])
def test_good_code_is_made_at_once_or_later(effort, monkeypatch):
    monkeypatch.setenv("PULLBACK_CACHE_DIR", "")
    factor = 0.3749 if effort == "good" else 0.3751  # what this process has made well before, it has at once
    f = pb.compile(lambda x: (pb.cos(x) * factor * x).sum(), backend="llvm", fallback="raise")
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    f.warm_up(x, effort="quick")
    codes = [code for _, made in f.entries()[0].compiled for code in made.codes]
    assert any(code.is_quick for code in codes)
    f.warm_up(x, effort=effort, progress=lambda *told: seen.append(told))
    assert any(code.is_quick for code in codes) == (effort == "quick")
    assert seen == ([] if effort == "quick" else [(k + 1, len(codes), "compiling <lambda>") for k in range(len(codes))])
    assert f.explain(x).data["compiled"][0]["code"] == effort
    assert pb.allclose(f(x), (pb.cos(x) * factor * x).sum())


def test_nothing_of_the_call_happens():
    x = pb.zeros(3)

    @pb.compile
    def f(x):
        x += 1
        return x.sum()

    f.warm_up(x)
    assert x.tolist() == [0.0, 0.0, 0.0] and x._version == 0
    assert f(x).item() == 3.0 and x.tolist() == [1.0, 1.0, 1.0]


def test_where_nothing_is_compiled_it_does_nothing(monkeypatch):
    monkeypatch.setenv("PULLBACK_COMPILE", "0")
    f = pb.compile(loss)
    f.warm_up(pb.ones(3))
    assert f.cache_info().misses == 0


def test_an_unknown_effort_is_refused():
    with pytest.raises(ValueError, match="'quick', 'good'"):
        pb.compile(loss).warm_up(pb.ones(2), effort="best")


def test_what_making_took_is_told_by_kind():
    f = pb.compile(loss)
    x = pb.ones(3)
    assert f.cache_info().milliseconds == 0 and f.explain(x).data["compiled"] == []
    f(x)
    (made,) = f.explain(x).data["compiled"]
    assert {"trace", "partition"} <= made["milliseconds"].keys()
    assert f.cache_info().milliseconds > 0
    assert "compiled" in f.explain(x).to_text(verbose=True) and "trace" in f.explain(x).to_html()
