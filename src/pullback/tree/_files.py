"""`pb.save` and `pb.load`: trees in files that are whole or not there, without pickle.

A file has one array for each tensor and array of the tree, under its path, and a text beside them, JSON, that says
which containers there were and which plain numbers. NumPy's own `np.load` reads an `.npz`, and what reads safetensors
reads the other. A folder (`_directory.py`) has the same text, and arrays that several processes write and read. Nothing
in a file is executed: classes are those of `like`, or registered ones of the same name.
"""

from __future__ import annotations

import base64
import json
import math
import os
import zipfile
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from pullback._sites import told
from pullback.core import pytree
from pullback.core.blocks import Block, block_of
from pullback.core.doors import door
from pullback.core.pytree import flatten, unflatten
from pullback.operators import functions
from pullback.payloads.kinds import has_kind
from pullback.payloads.wrapped import Payload
from pullback.payloads.wrapped.payload import subclasses
from pullback.tensors.tensor import Tensor, wrap
from pullback.tree import _directory
from pullback.tree._atomic import write_atomically
from pullback.tree._paths import path_texts

__all__ = ["LoadReport", "load", "save"]

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]
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


@door
def save(path: Path, tree: Any, *, comm: Any = None, keep: int | None = None) -> None:
    """Write a tree of tensors, arrays and plain values into a file, `.npz` or `.safetensors`, or into a folder.

    Without a suffix it is an `.npz`. It is a folder if the path ends with `/` or `.ckpt`, or if `comm` or `keep` is
    given, or a part of the tree is spread over processes. It appears under its name when it is complete: if the program
    is killed on the way, the old state is still there. A tensor's history is not saved; whether it requires grad is,
    and what is in the tree twice is saved once. Plain values are numbers, texts, bytes, None and NumPy's generators.

    With a communicator as `comm`, all its processes call this with the same tree and write a part each; they need a
    disk in common. With `keep`, `path` is a folder of numbered states, of which the last ones are kept.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> pb.save(path, {"layers": [{"w": pb.ones((2, 2))}], "steps": 3})
    >>> sorted(np.load(path))
    ['__structure__', 'layers/0/w']
    >>> pb.load(path)["steps"]
    3
    """
    target, kind = _place(path, tree)
    arrays = _Collected()
    described = _described(tree, _names(tree), arrays)
    spread = [name for name, array in arrays.items() if isinstance(array, Block)]
    if kind == "folder" or comm is not None or keep is not None or spread:
        if kind in _FILES:
            reason = f"{spread[0]} is spread over processes" if spread else "comm= and keep= are for folders"
            raise ValueError(f"pb.save: {reason}, and {os.fspath(path)!r} is one file; use a path that ends with .ckpt")
        _directory.write(_as_folder(path), json.dumps(described), arrays, comm, keep)
        return
    text = json.dumps({"format": FORMAT, "tree": described})
    if kind == ".safetensors":
        write = _safetensors_writer(arrays, text)
    else:
        write = _npz_writer(arrays, text)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        fix = f"make it first: os.makedirs({folder!r})"
        raise told(FileNotFoundError(f"pb.save: there is no folder {folder!r}"), fix=fix)
    write_atomically(target, write)


@door
def load(path: Path, like: Any = None, *, strict: bool = True, comm: Any = None) -> Any:
    """The tree of a file or folder that `save` wrote; arrays come as what they were, tensors or NumPy arrays.

    With `like`, a tree of the structure that is expected, the result has its containers and classes, and its tensors
    require grad where those of `like` do. If paths, shapes or dtypes differ, one error lists all of them; with
    `strict=False` the result is `(tree, report)`, and the tree has the leaves of `like` where the file has no others.
    Without `like`, classes are found by name among those that are registered.

    From a folder, checksums of what is read are compared, and the newest state is read if they are numbered. Where
    `like` has a part of a spread array, that part is read, however many processes wrote it; without `like` spread
    arrays come whole. With `comm`, all its processes raise if one of them cannot read.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> pb.save(path, {"w": pb.ones(2)})
    >>> pb.load(path, like={"w": pb.zeros(2)})
    {'w': tensor([1., 1.])}
    >>> pb.load(path, like={"w": pb.zeros(2), "b": pb.zeros(1)}, strict=False)[1]
    LoadReport(missing=['b'], unexpected=[], different=[])
    """
    if like is None and not strict:
        raise TypeError("pb.load: strict=False compares the file with like=, which was not given")
    target, kind = _place(path)
    folder = _as_folder(path)
    is_file = kind in _FILES or (kind == "" and os.path.isfile(target))
    if not is_file and (kind == "folder" or comm is not None or _directory.is_state(folder)):
        return _directory.read(folder, comm, lambda tree, arrays: _made(tree, arrays, folder, like, strict))
    arrays, text = (_read_safetensors if kind == ".safetensors" else _read_npz)(target)
    if text is None:  # written by somebody else: names and arrays are all there is
        described: Any = {"dict": [[name, {"tensor": name}] for name in arrays]}
    else:
        described = _parsed(text, target)
    return _made(described, arrays, target, like, strict)


def _made(described: Any, arrays: Arrays, file: str, like: Any, strict: bool) -> Any:
    leaves = _Leaves(arrays)
    return _built(described, leaves, file) if like is None else _fitted(described, leaves, file, like, strict)


_FILES = (".npz", ".safetensors")


def _place(path: Path, tree: Any = None) -> tuple[str, str]:
    """Where the file is, and what it is: its suffix, "" if it has none, or "folder"."""
    if not isinstance(path, (str, os.PathLike)):
        is_swapped = isinstance(tree, (str, os.PathLike))
        fix = f"write pb.save({tree!r}, tree): the path comes first" if is_swapped else "give a str or a Path"
        raise told(TypeError(f"pb.save and pb.load take a path first, got a {type(path).__name__}"), fix=fix)
    text = os.fspath(path)
    suffix = os.path.splitext(text)[1]
    if suffix == ".ckpt" or text.endswith(("/", os.sep)):
        return _as_folder(path), "folder"
    if suffix not in ("", *_FILES):
        raise ValueError(f"pb.save and pb.load take .npz and .safetensors files, and .ckpt folders, got {text!r}")
    return os.path.realpath(text if suffix else f"{text}.npz"), suffix


def _as_folder(path: Path) -> str:
    return os.path.realpath(os.fspath(path))


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


class _Collected(dict[str, Any]):
    """Arrays by their names, and parts of spread ones; and under which name something is that is there twice."""

    def __init__(self) -> None:
        self.firsts: dict[int, str] = {}


def _described(tree: Any, names: Iterator[str], arrays: _Collected) -> dict[str, Any]:
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


def _described_leaf(leaf: Any, name: str, arrays: _Collected) -> dict[str, Any]:
    block = block_of(leaf)
    if block is None and isinstance(leaf, Tensor) and has_kind(leaf._data):
        made = {"payload": _described_payload(leaf._data, name, arrays), "path": name}
        return made | {"requires_grad": True} if leaf.requires_grad else made
    if block is not None or isinstance(leaf, Tensor | np.ndarray):
        first = arrays.firsts.setdefault(id(leaf), name)
        also = {} if first == name else {"at": name}
    if block is not None or isinstance(leaf, Tensor):
        if first == name:
            arrays[name] = leaf.detach().numpy() if block is None else block
        flag = leaf.requires_grad if block is None else block.requires_grad
        return {"tensor": first, **({"requires_grad": True} if flag else {}), **also}
    if isinstance(leaf, np.ndarray) and first != name:
        return {"array": first, **also}
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


def _built_payload(node: dict[str, Any], arrays: Arrays) -> Any:
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
    """A plain value as JSON; what JSON has no words for, as complex numbers, tuples or bytes, is a list with a mark."""
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else ["float", repr(value)]
    if type(value) is complex:
        return ["complex", repr(value.real), repr(value.imag)]
    if type(value) is tuple:
        return ["tuple", [_plain(each) for each in value]]
    if type(value) is bytes:
        return ["bytes", base64.b64encode(value).decode("ascii")]
    if type(value) is np.random.Generator:
        return ["generator", _plain_state(value.bit_generator.state)]
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
    if kind == "bytes":
        return base64.b64decode(rest[0])
    if kind == "generator":
        return _generator(_state(rest[0]))
    return complex(float(rest[0]), float(rest[1])) if kind == "complex" else tuple(_value(each) for each in rest[0])


def _plain_state(state: Any) -> Any:
    """The state of a generator: numbers, texts and arrays of whole numbers in dicts."""
    if isinstance(state, dict):
        return {key: _plain_state(value) for key, value in state.items()}
    return ["array", state.dtype.str, state.tolist()] if isinstance(state, np.ndarray) else state


def _state(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _state(value) for key, value in plain.items()}
    return np.array(plain[2], plain[1]) if isinstance(plain, list) else plain


_GENERATORS = {each.__name__: each for each in (
    np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64,
)}  # fmt: skip


def _generator(state: Any) -> np.random.Generator:
    if state["bit_generator"] not in _GENERATORS:
        raise ValueError(f"pb.load: the generator {state['bit_generator']!r} is none of NumPy's")
    made = np.random.Generator(_GENERATORS[state["bit_generator"]]())
    made.bit_generator.state = state
    return made


# And back.


def _parsed(text: str, file: str) -> Any:
    found = json.loads(text)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"pb.load: {file} was written by a version of pb.save that this one does not know")
    return found["tree"]


def _built(node: dict[str, Any], leaves: _Leaves, file: str) -> Any:
    """The tree that was described."""
    if "tuple" in node or "list" in node:
        kind = "tuple" if "tuple" in node else "list"
        parts = [_built(part, leaves, file) for part in node[kind]]
        return tuple(parts) if kind == "tuple" else parts
    if "deque" in node:
        return deque([_built(part, leaves, file) for part in node["deque"]], node["maxlen"])
    if "dict" in node or "OrderedDict" in node:
        kind = "dict" if "dict" in node else "OrderedDict"
        items = [(_value(key), _built(part, leaves, file)) for key, part in node[kind]]
        return OrderedDict(items) if kind != "dict" else dict(items[i] for i in node.get("order", range(len(items))))
    if "class" in node or "defaultdict" in node:
        return _object(node, leaves, file)
    return leaves.leaf(node)


def _object(node: dict[str, Any], leaves: _Leaves, file: str) -> Any:
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
    return pytree.rebuilt(cls, _value(node["static"]), [_built(part, leaves, file) for part in node["parts"]])


class _Leaves:
    """The leaves of a file. What was in the tree twice is the same object in both places."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._made: dict[Any, Any] = {}

    def leaf(self, node: dict[str, Any]) -> Any:
        """A leaf as it was."""
        if "payload" in node:
            made = wrap(_built_payload(node["payload"], self.arrays))
            return made.requires_grad_() if node.get("requires_grad") else made
        if "tensor" in node:
            return self.tensor(node["tensor"], bool(node.get("requires_grad")))
        if "array" in node:
            return self.array(node["array"])
        return self.arrays[node["scalar"]][()] if "scalar" in node else _value(node["value"])

    def tensor(self, name: str, requires_grad: bool) -> Tensor:
        """An array as a tensor."""
        key = ("tensor", name, requires_grad)
        if key not in self._made:
            self._made[key] = _tensor(self.arrays[name], requires_grad)
        made: Tensor = self._made[key]
        return made

    def array(self, name: str) -> Array:
        """An array as it is."""
        if ("array", name) not in self._made:
            self._made["array", name] = self.arrays[name]
        made: Array = self._made["array", name]
        return made

    def like(self, node: dict[str, Any], wanted: Any) -> Any:
        """A leaf in the form that `wanted` has."""
        if "payload" in node:
            return self.leaf(node)
        name = _name(node)
        block = block_of(wanted)
        if block is not None:
            if isinstance(self.arrays, _directory.Stored):
                here = self.arrays.part(name, block.offsets, block.array.shape)
            else:
                part = [slice(low, low + n) for low, n in zip(block.offsets, block.array.shape, strict=True)]
                here = np.array(self.arrays[name][tuple(part)])
            if not isinstance(wanted, Tensor):
                return wanted.__with_block__(here)
            return wrap(wanted._data.__with_block__(here)).requires_grad_(wanted.requires_grad)
        if isinstance(wanted, Tensor):
            return self.tensor(name, wanted.requires_grad)
        return self.array(name) if isinstance(wanted, np.ndarray) else self.leaf(node)

    def kind(self, node: dict[str, Any]) -> str:
        """What a leaf is, in the words of `_kind`; arrays are not read for it."""
        if "tensor" not in node and "array" not in node:
            return _kind(self.leaf(node))
        name = _name(node)
        if isinstance(self.arrays, _directory.Stored):
            shape, dtype = self.arrays.spec(name)
            return f"{dtype}{list(shape)}"
        return _kind(self.arrays[name])


def _name(node: dict[str, Any]) -> str:
    """The name of a leaf's array."""
    name: str = node["tensor"] if "tensor" in node else node["array"] if "array" in node else node.get("scalar", "")
    return name


def _tensor(array: Array, requires_grad: bool) -> Tensor:
    made: Tensor = functions["tensor"](array, requires_grad=requires_grad)
    return made


def _leaves(node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The leaves of a described tree, by path."""
    for kind in ("tensor", "array", "scalar"):
        if kind in node:
            yield node.get("at", node[kind]), node
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


def _fitted(node: dict[str, Any], leaves: _Leaves, file: str, like: Any, strict: bool) -> Any:
    """The leaves of the file in the containers of `like`."""
    expected, structure = flatten(like)
    names = list(_names(like))
    given = dict(_leaves(node))
    described = _described(like, iter(names), _Collected())
    mine, theirs = dict(_statics(described)), dict(_statics(node))
    report = LoadReport(
        [name for name in names if name not in given],
        [name for name in given if name not in set(names)],
        [f"static fields above {key}: {theirs[key]} in the file, {mine[key]} in like" for key in mine
         if key in theirs and mine[key] != theirs[key]],
    )  # fmt: skip
    made = []
    fits = []
    for name, wanted in zip(names, expected, strict=True):
        found, asked = leaves.kind(given[name]) if name in given else "", _kind(wanted)
        if name in given and found != asked:
            report.different.append(f"{name}: {found} in the file, {asked} in like")
        fits.append(found == asked)
    if strict and any(report):
        lines = [f"  {kind} {line}" for kind, found in report._asdict().items() for line in found]
        raise ValueError("\n".join([f"pb.load: {file} does not have the leaves of like:", *lines]))
    for name, wanted, is_fit in zip(names, expected, fits, strict=True):
        made.append(leaves.like(given[name], wanted) if is_fit else wanted)
    tree = unflatten(structure, made)
    return tree if strict else (tree, report)


def _kind(leaf: Any) -> str:
    """What has to be the same in the file and in `like`: tensors and arrays may stand for each other."""
    block = block_of(leaf)
    if block is None and isinstance(leaf, Tensor) and has_kind(leaf._data):
        return f"{type(leaf._data).__name__} {leaf.dtype}{list(leaf.shape)}"
    if isinstance(leaf, Tensor | np.ndarray) or block is not None:
        spec = leaf if block is None else block
        return f"{spec.dtype}{list(spec.shape)}"
    return type(leaf).__name__


# Files.


def _npz_writer(arrays: Arrays, text: str) -> Callable[[str], None]:
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


def _safetensors_writer(arrays: Arrays, text: str) -> Callable[[str], None]:
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
