"""Files that outlive the process: nothing that others could have made is read, and nothing hangs a reader."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from multiprocessing import get_context

import pytest

from pullback.core import disk
from pullback.core.disk import has, is_private, keep, read, reason_against, remove, shrink

pytestmark = pytest.mark.skipif(not disk._HAS_RIGHTS, reason="there are no such rights on this system")
MOST = 1 << 20


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "kept"


def test_what_is_kept_is_read(folder):
    assert read(folder, "a.x", MOST) is None and not has(folder, "a.x") and not folder.exists()
    for data in (b"", b"some", os.urandom(100_000)):
        assert keep(folder, "a.x", data) and has(folder, "a.x") and read(folder, "a.x", MOST) == data
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(os.listdir(folder)) == [".key", "a.x"]
    remove(folder, ".x")
    assert os.listdir(folder) == []


# Folders.


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o720, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(folder, mode):
    assert keep(folder, "a.x", b"mine")
    folder.chmod(mode)
    assert read(folder, "a.x", MOST) is None and not has(folder, "a.x") and not is_private(folder)
    assert not keep(folder, "b.x", b"more") and "other users can write" in reason_against(folder)
    remove(folder, ".x")
    folder.chmod(0o700)
    assert read(folder, "a.x", MOST) == b"mine" and not has(folder, "b.x")


@pytest.mark.parametrize("levels", [1, 2, 4])
@pytest.mark.parametrize("mode, is_safe", [(0o777, False), (0o775, False), (0o1777, True), (0o711, True)])
def test_folders_above_are_looked_at(tmp_path, levels, mode, is_safe):
    above = tmp_path / "above"
    folder = above.joinpath(*"abcd"[:levels])
    assert keep(folder, "a.x", b"mine")
    above.chmod(mode)
    assert (read(folder, "a.x", MOST) == b"mine") == is_safe == keep(folder, "b.x", b"more") == is_private(folder)
    assert (reason_against(folder) is None) == is_safe


def test_a_folder_of_another_user_is_not_used(folder, monkeypatch):
    assert keep(folder, "a.x", b"mine")
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    assert read(folder, "a.x", MOST) is None and not keep(folder, "b.x", b"more")
    assert "belongs to another user" in reason_against(folder)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("given", ["folder", "file", "key", "above"])
def test_what_belongs_to_another_user_is_not_read(tmp_path, given):
    folder = tmp_path / "above" / "kept"
    assert keep(folder, "a.x", b"mine")
    place = {"folder": folder, "file": folder / "a.x", "key": folder / ".key", "above": folder.parent}[given]
    os.chown(place, 12345, -1)
    assert read(folder, "a.x", MOST) is None


def test_links_are_not_followed(tmp_path, folder):
    assert keep(tmp_path / "other", "a.x", b"mine")
    folder.symlink_to(tmp_path / "other")
    assert read(folder, "a.x", MOST) is None and not keep(folder, "b.x", b"more")
    folder.unlink()
    assert keep(folder, "b.x", b"mine")
    (folder / "a.x").symlink_to(tmp_path / "other" / "a.x")
    os.replace(tmp_path / "other" / ".key", folder / ".key")
    assert read(folder, "a.x", MOST) is None and not has(folder, "a.x")
    assert keep(folder, "a.x", b"new") and read(folder, "a.x", MOST) == b"new"  # the link goes, not where it leads to
    assert (tmp_path / "other" / "a.x").read_bytes().endswith(b"mine")


def test_links_above_are_resolved_and_where_they_lead_is_looked_at(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert keep(tmp_path / "link" / "kept", "a.x", b"mine")
    assert read(tmp_path / "real" / "kept", "a.x", MOST) == b"mine"
    (tmp_path / "real").chmod(0o777)
    assert read(tmp_path / "link" / "kept", "a.x", MOST) is None


@pytest.mark.parametrize("mask", [0, 0o002, 0o022, 0o077])
def test_what_is_made_is_private_with_any_mask(tmp_path, mask):
    folder = tmp_path / "a" / "b" / "c"
    before = os.umask(mask)
    try:
        assert keep(folder, "a.x", b"mine") and read(folder, "a.x", MOST) == b"mine"
    finally:
        os.umask(before)
    for path in (folder, folder.parent, folder.parent.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in folder.iterdir())


@pytest.mark.parametrize("name", ["/dev/null", "/dev/null/kept", "/proc/self/kept", "/nowhere\0", "/" + "x" * 300])
def test_places_that_are_no_folders_are_no_error(name):
    assert reason_against(name) and not is_private(name)


def test_a_relative_path_in_a_folder_that_is_gone_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert reason_against("kept") and read("kept", "a.x", MOST) is None and not keep("kept", "a.x", b"")


# Files.


def _pipe(path):
    os.mkfifo(path, 0o600)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _sparse(path):
    with open(path, "wb") as file:
        file.truncate(1 << 40)


STRANGE = {
    "a pipe": _pipe,
    "a socket": _socket,
    "a folder": lambda path: path.mkdir(),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "something huge": _sparse,
    "nothing": lambda path: path.write_bytes(b""),
    "others can write to it": lambda path: (path.write_bytes(b"x"), path.chmod(0o666)),
}


@pytest.mark.parametrize("name", ["a.x", ".key"])
@pytest.mark.parametrize("kind", STRANGE)
def test_strange_things_in_a_folder_hang_and_crash_nobody(tmp_path, monkeypatch, kind, name):
    monkeypatch.chdir(tmp_path)  # the name of a socket may not be long
    folder = tmp_path / "k"
    assert keep(folder, "a.x", b"mine")
    (folder / name).unlink()
    monkeypatch.chdir(folder)
    STRANGE[kind](folder / name if kind != "a socket" else type(folder)(name))
    assert read(folder, "a.x", MOST) is None
    kept = keep(folder, "a.x", b"again")
    assert kept == (kind != "a folder") and read(folder, "a.x", MOST) == (b"again" if kept else None)
    shrink(folder, ".x", 0, "b.x", 1)
    remove(folder, ".x")
    assert not kept or os.listdir(folder) == []


def test_a_device_is_not_read(folder):
    assert keep(folder, "a.x", b"mine")
    (folder / "a.x").unlink()
    try:
        os.mknod(folder / "a.x", stat.S_IFCHR | 0o600, os.makedev(1, 5))  # zeros without end
    except PermissionError:
        pytest.skip("devices cannot be made here")
    assert read(folder, "a.x", MOST) is None


DAMAGES = {
    "cut short": lambda data: data[:-1],
    "head alone": lambda data: data[:20],
    "one bit": lambda data: data[:-2] + bytes([data[-2] ^ 1]) + data[-1:],
    "one bit of the seal": lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
    "more": lambda data: data + b" ",
    "no head": lambda data: data[81:],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_thrown_away(folder, name):
    assert keep(folder, "a.x", b"some content")
    path = folder / "a.x"
    path.write_bytes(DAMAGES[name](path.read_bytes()))
    assert read(folder, "a.x", MOST) is None and not path.exists()


def test_what_was_sealed_elsewhere_or_under_another_name_is_nothing(tmp_path, folder):
    assert keep(folder, "a.x", b"mine") and keep(tmp_path / "other", "b.x", b"planted")
    (folder / "b.x").write_bytes((tmp_path / "other" / "b.x").read_bytes())
    (folder / "c.x").write_bytes((folder / "a.x").read_bytes())
    assert [read(folder, f"{name}.x", MOST) for name in "abc"] == [b"mine", None, None]


def test_a_key_that_was_lost_makes_everything_worthless(folder):
    assert keep(folder, "a.x", b"mine")
    (folder / ".key").unlink()
    assert read(folder, "a.x", MOST) is None and keep(folder, "b.x", b"new")
    assert read(folder, "a.x", MOST) is None and read(folder, "b.x", MOST) == b"new"


# Writing.


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("call", ["write", "open", "replace", "mkdir"])
def test_a_system_that_refuses_is_no_error(folder, monkeypatch, call, code):
    original = getattr(os, call)

    def failing(*args, **kwargs):
        if call == "open" and not args[1] & os.O_CREAT:
            return original(*args, **kwargs)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, failing)
    assert not keep(folder, "a.x", b"mine")
    monkeypatch.undo()
    assert not folder.exists() or all(name == ".key" for name in os.listdir(folder))
    assert keep(folder, "a.x", b"mine") and read(folder, "a.x", MOST) == b"mine"


def test_a_disk_that_fills_up_in_the_middle_leaves_nothing(folder, monkeypatch):
    assert keep(folder, "a.x", b"old")
    original, given = os.write, []

    def filling(descriptor, data):
        given.append(1)
        if len(given) > 2:
            raise OSError(errno.ENOSPC, "no space left")
        return original(descriptor, data[:10])

    monkeypatch.setattr(os, "write", filling)
    assert not keep(folder, "a.x", b"new" * 100)
    monkeypatch.undo()
    assert read(folder, "a.x", MOST) == b"old" and sorted(os.listdir(folder)) == [".key", "a.x"]


def test_where_files_have_one_name_only_there_is_a_key_as_well(folder, monkeypatch):
    def failing(*args, **kwargs):
        raise OSError(errno.EPERM, "not here")

    monkeypatch.setattr(os, "link", failing)
    assert keep(folder, "a.x", b"mine") and read(folder, "a.x", MOST) == b"mine"


def test_threads_that_write_at_once_leave_whole_files(folder):
    def work(k):
        for n in range(5):
            keep(folder, f"{n}.x", bytes([k]) * 1000)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = [read(folder, f"{n}.x", MOST) for n in range(5)]
    assert all(data is not None and len(set(data)) == 1 for data in found) and len(os.listdir(folder)) == 6


def _writes(folder, number):
    for n in range(20):
        keep(folder, f"{n}.x", b"same")
        read(folder, f"{n}.x", MOST)
        shrink(folder, ".x", MOST, f"{n}.x", MOST)


def test_processes_that_write_at_once_leave_whole_files(folder):
    context = get_context("fork")
    workers = [context.Process(target=_writes, args=(folder, k)) for k in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(read(folder, f"{n}.x", MOST) == b"same" for n in range(20)) and len(os.listdir(folder)) == 21


# Room.


def test_a_clock_that_was_set_back_does_not_make_new_files_the_oldest(folder):
    future = time.time() + 1e8
    for n in range(4):
        keep(folder, f"{n}.x", b"x" * 1000)
        os.utime(folder / f"{n}.x", (future + n, future + n))
    for n in range(4, 8):
        keep(folder, f"{n}.x", b"x" * 1000)
        shrink(folder, ".x", 4500, f"{n}.x", 1000)
    assert [n for n in range(8) if has(folder, f"{n}.x")] == [4, 5, 6, 7]


def test_what_just_fits_stays(folder):
    for name in ("a.x", "b.x"):
        keep(folder, name, b"x" * 1000)
    size = sum((folder / name).stat().st_size for name in ("a.x", "b.x"))
    shrink(folder, ".x", size, "b.x", 1000)
    assert has(folder, "a.x") and has(folder, "b.x")
    shrink(folder, ".x", size - 1, "b.x", 1000)
    assert not has(folder, "a.x") and has(folder, "b.x")


def test_the_file_that_was_just_written_stays(folder):
    keep(folder, "a.x", b"x" * 1000)
    keep(folder, "b.x", b"x" * 9000)
    os.utime(folder / "b.x", (1, 1))
    shrink(folder, ".x", 4500, "b.x", 9000)
    assert not has(folder, "a.x") and has(folder, "b.x")


def test_a_folder_is_looked_through_when_a_sixteenth_of_its_limit_was_added(folder, monkeypatch):
    looks = []
    names = disk._Open.names
    monkeypatch.setattr(disk._Open, "names", lambda own: looks.append(len(kept)) or names(own))
    kept = []
    for n in range(40):
        keep(folder, f"{n}.x", b"x" * 1000)
        kept.append(n)
        shrink(folder, ".x", 160_000, f"{n}.x", 1000)
    assert looks == [1, 11, 21, 31]


def test_what_a_killed_process_left_goes(folder):
    keep(folder, "a.x", b"x")
    for name, stamp in ((".writing-old", 1), (".writing-new", time.time())):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (stamp, stamp))
    shrink(folder, ".x", MOST, "a.x", 1)
    assert sorted(os.listdir(folder)) == [".key", ".writing-new", "a.x"]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become another user")
def test_what_another_user_plants_in_an_open_folder_is_not_read_later(folder):
    assert keep(folder, "a.x", b"mine")
    folder.chmod(0o777)
    folder.parent.chmod(0o755)
    program = (
        "import os, sys; folder = sys.argv[1]; os.setgid(12345); os.setuid(12345); name = os.path.join(folder, 'b.x')\n"
        "open(name, 'wb').write(b'pullback kept 1\\n' + b'0' * 64 + b'\\nplanted'); os.chmod(name, 0o600)\n"
        "os.unlink(os.path.join(folder, '.key')); open(os.path.join(folder, '.key'), 'w').write('0' * 64)\n"
    )
    # The folders of the tests may be closed to others, who then cannot get here at all.
    subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, timeout=60)
    folder.chmod(0o700)
    assert read(folder, "b.x", MOST) is None
    assert keep(folder, "b.x", b"mine") and read(folder, "b.x", MOST) == b"mine"
