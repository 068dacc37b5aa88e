"""From text to machine code: one LLVM engine for the process, into which modules are put as object files.

A module's name is a digest of its text, of the processor and of the versions, so equal modules are compiled once, and
object code that an earlier process left on disk can be used as it is (`object_cache`).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import os
import threading
import time
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from pullback.compiler import object_cache
from pullback.compiler.llvm import blas

log = logging.getLogger("pullback.compile")
_lock = threading.RLock()
_addresses: dict[str, int] = {}
_engine: Any = None


def is_logging() -> bool:
    """Does `PULLBACK_LOG=compile` ask for a report?"""
    return "compile" in os.environ.get("PULLBACK_LOG", "").split(",")


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


def digest(text: str) -> str:
    """The name of a module with this text on this machine."""
    return "pb" + hashlib.sha256(f"{target_key()}\n{text}".encode()).hexdigest()[:32]


def load(
    functions: list[str], externals: dict[str, str], wanted: tuple[str, ...], effort: int = 2
) -> tuple[str, list[int]]:
    """The name of the module with these functions, and the addresses of those that are wanted.

    `NAME` in the text is the name, which makes names of functions unique. Without effort there are no passes and code
    is made in the quickest way, which is right for what runs once.
    """
    text = assembled(functions, externals)
    with _lock:
        name = digest(f"{effort}\n{text}")
        engine = _started()
        if f"{name}_{wanted[0]}" not in _addresses:
            _add(engine, name, text, effort)
        for each in wanted:
            full = f"{name}_{each}"
            if full not in _addresses:
                _addresses[full] = engine.get_function_address(full)
        return name, [_addresses[f"{name}_{each}"] for each in wanted]


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
    if is_logging():
        how = "from disk" if from_disk else "compiled"
        print(f"pullback compile: module {name[:8]} {how} in {1e3 * (time.perf_counter() - began):.1f} ms")


def optimised(text: str) -> Any:
    """The module after the light passes."""
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(_machine(), options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
    passes.add_dead_store_elimination_pass()
    passes.add_simplify_cfg_pass()
    passes.add_aggressive_dce_pass()
    passes.run(module, builder)
    return module


def _compiled(text: str, name: str, effort: int) -> bytes:
    began = time.perf_counter()
    module = optimised(text) if effort else llvm.parse_assembly(text)
    middle = time.perf_counter()
    code: bytes = _machine(effort).emit_object(module)
    if is_logging():
        passes, code_time = 1e3 * (middle - began), 1e3 * (time.perf_counter() - middle)
        print(f"pullback compile: module {name[:8]} passes {passes:.1f} ms, code {code_time:.1f} ms")
    return code


def assembly_of(text: str) -> str:
    """The machine code of a module, for people to read."""
    with _lock:
        _started()
        listing: str = _machine().emit_assembly(optimised(text))
        return listing
