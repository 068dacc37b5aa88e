"""State in a folder: a manifest, and one file of arrays for every process that wrote.

    state/manifest.json     the tree, where each array or part of one lies, checksums, versions
    state/arrays-0000.npys  arrays of process 0: pieces in the form of `.npy`, which begin at multiples of 64 bytes

A folder is complete if it has a manifest, which is written last. It is filled under another name, `state.tmp-...`, and
renamed in the end; what was there before is renamed to `state.old-...`, and removed. If a process is killed between the
two, `read` finds the new one under its first name. Nothing is pickled.

With a communicator all processes write together. Arrays that all of them have are written by one each; parts of spread
arrays (`core/blocks.py`) by one of those who have them. Reading takes from the files what overlaps with the parts that
are wanted, however many processes wrote them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import shutil
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pullback.core.blocks import Block
from pullback.errors import CheckpointFileError
from pullback.tree._atomic import sync_folder, write_atomically

Array = np.ndarray[Any, Any]

MANIFEST = "manifest.json"
FORMAT = 1
_ALIGNED = 64
_CHUNK = 1 << 22  # bytes that are read at once for a checksum

reached: Callable[[str], None] = lambda point: None
"""Called at the points between which a process may be killed; tests do so there."""


class Alone:
    """The communicator of one process."""

    rank, size = 0, 1

    def gather_objects(self, value: Any) -> list[Any]:
        """What every process gave."""
        return [value]


# Writing.


def write(path: str, tree: str, arrays: Mapping[str, Any], comm: Any, keep: int | None) -> None:
    """Write a described tree and its arrays, which are whole or `Block`s, into the folder `path`.

    With `keep`, `path` is a folder of such folders, numbered, of which the last ones are kept.
    """
    comm = Alone() if comm is None else comm
    if keep is not None and not (isinstance(keep, int) and keep > 0):
        raise ValueError(f"pb.save: keep must be None or greater than 0, got {keep!r}")
    mine = {name: _about(array, comm.size > 1) for name, array in arrays.items()}
    everybody = comm.gather_objects((_digest(tree.encode()), mine, os.urandom(4).hex()))
    owners = _shared_out(everybody)  # raises the same everywhere
    target = _numbered(path, comm) if keep is not None else path
    new = f"{target}.tmp-{everybody[0][2]}"
    file = f"arrays-{comm.rank:04d}.npys"

    def fill() -> dict[str, Any]:
        os.makedirs(new, exist_ok=True)
        reached("begun")
        mine = {name: array for name, array in arrays.items() if owners[name].get(_place(array)) == comm.rank}
        return _write_arrays(os.path.join(new, file), file, mine)

    try:
        parts = _together(comm, fill)
    except BaseException:
        if comm.rank == 0:
            shutil.rmtree(new, ignore_errors=True)
        raise
    reached("arrays")

    def finish() -> None:
        if comm.rank == 0:
            _write_manifest(new, tree, parts, comm.size)
            reached("manifest")
            _put_in_place(new, target)
            _remove_others(path, target, keep)

    _together(comm, finish)


def _about(array: Any, is_compared: bool) -> Any:
    """What others have to know of an array: of a part of one, where it lies; of a whole one, a checksum."""
    if isinstance(array, Block):
        return "block", array.shape, _dtype_text(array.dtype), array.offsets, array.array.shape, array.dtype.itemsize
    checksum = _digest(np.ascontiguousarray(array).reshape(-1).view(np.uint8)) if is_compared else ""
    return "whole", array.shape, _dtype_text(array.dtype), checksum, array.nbytes


def _place(array: Any) -> Any:
    return (array.offsets, array.array.shape) if isinstance(array, Block) else None


def _digest(data: Any) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _shared_out(everybody: list[Any]) -> dict[str, dict[Any, int]]:
    """Which process writes each array, or each part of it: those who have least to do so far."""
    tree, first, _ = everybody[0]
    for rank, (other, mine, _) in enumerate(everybody):
        if other != tree or mine.keys() != first.keys():
            raise ValueError(
                f"pb.save: the trees of processes 0 and {rank} differ, in structure or in plain values; save what "
                "differs by process as a Block, or under a path of its own without comm="
            )
    load = [0] * len(everybody)
    owners: dict[str, dict[Any, int]] = {}
    for name in first:
        told = [mine[name] for _, mine, _ in everybody]
        if len({each[:3] for each in told}) > 1:
            raise ValueError(f"pb.save: {name} has another shape or dtype on process 0 than on others: {told}")
        owners[name] = {}
        if told[0][0] == "whole":
            if len({each[3] for each in told}) > 1:
                raise ValueError(
                    f"pb.save: {name} has other values on process 0 than on others; save parts of a spread array as "
                    "Blocks, or make them equal first"
                )
            owners[name][None] = _give(load, range(len(load)), told[0][4])
            continue
        holders: dict[Any, list[int]] = {}
        for rank, each in enumerate(told):
            holders.setdefault((each[3], each[4]), []).append(rank)
        _check_tiles(name, told[0][1], list(holders))
        for place, ranks in holders.items():
            owners[name][place] = _give(load, ranks, told[0][5] * int(np.prod(place[1], dtype=np.int64)))
    return owners


def _give(load: list[int], ranks: Any, size: int) -> int:
    rank = min(ranks, key=lambda each: (load[each], each))
    load[rank] += size + 1
    return int(rank)


def _check_tiles(name: str, shape: tuple[int, ...], places: list[Any]) -> None:
    """Raise unless parts cover the whole, each element once."""
    filled = [(offsets, extents) for offsets, extents in places if 0 not in extents]
    counted = sum(int(np.prod(extents, dtype=np.int64)) for _, extents in filled)
    lows = np.array([offsets for offsets, _ in filled]).reshape(len(filled), len(shape))
    highs = lows + np.array([extents for _, extents in filled]).reshape(len(filled), len(shape))
    overlaps = any(
        ((lows[k] < highs[k + 1 :]) & (lows[k + 1 :] < highs[k])).all(axis=1).any() for k in range(len(filled))
    )
    if overlaps or counted != int(np.prod(shape, dtype=np.int64)):
        what = "overlap" if overlaps else "do not cover all of it"
        raise ValueError(f"pb.save: the blocks of {name}, an array of shape {list(shape)}, {what}")


def _write_arrays(path: str, file: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Write arrays one after the other, and tell where they are."""
    told: dict[str, Any] = {}
    with open(path, "wb") as out:
        for name, array in arrays.items():
            part = array.array if isinstance(array, Block) else array
            out.write(b"\0" * (-out.tell() % _ALIGNED))
            at = out.tell()
            writer = _Counting(out)
            np.lib.format.write_array(writer, np.asarray(part, order="C"), allow_pickle=False)
            told[name] = {
                "shape": list(array.shape), "dtype": _dtype_text(array.dtype), "file": file, "at": at,
                "bytes": out.tell() - at, "checksum": writer.checksum(), "extents": list(part.shape),
                "offsets": list(array.offsets) if isinstance(array, Block) else [0] * part.ndim,
            }  # fmt: skip
        reached("written")
        out.flush()
        os.fsync(out.fileno())
    return told


class _Counting:
    """A file that makes the checksum of what is written."""

    def __init__(self, file: Any) -> None:
        self._file, self._hash = file, hashlib.blake2b(digest_size=16)

    def write(self, data: Any) -> int:
        """Write, and count it."""
        self._hash.update(data)
        return int(self._file.write(data))

    def checksum(self) -> str:
        """Of all that was written."""
        return self._hash.hexdigest()


def _write_manifest(folder: str, tree: str, parts: list[dict[str, Any]], size: int) -> None:
    arrays: dict[str, Any] = {}
    for told in parts:
        for name, part in told.items():
            whole = {"shape": part.pop("shape"), "dtype": part.pop("dtype"), "parts": []}
            arrays.setdefault(name, whole)["parts"].append(part)
    about = {"format": FORMAT, "processes": size, "numpy": np.__version__, "python": platform.python_version()}
    text = json.dumps(about | {"arrays": arrays, "tree": json.loads(tree)})
    sealed = json.dumps({"checksum": _digest(text.encode()), "state": text})

    def store(path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(sealed)

    write_atomically(os.path.join(folder, MANIFEST), store)


def _put_in_place(new: str, target: str) -> None:
    old = f"{target}.old-{os.urandom(4).hex()}"
    if os.path.lexists(target):
        os.rename(target, old)
        reached("moved")
    os.rename(new, target)
    sync_folder(os.path.dirname(target))
    reached("placed")


def _remove_others(path: str, target: str, keep: int | None) -> None:
    """What is not needed any more, and what earlier processes left when they were killed."""
    folder, name = os.path.split(target)
    for each in os.listdir(folder):
        if re.fullmatch(re.escape(name) + r"\.(old|tmp)-[0-9a-f]{8}", each):
            shutil.rmtree(os.path.join(folder, each), ignore_errors=True)
    if keep is not None:
        complete = [f"{k:08d}" for k in _numbers(path) if os.path.exists(os.path.join(path, f"{k:08d}", MANIFEST))]
        for each in os.listdir(path):
            if re.match(r"\d{8}(\.|$)", each) and each not in complete[-keep:]:
                shutil.rmtree(os.path.join(path, each), ignore_errors=True)


def _numbered(path: str, comm: Any) -> str:
    """The next name in a folder of numbered folders."""

    def make() -> int:
        if comm.rank == 0:
            os.makedirs(path, exist_ok=True)
            if os.path.exists(os.path.join(path, MANIFEST)):
                raise FileExistsError(f"pb.save: {path} has a state of its own, and keep= puts numbered ones into it")
        return (_numbers(path) or [0])[-1] + 1 if comm.rank == 0 else 0

    return os.path.join(path, f"{_together(comm, make)[0]:08d}")


def _numbers(path: str) -> list[int]:
    found = [name.partition(".")[0] for name in os.listdir(path)] if os.path.isdir(path) else []
    return sorted({int(name) for name in found if re.fullmatch(r"\d{8}", name)})


def _together(comm: Any, work: Callable[[], Any]) -> list[Any]:
    """What the work gives on every process; if it fails on one, all of them raise."""
    result, error = None, None
    try:
        result = work()
    except (OSError, ValueError, TypeError) as raised:
        error = raised
    told = comm.gather_objects((result, None if error is None else f"{type(error).__name__}: {error}"))
    if error is not None:
        raise error
    for rank, (_, text) in enumerate(told):
        if text is not None:
            raise CheckpointFileError(f"process {rank} could not do its part: {text}")
    return [result for result, _ in told]


# Reading.


def is_state(path: str) -> bool:
    """Is there a folder with state, or something that was to become one?"""
    return os.path.isdir(path) or _left_over(path) is not None


def read(path: str, comm: Any, build: Callable[[Any, Stored], Any]) -> Any:
    """What `build(tree, arrays)` makes of the state in a folder; if one process fails, all do."""
    comm = Alone() if comm is None else comm

    def work() -> Any:
        folder = _newest(path)
        state = _manifest(folder)
        return build(state["tree"], Stored(folder, state["arrays"]))

    if comm.size == 1:
        return work()
    made: list[Any] = []
    _together(comm, lambda: made.append(work()))
    return made[0]


def _newest(path: str) -> str:
    """The folder that has the state."""
    if os.path.exists(os.path.join(path, MANIFEST)):
        return path
    for number in reversed(_numbers(path)):
        folder = os.path.join(path, f"{number:08d}")
        if os.path.exists(os.path.join(folder, MANIFEST)):
            return folder
        found = _left_over(folder)
        if found is not None:
            return found
    found = _left_over(path)
    if found is None:
        raise CheckpointFileError(f"pb.load: {path} has no {MANIFEST}: nothing was saved there, or not completely")
    return found


def _left_over(path: str) -> str | None:
    """What a process left that was killed between two renames: the new state, or else the old one."""
    folder, name = os.path.split(path)
    for kind in ("tmp", "old"):
        pattern = re.escape(name) + rf"\.{kind}-[0-9a-f]{{8}}"
        for each in sorted(os.listdir(folder or os.curdir)) if os.path.isdir(folder or os.curdir) else ():
            if re.fullmatch(pattern, each) and os.path.exists(os.path.join(folder, each, MANIFEST)):
                return os.path.join(folder, each)
    return None


def _manifest(folder: str) -> Any:
    file = os.path.join(folder, MANIFEST)
    try:
        with open(file, encoding="utf-8") as opened:
            sealed = json.load(opened)
        text = sealed["state"]
        is_sound = _digest(text.encode()) == sealed["checksum"]
        state = json.loads(text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointFileError(f"pb.load: {file} is damaged: {error}") from error
    if not is_sound:
        raise CheckpointFileError(f"pb.load: {file} is damaged: its checksum is another one")
    if state.get("format") != FORMAT:
        raise CheckpointFileError(f"pb.load: {file} was written by a version of pb.save that this one does not know")
    return state


class Stored(Mapping[str, Array]):
    """The arrays of a state, read when they are asked for."""

    def __init__(self, folder: str, arrays: dict[str, Any]) -> None:
        self._folder, self._arrays = folder, arrays
        self._checked: set[tuple[str, int]] = set()

    def __len__(self) -> int:
        return len(self._arrays)

    def __iter__(self) -> Any:
        return iter(self._arrays)

    def spec(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and dtype of an array, which is not read."""
        about = self._arrays[name]
        dtype = _as_dtype(about["dtype"])
        if dtype.hasobject:  # which only pickle reads
            raise CheckpointFileError(f"pb.load: {name} in {self._folder} is an array of Python objects: not ours")
        return tuple(about["shape"]), dtype

    def __getitem__(self, name: str) -> Array:
        shape, _ = self.spec(name)
        return self.part(name, (0,) * len(shape), shape)

    def part(self, name: str, offsets: tuple[int, ...], extents: tuple[int, ...]) -> Array:
        """What lies at `offsets`, from the files that have it."""
        _, dtype = self.spec(name)
        result: Array = np.empty(extents, dtype)
        for about in self._arrays[name]["parts"]:
            low = [max(a, b) for a, b in zip(offsets, about["offsets"], strict=True)]
            high = [
                min(a + m, b + n)
                for a, m, b, n in zip(offsets, extents, about["offsets"], about["extents"], strict=True)
            ]
            if all(a < b for a, b in zip(low, high, strict=True)):
                there = tuple(slice(a - o, b - o) for a, b, o in zip(low, high, about["offsets"], strict=True))
                here = tuple(slice(a - o, b - o) for a, b, o in zip(low, high, offsets, strict=True))
                result[here] = self._piece(name, about, dtype)[there]
        return result

    def _piece(self, name: str, about: dict[str, Any], dtype: np.dtype[Any]) -> Array:
        """A piece of a file as a map of memory, once its checksum was found right."""
        path = os.path.join(self._folder, os.path.basename(about["file"]))
        try:
            with open(path, "rb") as file:
                self._check(name, file, path, about)
                file.seek(about["at"])
                if np.lib.format.read_magic(file) == (1, 0):
                    shape, _, found = np.lib.format.read_array_header_1_0(file)
                else:
                    shape, _, found = np.lib.format.read_array_header_2_0(file)
                begins = file.tell()
                if list(shape) != about["extents"] or found != dtype:
                    raise CheckpointFileError(f"pb.load: {path} is damaged: {name} is {found}{list(shape)} in it")
                if 0 in shape or not shape:
                    flat: Array = np.frombuffer(file.read(dtype.itemsize if not shape else 0), dtype)
                    return flat.reshape(shape)
            return np.memmap(path, dtype, "r", begins, tuple(shape))
        except FileNotFoundError as error:
            raise CheckpointFileError(f"pb.load: {path}, which has {name}, is missing") from error

    def _check(self, name: str, file: io.BufferedReader, path: str, about: dict[str, Any]) -> None:
        if (about["file"], about["at"]) in self._checked:
            return
        file.seek(about["at"])
        left, found = about["bytes"], hashlib.blake2b(digest_size=16)
        while left:
            data = file.read(min(left, _CHUNK))
            if not data:
                raise CheckpointFileError(f"pb.load: {path} is damaged: it ends {left} bytes too early, within {name}")
            found.update(data)
            left -= len(data)
        if found.hexdigest() != about["checksum"]:
            raise CheckpointFileError(f"pb.load: {path} is damaged: the checksum of {name} is another one")
        self._checked.add((about["file"], about["at"]))


def _dtype_text(dtype: np.dtype[Any]) -> Any:
    """A dtype as JSON has it: what the header of an `.npy` says."""
    described = np.lib.format.dtype_to_descr(dtype)
    return described if isinstance(described, str) else json.dumps(described)


def _as_dtype(text: str) -> np.dtype[Any]:
    if not text.startswith("["):
        return np.dtype(text)
    found: np.dtype[Any] = np.lib.format.descr_to_dtype(_as_descriptor(json.loads(text)))
    return found


def _as_descriptor(described: Any) -> Any:
    """JSON has lists where NumPy wants tuples."""
    if not isinstance(described, list):
        return described
    return [
        tuple(tuple(item) if k == 2 else _as_descriptor(item) for k, item in enumerate(field)) for field in described
    ]
