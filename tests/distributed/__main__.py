"""Run the numbered cases on ranks that are processes: `python -m tests.distributed [--ranks 4] [-k word]`.

One launch of `mpiexec` per file and number of ranks; every rank writes one line of JSON per case to a scratch folder,
and a case passes if all ranks say so. Cases that end their launch by a fault have one of their own each: files
`faults_*.py`, whose functions name what must be seen in the output, and with which code it ends.
"""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUSY = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # how long ranks may wait for the processor
LAUNCH_SECONDS = 90 * BUSY


def launcher(library):
    """The command that starts ranks, up to their number."""
    beside = Path(sys.executable).with_name("mpiexec")
    command = [str(beside) if beside.exists() else "mpiexec"]
    if library == "mpich":
        return [*command, "-bind-to", "none"]
    command += ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    return command + (["--allow-run-as-root"] if os.getuid() == 0 else [])


def environment():
    own = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PULLBACK_NUM_THREADS": "1", "OMPI_MCA_osc": "^ucx"}
    return {**os.environ, **own, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}


def launch(library, ranks, arguments, more=()):
    """Exit code and output of a launch; its whole group is ended if it takes too long."""
    command = [*launcher(library), "-n", str(ranks), sys.executable, "-m", "tests.distributed", *arguments]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment() | dict(more), stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(LAUNCH_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = "took too long"
        output.seek(0)
        return code, output.read()


def names_in(module):
    return sorted(name for name in vars(module) if name.startswith("case_"))


# Inside of a launch.


def run_file(name, scratch, word):
    """Every rank: all cases of a file, with one line of JSON each."""
    from pullback import distributed as dist

    module = importlib.import_module(f"tests.distributed.{name}")
    comm = dist.init() if getattr(module, "INITIALISES", False) else dist.init(timeout=20.0 * BUSY)
    with open(Path(scratch) / f"{name}-{comm.size}-{comm.rank}.jsonl", "w") as lines:
        for case in names_in(module):
            if word not in case:
                continue
            began, error, remark = time.perf_counter(), "", None
            try:
                remark = getattr(module, case)()  # what a reader of the output should know
            except Exception:
                error = traceback.format_exc()
            record = {"case": case, "error": error, "seconds": time.perf_counter() - began, "remark": remark}
            print(json.dumps(record), file=lines, flush=True)
            if error:
                raise SystemExit(1)  # the ranks are in different places now


def run_fault(name, case):
    """Every rank: a program that ends by a fault."""
    getattr(importlib.import_module(f"tests.distributed.{name}"), case)()


# Outside.


def files(prefix):
    return sorted(path.stem for path in HERE.glob(f"{prefix}_*.py"))


def check_cases(library, only_ranks, word):
    """(name, problem or "") of every case of the files `cases_*`."""
    for name in files("cases"):
        module = importlib.import_module(f"tests.distributed.{name}")
        wanted = [case for case in names_in(module) if word in case]
        for ranks in getattr(module, "ALSO_RANKS", ()) + (module.RANKS,):
            if not wanted or (only_ranks and ranks != only_ranks):
                continue
            with tempfile.TemporaryDirectory() as scratch:
                own = getattr(module, "ENVIRONMENT", {})
                code, output = launch(library, ranks, ["--inside", name, scratch, word], own)
                lines = {
                    rank: [json.loads(line) for line in path.read_text().splitlines()]
                    for rank in range(ranks)
                    if (path := Path(scratch) / f"{name}-{ranks}-{rank}.jsonl").exists()
                }
            for case in wanted:
                said = {rank: [x for x in found if x["case"] == case] for rank, found in lines.items()}
                errors = [f"rank {r}: {x['error']}" for r, found in said.items() for x in found if x["error"]]
                missing = [rank for rank in range(ranks) if not said.get(rank)]
                problem = errors[0] if errors else ""
                if missing and not problem:
                    problem = f"ranks {missing} said nothing; the launch ended with {code}\n{output[-3000:]}"
                seconds = max((x["seconds"] for found in said.values() for x in found), default=0.0)
                remarks = {x["remark"]: None for found in said.values() for x in found if x["remark"]}
                yield "\n          ".join([f"{case} on {ranks} ranks", *remarks]), problem, seconds


def check_faults(library, only_ranks, word):
    """The same of the files `faults_*`: what a launch must print, and how it must end. Two at a time, as they wait."""

    def check(name, module, case):
        began = time.perf_counter()
        code, output = launch(library, module.RANKS, ["--fault", name, case])
        problem = module.EXPECTED[case](code, output)
        seen = f"\nexit code {code}\n{output[-4000:]}"
        return f"{case} on {module.RANKS} ranks", problem and problem + seen, time.perf_counter() - began

    modules = {name: importlib.import_module(f"tests.distributed.{name}") for name in files("faults")}
    with ThreadPoolExecutor(2) as pool:
        launches = [
            pool.submit(check, name, module, case)
            for name, module in modules.items()
            for case in names_in(module)
            if word in case and only_ranks in (None, module.RANKS)
        ]
        yield from (each.result() for each in launches)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.distributed")
    parser.add_argument("--mpi", choices=("openmpi", "mpich", "both"), default="openmpi")
    parser.add_argument("--ranks", type=int, help="only launches with so many ranks")
    parser.add_argument("-k", default="", metavar="WORD", help="only cases with this in their name")
    parser.add_argument("--inside", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--fault", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return run_file(*given.inside)
    if given.fault:
        return run_fault(*given.fault)
    began, failed, count = time.perf_counter(), [], 0
    for library in ("openmpi", "mpich") if given.mpi == "both" else (given.mpi,):
        for check in (check_cases, check_faults):
            for name, problem, seconds in check(library, given.ranks, given.k):
                count += 1
                print(f"{'FAILED' if problem else 'ok':6} {seconds:6.2f} s  {name}", flush=True)
                if problem:
                    failed.append(f"{library}: {name}\n{problem}")
    for each in failed:
        print(f"\n{each}")
    print(f"\n{count - len(failed)} of {count} cases passed in {time.perf_counter() - began:.0f} s")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
