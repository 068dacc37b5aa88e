"""From text to machine code: one LLVM engine for the process, into which modules are put as object files.

A module's name is a digest of its text, of the processor and of the versions, so equal modules are compiled once, and
object code that an earlier process left on disk can be used as it is (`object_cache`).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import threading
import time
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from pullback.compiler import object_cache
from pullback.compiler.llvm import blas
from pullback.core.reports import report

_lock = threading.RLock()
_known: set[str] = set()  # names of modules
_addresses: dict[str, int] = {}
_engine: Any = None


@functools.cache
def has_libmvec() -> bool:
    """Are there glibc's vector functions, and a processor for them?"""
    _started()
    if not llvm.get_host_cpu_features().get("avx2", False):
        return False
    try:
        llvm.load_library_permanently("libmvec.so.1")
    except (RuntimeError, OSError):
        return False
    return all(llvm.address_of_symbol(name) for name in ("_ZGVdN4v_exp", "_ZGVdN4v_erf", "_ZGVdN4vv_hypot"))


@functools.cache
def _machine(effort: int = 2) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=effort, jit=True,
        codemodel="jitdefault",
    )  # fmt: skip


def _started() -> Any:
    global _engine
    with _lock:
        if _engine is None:
            machine = _machine()
            empty = llvm.parse_assembly("")
            empty.triple = llvm.get_process_triple()
            _engine = llvm.create_mcjit_compiler(empty, machine)
            # Threads may be in its code until the very end, so it is never taken down.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(_engine))
            for name, address in blas.addresses().items():
                llvm.add_symbol(name, address)
        return _engine


@functools.cache
def target_key() -> str:
    """What object code depends on besides the text."""
    features = llvm.get_host_cpu_features().flatten()
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {llvm.get_host_cpu_name()} {features}"


def define_symbol(name: str, address: int) -> None:
    """Let native code call a function by name."""
    llvm.add_symbol(name, address)


def has_symbol(name: str) -> bool:
    """Can native code call a function of this name?"""
    _started()
    return bool(llvm.address_of_symbol(name))


def _name(text: str, effort: int) -> str:
    """The name of a module with this text on this machine."""
    return "pb" + hashlib.sha256(f"{target_key()}\n{effort}\n{text}".encode()).hexdigest()[:32]


def load(
    functions: list[str], externals: dict[str, str], wanted: tuple[str, ...], effort: int = 2
) -> tuple[str, list[int]]:
    """The name of the module with these functions, and the addresses of those that are wanted.

    `NAME` in the text is the name, which makes names of functions unique. Without effort there is one pass and code is
    made in the quickest way, which is right for what runs a few times.
    """
    text = assembled(functions, externals)
    with _lock:
        name = _name(text, effort)
        engine = _started()
        if name not in _known:
            _add(engine, name, text, effort)
            _known.add(name)
        for each in wanted:
            full = f"{name}_{each}"
            if full not in _addresses:
                _addresses[full] = engine.get_function_address(full)
        return name, [_addresses[f"{name}_{each}"] for each in wanted]


def is_made(functions: list[str], externals: dict[str, str], effort: int) -> bool:
    """Is this module known already, in this process or on disk?"""
    name = _name(assembled(functions, externals), effort)
    return name in _known or object_cache.has(name)


def assembled(functions: list[str], externals: dict[str, str]) -> str:
    """The text of a module."""
    tail = ["attributes #0 = { nounwind willreturn memory(none) }", "!0 = !{}"]
    return "\n\n".join([*externals.values(), *functions, *tail]) + "\n"


def _add(engine: Any, name: str, text: str, effort: int) -> None:
    began = time.perf_counter()
    code = object_cache.read(name)
    from_disk = code is not None
    if code is None:
        code = _compiled(text.replace("NAME", name), name, effort)
        object_cache.write(name, code)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    how = "from disk" if from_disk else "compiled"
    report(f"module {name[:8]} {how} in {1e3 * (time.perf_counter() - began):.1f} ms")


_PASSES = (
    "always_inliner", "sroa", "instruction_combine", "new_gvn", "dead_store_elimination", "simplify_cfg",
    "aggressive_dce",
)  # fmt: skip
_QUICK_PASSES = ("sroa",)


def optimised(text: str, effort: int = 2) -> Any:
    """The module after the light passes; without effort, only variables leave memory."""
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    builder = llvm.create_pass_builder(_machine(), llvm.create_pipeline_tuning_options(speed_level=2))
    passes = llvm.create_new_module_pass_manager()
    for name in _PASSES if effort else _QUICK_PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)
    return module


def _compiled(text: str, name: str, effort: int) -> bytes:
    began = time.perf_counter()
    module = optimised(text, effort)
    middle = time.perf_counter()
    code: bytes = _machine(effort).emit_object(module)
    passes, code_time = 1e3 * (middle - began), 1e3 * (time.perf_counter() - middle)
    report(f"module {name[:8]} effort {effort}: passes {passes:.1f} ms, code {code_time:.1f} ms")
    return code


def assembly_of(text: str) -> str:
    """The machine code of a module, for people to read."""
    with _lock:
        _started()
        listing: str = _machine().emit_assembly(optimised(text))
        return listing


if hasattr(os, "register_at_fork"):
    # A child process can not compile if another thread was compiling when it was made: LLVM's locks stay locked there.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
