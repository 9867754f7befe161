"""Compare the kernels' levels with each other, with torch's own operators and with the memory's speed.

    python bench/kernels.py --wheels dist [--python EXE] [--threads N]

EXE is an interpreter with torch 2.10 or newer. Every level has a process of its own; each case goes round all
of them several times, so that what else the machine does falls on all alike. Numbers are medians.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polywheel_providers import LiveMachine, probe, supported

LABELS = {"null": "v1", "x86_64_v3": "v3", "x86_64_v4": "v4"}
"""Variant label -> the x86-64 level it needs."""

ROUNDS = 3
# Key-value heads / keys / query heads of each; one sequence, depth 128.
IN_CACHE = "2/512/8"  # 1 MB of float32 keys and values
OUT_OF_CACHE = ("8/32768/8", "8/32768/1")  # 268 MB
OUT_OF_CACHE_BYTES = 2 * 8 * 32768 * 128 * 4
COPY_MEGABYTES = 256
NORM_ROWS = 256


@dataclass(frozen=True)
class Worker:
    """A process that has one level's operators loaded."""

    label: str
    process: subprocess.Popen[str]

    def sample(self, case: str, threads: int) -> list[float]:
        """Return a few times of one call, in seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"case": case, "threads": threads}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"bench/kernels.py: the process of {self.label} ended while it ran {case}")
        seconds: list[float] = json.loads(answer)["seconds"]
        return seconds


@contextlib.contextmanager
def started(label: str, wheel: Path, python: str, folder: Path) -> Iterator[Worker]:
    """Unpack a wheel and run a worker that uses it."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    process = subprocess.Popen(
        [python, Path(__file__).with_name("kernels_worker.py")],
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Worker(label, process)


def medians(workers: list[Worker], case: str, threads: int) -> dict[str, float]:
    """Return label -> seconds of one call."""
    samples: dict[str, list[float]] = {worker.label: [] for worker in workers}
    for _ in range(ROUNDS):
        for worker in workers:
            samples[worker.label] += worker.sample(case, threads)
    return {label: statistics.median(seconds) for label, seconds in samples.items()}


def print_levels(title: str, ours: dict[str, float], theirs: dict[str, float], missing: list[str]) -> None:
    """Print each level's time and how many times faster than null and than torch it is."""
    print(f"\n{title}\n  {'level':<12}{'time':>12}{'to null':>10}{'torch':>12}{'to torch':>10}")
    for label, seconds in ours.items():
        row = (f"{seconds * 1e6:.0f} us", ours["null"] / seconds)
        torch_row = (f"{theirs[label] * 1e6:.0f} us", theirs[label] / seconds)
        print(f"  {label:<12}{row[0]:>12}{row[1]:>9.2f}x{torch_row[0]:>12}{torch_row[1]:>9.2f}x")
    for label in missing:
        print(f"  {label:<12}not run: this CPU has no {LABELS[label]}")


def print_bandwidth(title: str, seconds: dict[str, float], copy: float, missing: list[str]) -> None:
    """Print how fast each level reads the keys and values, and what part of a copy's speed that is."""
    print(f"\n{title}\n  {'level':<12}{'GB/s':>12}{'of copy':>10}")
    for label, one in seconds.items():
        speed = OUT_OF_CACHE_BYTES / one / 1e9
        print(f"  {label:<12}{speed:>12.1f}{100 * speed / copy:>9.0f}%")
    for label in missing:
        print(f"  {label:<12}not run: this CPU has no {LABELS[label]}")


def compare(workers: list[Worker], threads: int, missing: list[str]) -> None:
    """Run and print every comparison."""
    print("Sizes: key-value heads / keys / query heads to each of them; depth 128. Torch: its own operator.")
    for dtype in ("float32", "bfloat16", "float16"):
        print_levels(
            f"flash_decode in cache ({IN_CACHE}, {dtype}), 1 thread",
            medians(workers, f"decode/{IN_CACHE}/{dtype}", 1),
            medians(workers, f"sdpa/{IN_CACHE}/{dtype}", 1),
            missing,
        )
    print_levels(
        f"rms_norm against torch's ({NORM_ROWS} rows of 4096, float32), 1 thread",
        medians(workers, f"norm/{NORM_ROWS}", 1),
        medians(workers, f"torch_norm/{NORM_ROWS}", 1),
        missing,
    )
    copies = medians(workers, f"copy/{COPY_MEGABYTES}", threads)
    copy = 2 * COPY_MEGABYTES * 1e6 / statistics.median(copies.values()) / 1e9
    print(f"\ncopy of {COPY_MEGABYTES} MB, read and written: {copy:.1f} GB/s, {threads} threads")
    for sizes in OUT_OF_CACHE:
        ours = medians(workers, f"decode/{sizes}/float32", threads)
        title = f"flash_decode out of cache ({sizes}, float32), {threads} threads"
        print_bandwidth(title, ours, copy, missing)
        print_levels(title, ours, medians(workers, f"sdpa/{sizes}/float32", threads), missing)


def wheels_by_label(folder: Path) -> dict[str, Path]:
    """Return label -> wheel; a variant wheel's file name ends with its label."""
    found = {label: sorted(folder.glob(f"polywheel_kernels-*-{label}.whl")) for label in LABELS}
    for label, wheels in found.items():
        if len(wheels) != 1:
            sys.exit(
                f"bench/kernels.py: {folder} has {len(wheels)} wheels {label}, wanted 1: run polywheel build"
            )
    return {label: wheels[0] for label, wheels in found.items()}


def main() -> None:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(
        description="Compare the kernels' levels, torch's operators and the memory."
    )
    parser.add_argument("--wheels", type=Path, default=Path("dist"), help="where polywheel build left them")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch 2.10 or newer")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads out of cache")
    options = parser.parse_args()
    levels = supported(probe(LiveMachine())).get("x86_64", {}).get("level", ())
    wheels = wheels_by_label(options.wheels)
    missing = [label for label in wheels if LABELS[label] not in levels]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        workers = [
            stack.enter_context(started(label, wheel, options.python, Path(folder) / label))
            for label, wheel in wheels.items()
            if label not in missing
        ]
        compare(workers, options.threads, missing)


if __name__ == "__main__":
    main()
