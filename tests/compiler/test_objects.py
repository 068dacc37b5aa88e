"""Object code linked without LLVM: it runs, and what is unknown is left to LLVM."""

from __future__ import annotations

import ctypes
import platform
import struct
import subprocess
import sys

import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

from pullback.compiler.machine import engine, jit, symbols
from pullback.compiler.machine.objects import NotLinked, link

CAN_LINK = sys.platform == "linux" and platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(not CAN_LINK, reason="objects are linked by LLVM here")

TEXT = """
@counter = global i64 40
@zeros = global [1000 x i64] zeroinitializer, align 64
@table = constant [2 x ptr] [ptr @counter, ptr @twice]
declare double @cos(double)

define i64 @count() {
  %before = load i64, ptr @counter
  %after = add i64 %before, 2
  store i64 %after, ptr @counter
  ret i64 %after
}
define i64 @twice(i64 %x) {
  %y = shl i64 %x, 1
  ret i64 %y
}
define i64 @by_table(i64 %x) {
  %place = getelementptr ptr, ptr @table, i64 1
  %function = load volatile ptr, ptr %place
  %y = call i64 %function(i64 %x)
  ret i64 %y
}
define double @cosine(double %x) {
  %y = call double @cos(double %x)
  %z = fadd double %y, 0.125
  ret double %z
}
define ptr @place_of_zeros() {
  ret ptr @zeros
}
"""
INTEGER = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
REAL = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


@pytest.fixture(scope="module")
def code():
    return engine.compiled(TEXT, "of a test", 2)


def test_functions_variables_and_tables_are_where_they_should_be(code):
    found = link(code, symbols.address_of)
    count = ctypes.CFUNCTYPE(ctypes.c_int64)(found["count"])
    assert (count(), count()) == (42, 44)
    assert INTEGER(found["by_table"])(21) == 42
    assert REAL(found["cosine"])(0.0) == 1.125
    place = ctypes.CFUNCTYPE(ctypes.c_void_p)(found["place_of_zeros"])()
    assert place == found["zeros"] and place % 64 == 0
    assert not any((ctypes.c_int64 * 1000).from_address(place))


def test_modules_share_no_variables(code):
    modules = [link(code, symbols.address_of) for _ in range(2)]
    first, second = (ctypes.CFUNCTYPE(ctypes.c_int64)(module["count"]) for module in modules)
    assert (first(), first(), second()) == (42, 44, 42)


def test_a_function_that_is_nowhere_is_refused(code):
    with pytest.raises(NotLinked, match="unknown"):
        link(code, lambda name: 0)


def test_code_is_not_writeable(code):
    module = link(code, symbols.address_of)
    address = module["twice"]
    with open("/proc/self/maps", encoding="utf-8") as file:
        lines = [line.split() for line in file]
    rights = [line[1] for line in lines if int(line[0].split("-")[0], 16) <= address < int(line[0].split("-")[1], 16)]
    assert rights == ["r-xp"]


def changed(code, offset, layout, value):
    data = bytearray(code)
    struct.pack_into(layout, data, offset, value)
    return bytes(data)


@pytest.mark.parametrize("beginning", [b"", b"\xcf\xfa\xed\xfe", b"MZ"], ids=["empty", "mach", "pe"])
def test_other_kinds_of_files_are_refused(beginning):
    with pytest.raises(NotLinked, match="ELF"):
        link(beginning + bytes(100 * len(beginning)), symbols.address_of)


def test_other_processors_are_refused(code):
    with pytest.raises(NotLinked, match="ELF"):
        link(changed(code, 18, "<H", 183), symbols.address_of)


def test_variables_of_threads_are_refused():
    text = "@x = thread_local global i64 1\ndefine ptr @f() {\n  ret ptr @x\n}\n"
    with pytest.raises(NotLinked, match="section"):
        link(engine.compiled(text, "of a test", 2), lambda name: 1)


def test_places_of_an_unknown_kind_are_refused(code):
    def kinds(sections):
        for section in sections:
            if section[1] == 4:
                yield from range(section[4] + 8, section[4] + section[5], 24)

    (start,), (count,) = struct.unpack_from("<Q", code, 0x28), struct.unpack_from("<H", code, 0x3C)
    sections = list(struct.iter_unpack("<IIQQQQIIQQ", code[start : start + 64 * count]))
    for offset in kinds(sections):
        code = changed(code, offset, "<I", 2)  # the distance in 32 bits, which is not enough to reach any library
    with pytest.raises(NotLinked, match="kind 2"):
        link(code, symbols.address_of)


def test_what_is_not_linked_here_is_linked_by_llvm(monkeypatch):
    def refused(code, address_of):
        raise NotLinked("a test")

    monkeypatch.setattr(jit, "link", refused)
    module = link(engine.compiled(TEXT, "of a test", 2), symbols.address_of)
    symbols.define("pullback_test_symbol", module["twice"])
    text = """declare i64 @pullback_test_symbol(i64)
define i64 @NAME_four(i64 %x) {
  %y = call i64 @pullback_test_symbol(i64 %x)
  %z = call i64 @pullback_test_symbol(i64 %y)
  ret i64 %z
}"""
    _, (four,) = jit.load([text], {}, ("four",))
    assert INTEGER(four)(5) == 20
    assert jit.load([text], {}, ("four",))[1] == [four]


PROGRAM = """
import numpy as np, pullback as pb
from pullback.compiler.machine import jit
from pullback.compiler.machine.objects import NotLinked

def refused(code, address_of):
    raise NotLinked("a test")

jit.link = refused
x = np.linspace(0.1, 2.0, 9)
for f in (pb.exp, pb.cos, pb.log, pb.tanh, pb.softplus, pb.arctan, lambda x: pb.hypot(x, x + 1)):
    for dtype in ("float64", "float32"):
        given = pb.tensor(x.astype(dtype))
        found = pb.compile(f, backend="llvm", fallback="raise")(given)
        np.testing.assert_allclose(found.numpy(), f(given).numpy(), rtol=1e-5)
print("done")
"""


def test_llvm_finds_the_vector_functions_that_nobody_has_asked_for():
    """In a process of its own, which LLVM ends if it misses one."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr
