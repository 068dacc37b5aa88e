"""`explain`: the table of the specification to the letter, its JSON, its page, and what it says of unusual calls."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from pullback._compile import compile


def step(x, w, n):
    n.add_(1)
    h = pb.sin(x) @ w
    return h.reshape(-1), h


def arguments():
    x, w = (pb.ones(shape, requires_grad=True) for shape in ((64, 32), (32, 16)))
    return x, w, pb.tensor(0)


def explained(f, *args, **options):
    return aot.explain(f, *args, **options)


def test_the_table_of_the_specification():
    assert str(explained(step, *arguments(), partitioner="default")).splitlines() == [
        "inputs   0  x  f64[64,32]  grad  leaf  not mutated",
        "         1  w  f64[32,16]  grad  leaf  not mutated",
        "         2  n  i64[]       -     leaf  data, 1 write, in graph",
        "outputs  0  f64[1024]   view of output 1 via (reshape)",
        "         1  f64[64,16]  new, requires grad",
        "tangents tangent(output[1])  f64[64,16]",
        "saved    args[0] 16384 B, args[1] 4096 B, sin 16384 B   total 36864 B, new 16384 B",
        "recompute none   flops fw 67585  bw 135168  recompute 0   peak 81920 B",
        "nodes    fw 4  bw 6   partition default",
        "notes    none",
    ]


def test_the_json_has_the_keys_of_schema_version_1():
    data = json.loads(explained(step, *arguments()).to_json(indent=1))
    assert list(data) == [
        "schema_version", "inputs", "outputs", "tangents", "bases", "graph", "collectives", "partition",
        "flops", "numbers", "kept_over_writes", "guards", "compiled", "paths", "reasons",
        "notes",
    ]  # fmt: skip
    assert data["schema_version"] == 1 and data["flops"] == {"forward": 67585, "backward": 135168, "recompute": 0}
    assert list(data["graph"]) == ["fw_nodes", "bw_nodes"]
    assert list(data["partition"]) == [
        "method", "saved", "recomputed", "saved_bytes", "activation_bytes", "peak_bytes",
    ]  # fmt: skip
    assert data["partition"]["saved"][2] == {"name": "sin", "bytes": 16384}
    assert "args[1]: f64[32,16]" in data["guards"] and "grad mode" in data["guards"]


def test_recomputed_values_are_named_and_counted():
    f = lambda x: pb.exp(pb.cos(pb.sin(x))).sum()
    found = explained(f, pb.ones(4, requires_grad=True), partitioner="min_cut")
    assert found.data["partition"]["recomputed"] == ["sin", "cos", "exp"]
    assert found.data["flops"]["recompute"] == 12 and found.data["partition"]["activation_bytes"] == 0
    assert "recompute sin, cos, exp" in str(found)


def test_nothing_is_run_and_nothing_compiled():
    compiled, ran = [], []

    def compiler(graph, types):
        compiled.append(graph)
        return graph.eval_boxed

    def f(x, n):
        ran.append(1)
        n.add_(1)
        return x * n

    n = pb.zeros(3)
    call = aot.aot_function(f, compiler)
    call.explain(pb.ones(3), n)
    assert ran == [1] and compiled == [] and call.cache_info()[:3] == (0, 0, 0)
    assert n.tolist() == [0.0] * 3 and n._version == 0


def test_descriptions_instead_of_arrays():
    found = explained(lambda x: x * 2, aot.spec((2, 3), "f4", requires_grad=True))
    assert found.data["inputs"][0]["type"] == "f32[2,3]" and found.data["tangents"][0]["type"] == "f32[2,3]"


def test_names_of_leaves_follow_their_path():
    f = lambda p, *rest, k: p["w"] * rest[0] * k[0] * k[1]
    found = explained(f, {"w": pb.ones(2), "v": 3}, pb.ones(2), k=[pb.ones(2), 2.0])
    assert [x["name"] for x in found.data["inputs"]] == ["p['v']", "p['w']", "args[1]", "k[0]", "k[1]"]
    assert [x["type"] for x in found.data["inputs"]] == ["literal 3", "f64[2]", "f64[2]", "f64[2]", "literal 2.0"]
    assert explained(np.sin, pb.ones(2)).data["inputs"][0]["type"] == "f64[2]"


def test_captured_tensors_have_the_names_of_the_function():
    w = pb.ones(3, requires_grad=True)
    n = pb.zeros(3)
    holder = [pb.ones(3)]

    def f(x):
        n.add_(1)
        return x * w * n * holder[0]

    captured = [x for x in explained(f, pb.ones(3)).data["inputs"] if x["slot"] is None]
    assert [(x["name"], x["requires_grad"], x["mutation"]) for x in captured] == [
        ("n", False, "data, 1 write, in graph"), ("w", True, "not mutated"), ("holder[0]", False, "not mutated"),
    ]  # fmt: skip
    assert "captured[1]: w" in explained(f, pb.ones(3)).data["guards"]


def test_every_kind_of_output_is_described():
    def f(x, b):
        h = x * 3
        return h, h.reshape(-1), h, b, b.T, (x * 2).reshape(-1), 7

    lines = str(explained(f, pb.ones((2, 2), requires_grad=True), pb.ones((2, 2)))).splitlines()
    described = [line[9:].split("  ", 2)[-1].strip() for line in lines[2:9]]
    assert described == [
        "new, requires grad", "view of output 0 via (reshape)", "the same object as output 0", "is input 1",
        "view of input 1 via (permute_dims)", "new, a view inside, requires grad", "new",
    ]  # fmt: skip
    shared = explained(lambda x: ((h := x * 3)[0], h[1]), pb.ones((2, 2), requires_grad=True))
    assert "view of intermediate 0" in str(shared) and shared.data["bases"] == 1


def test_unusual_writes_are_described():
    def turned(v):
        v.t_()
        return v * 2

    v = pb.ones((2, 3), requires_grad=True) * 1
    assert "shape or strides, after the graph" in str(explained(turned, v))
    b = pb.ones((2, 2))
    assert "the same object as 0" in str(explained(lambda a, b: a * b, b, b))

    def given_other_memory(b, c):
        b.data = c * 3
        return b * 2

    assert "other memory" in str(explained(given_other_memory, pb.ones(2), pb.ones(2)))


def test_overlapping_arguments_are_noted():
    z = pb.ones(4)
    found = explained(lambda a, b: (a.mul_(2), a + b)[1], z[:3], z[1:])
    (note,) = found.data["notes"]
    assert note == "arguments 0, 1 overlap and one is written: they are base_of(args[0])"
    assert [x["alias_group"] for x in found.data["inputs"]] == [0, 0]
    assert [x["type"] for x in found.data["inputs"]] == ["f64[3]", "f64[3]"]


def overwrites_what_backward_needs(x):
    h = pb.exp(x)
    h.mul_(2)
    return h


def test_an_error_that_waits_for_backward_is_noted():
    with pb.autograd.overwrite_policy("raise"):
        (note,) = explained(overwrites_what_backward_needs, pb.ones(2, requires_grad=True)).data["notes"]
    assert note.startswith("backward raises: ")


def test_a_write_that_keeps_the_old_value_promises_no_error():
    notes = explained(overwrites_what_backward_needs, pb.ones(2, requires_grad=True)).data["notes"]
    assert not [note for note in notes if note.startswith("backward raises: ")]


class Checker(HTMLParser):
    """Notes tags that are closed in the wrong order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_escaped():
    found = explained(lambda x, name: x * 2, pb.ones(2, requires_grad=True), "<b>&")
    text = found.to_html()
    checker = Checker()
    checker.feed(text)
    assert {"table", "svg", "h3"} <= checker.seen and "<b>" not in text and "&lt;b&gt;&amp;" in text
    assert found._repr_html_() == text


def test_a_compiled_function_explains_with_its_own_partitioner():
    f = lambda x: pb.exp(pb.cos(pb.sin(x))).sum()
    call = compile(f, partitioner="min_cut")
    assert call.explain(pb.ones(4, requires_grad=True)).data["partition"]["method"] == "min_cut"
    with pytest.raises(aot.ConcretizationError):
        compile(lambda x: np.asarray(x).max() * x).explain(pb.ones(3))


def test_a_call_without_its_arguments_is_refused_with_a_hint():
    compiled = pb.compile(lambda x: x * 2)
    with pytest.raises(TypeError, match=r"explain: missing a required argument: 'x'; it explains a call"):
        compiled.explain()


def test_a_method_is_explained_without_its_object():
    class Scale:
        weight = pb.tensor([2.0])

        @pb.compile
        def apply(self, x):
            return x * self.weight

    scale = Scale()
    explained = scale.apply.explain(pb.tensor([1.0]))
    assert explained.data["inputs"][0]["name"] == "x"


def test_equal_values_that_are_saved_are_counted():
    f = lambda x, y: (pb.sin(x) * pb.sin(y) * pb.exp(x)).sum()
    text = str(explained(f, *(pb.ones(8, requires_grad=True) for _ in range(2)), partitioner="default"))
    assert "sin ×2, 64 B each" in text and "exp 64 B" in text
