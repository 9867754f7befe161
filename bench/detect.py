"""What detection costs: `python bench/detect.py [--runs 21]`, on a machine without GPUs.

Whole processes, the median of interleaved runs, so that a busy machine slows all of them alike:
`polywheel detect --json` against an empty Python (at most 4.5 times) and against variantlib's
`analyze-platform`; its peak memory (at most 30 MB); and what importing polywheel_providers adds to
`import dataclasses, json` (at most 10 ms). Exits 1 when a promise is broken.

Modules are compiled beforehand, as an installer leaves them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

RATIO, MEGABYTES, IMPORT_MS = 4.5, 30.0, 10.0

BASE, WITH_PROVIDERS = "import dataclasses, json", "the same, and polywheel_providers"
DETECT = (sys.executable, "-m", "polywheel", "detect", "--json")
COMMANDS = {
    "python -c pass": (sys.executable, "-c", "pass"),
    BASE: (sys.executable, "-c", "import dataclasses, json"),
    WITH_PROVIDERS: (
        sys.executable,
        "-c",
        "import dataclasses, json, polywheel_providers",
    ),
    "polywheel detect --json": DETECT,
    "variantlib analyze-platform": (str(Path(sys.executable).with_name("variantlib")), "analyze-platform"),
}


def run(command: tuple[str, ...]) -> tuple[float, float]:
    """Run a command; return its wall time in milliseconds and its peak memory in megabytes."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = (time.perf_counter() - begun) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with exit status {process.returncode}")
    return elapsed, usage.ru_maxrss / 1024


def measure(runs: int) -> dict[str, list[tuple[float, float]]]:
    """Return each command's milliseconds and megabytes in `runs` rounds, one run of each a round."""
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for command in COMMANDS.values():
        run(command)  # compiles modules, warms the page cache
    for _ in range(runs):
        for name, command in COMMANDS.items():
            samples[name].append(run(command))
    return samples


def medians(samples: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the median milliseconds and megabytes of one command's runs."""
    return statistics.median(time for time, _ in samples), statistics.median(size for _, size in samples)


def added(base: list[tuple[float, float]], more: list[tuple[float, float]]) -> float:
    """Return the median of what `more` took longer than `base` in the same round, in milliseconds."""
    return statistics.median(later[0] - earlier[0] for earlier, later in zip(base, more, strict=True))


def main() -> int:
    """Print one table and say whether the promises hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=21, help="rounds (default: 21)")
    samples = measure(parser.parse_args().runs)
    found = {name: medians(samples[name]) for name in COMMANDS}
    empty, _, _, detect, variantlib = found.values()
    import_ms = added(samples[BASE], samples[WITH_PROVIDERS])
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, {Path(sys.executable).name}")
    print(f"{'':34} {'median ms':>10} {'x empty':>8} {'peak MB':>8}")
    for name, (milliseconds, megabytes) in found.items():
        print(f"{name:34} {milliseconds:10.1f} {milliseconds / empty[0]:8.2f} {megabytes:8.1f}")
    promises = {
        f"detect is {detect[0] / empty[0]:.2f} times an empty Python": detect[0] <= RATIO * empty[0],
        f"detect peaks at {detect[1]:.1f} MB": detect[1] <= MEGABYTES,
        f"the import adds {import_ms:.1f} ms": import_ms <= IMPORT_MS,
    }
    print(f"detect takes {detect[0] / variantlib[0]:.2f} of variantlib analyze-platform's time")
    for promise, kept in promises.items():
        print(f"{promise}: {'kept' if kept else 'BROKEN'}")
    return 0 if all(promises.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
