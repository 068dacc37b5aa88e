"""`pb.save` and `pb.load`: trees in files that are whole or not there, without pickle.

A file has one array for each tensor and array of the tree, under its path, and a text beside them, JSON, that says
which containers there were and which plain numbers. NumPy's own `np.load` reads an `.npz`, and what reads safetensors
reads the other. Nothing in a file is executed: classes are those of `like`, or registered ones of the same name.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from pullback.core import pytree
from pullback.core.pytree import flatten, unflatten
from pullback.operators import functions
from pullback.payloads.kinds import has_kind
from pullback.payloads.wrapped import Payload
from pullback.payloads.wrapped.payload import subclasses
from pullback.tensors.tensor import Tensor, wrap
from pullback.tree._paths import path_texts

__all__ = ["LoadReport", "load", "save"]

Array = np.ndarray[Any, Any]
Path = str | os.PathLike[str]

STRUCTURE = "__structure__"
FORMAT = 1
LONE = "value"  # the name of the only leaf, if the tree is no container

_IN_SAFETENSORS = {"bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))}
_IN_SAFETENSORS |= {"float16", "float32", "float64"}


class LoadReport(NamedTuple):
    """In what a file and `like` differ: paths of leaves that are missing in the file, that are in the file only, and
    that are of another shape, dtype or kind, in words."""

    missing: list[str]
    unexpected: list[str]
    different: list[str]


def save(path: Path, tree: Any) -> None:
    """Write a tree of tensors, arrays and plain numbers into a file, `.npz` or `.safetensors` by its suffix.

    Without a suffix the file is an `.npz`. It appears under its name when it is complete: if the program is killed on
    the way, the old file is still there. A tensor's history is not saved; whether it requires grad is.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> pb.save(path, {"layers": [{"w": pb.ones((2, 2))}], "steps": 3})
    >>> sorted(np.load(path))
    ['__structure__', 'layers/0/w']
    >>> pb.load(path)["steps"]
    3
    """
    arrays: dict[str, Array] = {}
    described = _described(tree, _names(tree), arrays)
    text = json.dumps({"format": FORMAT, "tree": described})
    target, is_safe = _place(path)
    if is_safe:
        write = _safetensors_writer(arrays, text)
    else:
        write = _npz_writer(arrays, text)
    write_atomically(target, write)


def load(path: Path, like: Any = None, *, strict: bool = True) -> Any:
    """The tree of a file that `save` wrote; arrays come as what they were, tensors or NumPy arrays.

    With `like`, a tree of the structure that is expected, the result has its containers and classes, and its tensors
    require grad where those of `like` do. If paths, shapes or dtypes differ, one error lists all of them; with
    `strict=False` the result is `(tree, report)`, and the tree has the leaves of `like` where the file has no others.
    Without `like`, classes are found by name among those that are registered.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> pb.save(path, {"w": pb.ones(2)})
    >>> pb.load(path, like={"w": pb.zeros(2)})
    {'w': tensor([1., 1.])}
    >>> pb.load(path, like={"w": pb.zeros(2), "b": pb.zeros(1)}, strict=False)[1]
    LoadReport(missing=['b'], unexpected=[], different=[])
    """
    target, is_safe = _place(path)
    arrays, text = (_read_safetensors if is_safe else _read_npz)(target)
    if text is None:  # written by somebody else: names and arrays are all there is
        described: Any = {"dict": [[name, {"tensor": name}] for name in arrays]}
    else:
        described = _parsed(text, target)
    if like is None:
        if not strict:
            raise TypeError("pb.load: strict=False compares the file with like=, which was not given")
        return _built(described, arrays, target)
    return _fitted(described, arrays, target, like, strict)


def _place(path: Path) -> tuple[str, bool]:
    """Where the file is, and whether it is one of safetensors."""
    text = os.fspath(path)
    suffix = os.path.splitext(text)[1]
    if suffix not in ("", ".npz", ".safetensors"):
        raise ValueError(f"pb.save and pb.load take .npz and .safetensors files, got {text!r}")
    return os.path.realpath(text if suffix else f"{text}.npz"), suffix == ".safetensors"


# What a tree looks like in words.


def _names(tree: Any) -> Iterator[str]:
    """The names of the leaves, in order, each once."""
    names = path_texts(tree)
    if names == [""]:
        names = [LONE]
    seen: set[str] = set()
    for name in names:
        if name in seen or name == STRUCTURE:
            raise ValueError(f"pb.save: the path {name!r} is taken; two keys are alike as texts, or one is reserved")
        seen.add(name)
    return iter(names)


def _described(tree: Any, names: Iterator[str], arrays: dict[str, Array]) -> dict[str, Any]:
    """The structure of a tree, as JSON has it; its arrays are added to `arrays`."""
    opened = pytree.contents(tree)
    if opened is None:
        return _described_leaf(tree, next(names), arrays)
    children, about, order = opened
    parts = [_described(child, names, arrays) for child in children]
    kind = type(tree)
    if kind is tuple or kind is list:
        return {kind.__name__: parts}
    if kind is deque:
        return {"deque": parts, "maxlen": about}
    if kind in (dict, OrderedDict, defaultdict):
        keys = about[0] if kind is defaultdict else about
        made: dict[str, Any] = {kind.__name__: [[_plain_key(key), part] for key, part in zip(keys, parts, strict=True)]}
        if kind is dict:
            made["order"] = [keys.index(key) for key in order]
        return made
    name = f"{kind.__module__}.{kind.__qualname__}"
    made = {"class": name, "fields": list(pytree.field_names(kind)), "parts": parts}
    try:
        return made | {"static": _plain(about)}
    except TypeError:
        return made  # only `like` knows


def _described_leaf(leaf: Any, name: str, arrays: dict[str, Array]) -> dict[str, Any]:
    if isinstance(leaf, Tensor) and has_kind(leaf._data):
        made = {"payload": _described_payload(leaf._data, name, arrays), "path": name}
        return made | {"requires_grad": True} if leaf.requires_grad else made
    if isinstance(leaf, Tensor):
        arrays[name] = leaf.detach().numpy()
        return {"tensor": name, "requires_grad": True} if leaf.requires_grad else {"tensor": name}
    if isinstance(leaf, np.ndarray | np.generic):
        if leaf.dtype.hasobject:
            raise TypeError(f"pb.save: {name} is an array of Python objects, which cannot be saved without pickle")
        arrays[name] = np.asarray(leaf)
        return {"array" if isinstance(leaf, np.ndarray) else "scalar": name}
    try:
        return {"value": _plain(leaf), "path": name}
    except TypeError:
        advice = pytree.how_to_register(type(leaf)) or "save what is in it, or register its class as a container"
        raise TypeError(f"pb.save: {name} is a {type(leaf).__name__}, which cannot be saved; {advice}") from None


def _described_payload(payload: Any, name: str, arrays: dict[str, Array]) -> dict[str, Any]:
    """A payload that `pb.wrap` takes: its class, its meta, and the names of its parts."""
    kind = type(payload)
    if not isinstance(payload, Payload):
        raise TypeError(f"pb.save: {name} is a tensor on a {kind.__name__}; only those of pb.wrap can be saved")
    parts: dict[str, Any] = {}
    for part, value in zip(kind.part_names, payload.part_values(), strict=True):
        if isinstance(value, Payload):
            parts[part] = _described_payload(value, f"{name}.{part}", arrays)
        else:
            arrays[f"{name}.{part}"] = np.asarray(value)
            parts[part] = f"{name}.{part}"
    try:
        meta = [_plain(value) for value in payload.meta]
    except TypeError as error:
        raise TypeError(f"pb.save: {name}: the meta of a {kind.__name__} has a {error}, which is not saved") from None
    return {"class": f"{kind.__module__}.{kind.__qualname__}", "parts": parts, "meta": meta}


def _built_payload(node: dict[str, Any], arrays: dict[str, Array]) -> Any:
    known = {f"{each.__module__}.{each.__qualname__}": each for each in subclasses(Payload)}
    kind = known.get(node["class"])
    if kind is None or list(kind.part_names) != list(node["parts"]) or len(kind.meta_names) != len(node["meta"]):
        reason = "does not exist" if kind is None else "has other parts or meta"
        raise ValueError(
            f"pb.load: the file has a tensor on a payload of the class {node['class']}, which {reason} in this "
            "program; import the module that defines it"
        )
    parts = {
        name: _built_payload(part, arrays) if isinstance(part, dict) else arrays[part]
        for name, part in node["parts"].items()
    }
    return kind._made(parts, [_value(value) for value in node["meta"]])


def _plain(value: Any) -> Any:
    """A plain value as JSON; floats that JSON has no words for, complex numbers and tuples are lists with a mark."""
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else ["float", repr(value)]
    if type(value) is complex:
        return ["complex", repr(value.real), repr(value.imag)]
    if type(value) is tuple:
        return ["tuple", [_plain(each) for each in value]]
    raise TypeError(type(value).__name__)


def _plain_key(key: Any) -> Any:
    try:
        return _plain(key)
    except TypeError:
        raise TypeError(f"pb.save: {key!r}, a key of a dict, is a {type(key).__name__} and cannot be saved") from None


def _value(plain: Any) -> Any:
    """What `_plain` was given."""
    if not isinstance(plain, list):
        return plain
    kind, *rest = plain
    if kind == "float":
        return float(rest[0])
    return complex(float(rest[0]), float(rest[1])) if kind == "complex" else tuple(_value(each) for each in rest[0])


# And back.


def _parsed(text: str, file: str) -> Any:
    found = json.loads(text)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"pb.load: {file} was written by a version of pb.save that this one does not know")
    return found["tree"]


def _built(node: dict[str, Any], arrays: dict[str, Array], file: str) -> Any:
    """The tree that was described."""
    if "tuple" in node or "list" in node:
        kind = "tuple" if "tuple" in node else "list"
        parts = [_built(part, arrays, file) for part in node[kind]]
        return tuple(parts) if kind == "tuple" else parts
    if "deque" in node:
        return deque([_built(part, arrays, file) for part in node["deque"]], node["maxlen"])
    if "dict" in node or "OrderedDict" in node:
        kind = "dict" if "dict" in node else "OrderedDict"
        items = [(_value(key), _built(part, arrays, file)) for key, part in node[kind]]
        return OrderedDict(items) if kind != "dict" else dict(items[i] for i in node.get("order", range(len(items))))
    if "class" in node or "defaultdict" in node:
        return _object(node, arrays, file)
    return _leaf(node, arrays)


def _object(node: dict[str, Any], arrays: dict[str, Array], file: str) -> Any:
    name = node.get("class", "collections.defaultdict")
    if name.startswith("pullback."):
        import_module(name.rpartition(".")[0])  # which registers its classes
    cls = pytree.registered_name(name)
    if cls is None or "static" not in node or list(pytree.field_names(cls)) != node["fields"]:
        reason = "is not registered" if cls is None else "has other fields, or static ones that are not in the file"
        raise ValueError(
            f"pb.load: {file} has an object of the class {name}, which {reason} in this program; import the module "
            "that registers it, or give a tree with such objects as like="
        )
    return pytree.rebuilt(cls, _value(node["static"]), [_built(part, arrays, file) for part in node["parts"]])


def _leaf(node: dict[str, Any], arrays: dict[str, Array]) -> Any:
    if "payload" in node:
        made = wrap(_built_payload(node["payload"], arrays))
        return made.requires_grad_() if node.get("requires_grad") else made
    if "tensor" in node:
        return _tensor(arrays[node["tensor"]], bool(node.get("requires_grad")))
    if "array" in node:
        return arrays[node["array"]]
    return arrays[node["scalar"]][()] if "scalar" in node else _value(node["value"])


def _tensor(array: Array, requires_grad: bool) -> Tensor:
    made: Tensor = functions["tensor"](array, requires_grad=requires_grad)
    return made


def _leaves(node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The leaves of a described tree, by path."""
    for kind in ("tensor", "array", "scalar"):
        if kind in node:
            yield node[kind], node
            return
    if "value" in node or "payload" in node:
        yield node["path"], node
        return
    for part in _parts(node):
        yield from _leaves(part)


def _parts(node: dict[str, Any]) -> list[dict[str, Any]]:
    for kind in ("dict", "OrderedDict", "defaultdict"):
        if kind in node:
            return [part for _, part in node[kind]]
    return next(node[kind] for kind in ("tuple", "list", "deque", "parts") if kind in node)


def _statics(node: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What the static fields of every object are, by the path of its first leaf and its class."""
    if "static" in node:
        first = next(_leaves(node), None)
        if first is not None:
            yield f"{first[0]} ({node['class'].rpartition('.')[2]})", node["static"]
    if not any(kind in node for kind in ("tensor", "array", "scalar", "value", "payload")):
        for part in _parts(node):
            yield from _statics(part)


def _fitted(node: dict[str, Any], arrays: dict[str, Array], file: str, like: Any, strict: bool) -> Any:
    """The leaves of the file in the containers of `like`."""
    expected, structure = flatten(like)
    names = list(_names(like))
    given = dict(_leaves(node))
    described = _described(like, iter(names), {})
    mine, theirs = dict(_statics(described)), dict(_statics(node))
    report = LoadReport(
        [name for name in names if name not in given],
        [name for name in given if name not in set(names)],
        [f"static fields above {key}: {theirs[key]} in the file, {mine[key]} in like" for key in mine
         if key in theirs and mine[key] != theirs[key]],
    )  # fmt: skip
    leaves = []
    for name, wanted in zip(names, expected, strict=True):
        leaf = _leaf(given[name], arrays) if name in given else wanted
        found, asked = _kind(leaf), _kind(wanted)
        if found != asked:
            report.different.append(f"{name}: {found} in the file, {asked} in like")
        elif name in given and "payload" in given[name]:
            wanted = leaf
        elif name in given and isinstance(wanted, Tensor):
            wanted = _tensor(arrays[next(iter(given[name].values()))], wanted.requires_grad)
        elif name in given:
            is_array = isinstance(wanted, np.ndarray)
            wanted = np.asarray(leaf.detach() if isinstance(leaf, Tensor) else leaf) if is_array else leaf
        leaves.append(wanted)
    if strict and any(report):
        lines = [f"  {kind} {line}" for kind, found in report._asdict().items() for line in found]
        raise ValueError("\n".join([f"pb.load: {file} does not have the leaves of like:", *lines]))
    tree = unflatten(structure, leaves)
    return tree if strict else (tree, report)


def _kind(leaf: Any) -> str:
    """What has to be the same in the file and in `like`: tensors and arrays may stand for each other."""
    if isinstance(leaf, Tensor) and has_kind(leaf._data):
        return f"{type(leaf._data).__name__} {leaf.dtype}{list(leaf.shape)}"
    if isinstance(leaf, Tensor | np.ndarray):
        return f"{leaf.dtype}{list(leaf.shape)}"
    return type(leaf).__name__


# Files.


def write_atomically(path: str, write: Callable[[str], None]) -> None:
    """Let `write` fill a new file beside `path`, and put it in its place when it is on the disk.

    Whoever opens `path` sees the old file or the new one, also if the machine stops in between. A process that is
    killed leaves the new one behind under a name that begins with a dot and ends with `.tmp`.
    """
    folder, name = os.path.split(path)
    new = os.path.join(folder, f".{name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        write(new)
        with open(new, "rb") as file:
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        if os.path.exists(new):
            os.unlink(new)
        raise
    with _folder(folder) as descriptor:
        if descriptor is not None:
            os.fsync(descriptor)  # the name is on the disk as well


@contextmanager
def _folder(path: str) -> Iterator[int | None]:
    """A descriptor of a folder, where the system has such."""
    if not hasattr(os, "O_DIRECTORY"):
        yield None
        return
    descriptor = os.open(path or os.curdir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _npz_writer(arrays: dict[str, Array], text: str) -> Callable[[str], None]:
    def write(path: str) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in [*arrays.items(), (STRUCTURE, np.array(text))]:
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)

    return write


def _read_npz(path: str) -> tuple[dict[str, Array], str | None]:
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    text = arrays.pop(STRUCTURE, None)
    return arrays, None if text is None else str(text)


def _safetensors_writer(arrays: dict[str, Array], text: str) -> Callable[[str], None]:
    module = _safetensors("safetensors.numpy")
    refused = [f"{name} ({array.dtype})" for name, array in arrays.items() if str(array.dtype) not in _IN_SAFETENSORS]
    if refused:
        raise TypeError(f"pb.save: safetensors files have no {', '.join(refused)}; use an .npz file")
    # Contiguous copies: the package writes memory as it lies, whatever the strides say.
    plain = {name: np.array(array, order="C") for name, array in arrays.items()}
    return lambda path: module.save_file(plain, path, metadata={STRUCTURE: text})


def _read_safetensors(path: str) -> tuple[dict[str, Array], str | None]:
    with _safetensors("safetensors").safe_open(path, framework="numpy") as file:
        text = (file.metadata() or {}).get(STRUCTURE)
        return {name: file.get_tensor(name) for name in file.keys()}, text  # noqa: SIM118  (it is no dict)


def _safetensors(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError("files that end with .safetensors need the package: pip install safetensors") from error
