"""Run one action: clean environment, scratch folder, one rename.

Run as a script, `python -I -S launch.py ACTION.json`, and kept free of imports that cost time, since
every step of a build passes through here. The file given holds real paths:

    command  argument list; `{out}` stands for the output
    stdin    text for its standard input
    output   where the output belongs: a file in a folder of its own, which appears by rename
    scratch  a folder on the same file system to work in
    allowed  files a compile may open; an empty list means the command writes no dependency file
    failure  where to keep the log of a failed command; a `.sh` beside it runs the command again

Paths are handled by os.path: pathlib would add a third to the start-up.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

DEPENDENCIES = "dependencies.d"
"""The file, in the scratch folder, that a compile lists what it opened in."""


def main() -> int:
    """Run the action the first argument describes; returns the exit code."""
    with open(sys.argv[1], encoding="utf-8") as file:
        action = json.load(file)
    os.umask(0o022)
    with tempfile.TemporaryDirectory(dir=action["scratch"]) as scratch:
        return _run(action, scratch)


def _run(action: dict[str, object], scratch: str) -> int:
    target = str(action["output"])
    made = os.path.join(scratch, "made")
    os.mkdir(made)
    out = os.path.join(made, os.path.basename(target))
    command = [part.replace("{out}", out) for part in _texts(action["command"])]
    started = time.monotonic()
    code, log, memory_mb = _call(command, str(action["stdin"]), scratch)
    if code == 0:
        log += _unexpected(scratch, _texts(action["allowed"]))
        log += "" if os.path.exists(out) else "the command succeeded without making its output\n"
        code = 1 if log else 0
    if code != 0:
        _keep_failure(action, log or f"the command exited with {code} and said nothing\n")
        return 1
    cost = {"seconds": round(time.monotonic() - started, 3), "memory_mb": memory_mb}
    _write(os.path.join(made, "cost.json"), json.dumps(cost))
    _publish(made, out, target)
    return 0


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def clean_environment() -> dict[str, str]:
    """Return the variables every tool runs with: what finds programs, and nothing that changes an output."""
    kept = ("PATH", "SYSTEMROOT", "INCLUDE", "LIB", "LD_LIBRARY_PATH")
    fixed = {"LC_ALL": "C", "TZ": "UTC", "SOURCE_DATE_EPOCH": "315532800"}
    return {"PATH": os.defpath} | {name: os.environ[name] for name in kept if name in os.environ} | fixed


def _call(command: list[str], stdin: str, scratch: str) -> tuple[int, str, float]:
    """Run a command; returns its exit code, what it said, and its peak memory in megabytes.

    A compiler that succeeds says nothing that matters here, so its words count only on failure.
    """
    environment = {**clean_environment(), "HOME": scratch, "TMPDIR": scratch}
    with tempfile.TemporaryFile("w+", dir=scratch) as source:
        source.write(stdin)
        source.seek(0)
        try:
            done = subprocess.run(
                command,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=scratch,
                env=environment,
                check=False,
            )
        except OSError as error:
            return 127, f"{command[0]} does not run: {error.strerror}\n", 0.0
    log = done.stdout.decode("utf-8", "replace") if done.returncode else ""
    return done.returncode, log, _peak_memory_mb()


def _peak_memory_mb() -> float:
    """Return the peak resident memory of the largest process that ran below this one."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit / 1e6, 1)


def _unexpected(scratch: str, allowed: list[str]) -> str:
    """Name a file the compiler opened that the action's hash does not cover."""
    path = os.path.join(scratch, DEPENDENCIES)
    if not allowed or not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        opened = _prerequisites(file.read())
    known = {os.path.realpath(name) for name in allowed}
    unknown = [name for name in opened if os.path.realpath(os.path.join(scratch, name)) not in known]
    if not unknown:
        return ""
    return (
        f"the compiler opened {unknown[0]}, which the scan of #include lines did not find "
        "(an include through a macro?); name the file in the #include line itself\n"
    )


def _prerequisites(text: str) -> list[str]:
    """Return what a dependency file's one rule lists after its target.

    A compiler escapes what make would not read as part of a name: a blank, `#`, and backslashes before
    those, by a backslash; `$` by another `$` (GCC, libcpp/mkdeps.cc).
    """
    names, name = [], ""
    for piece in re.findall(r"\\\n|\\[ \t#\\]|\$\$|\s+|.", text.partition(":")[2]):
        if piece[0].isspace() or piece == "\\\n":
            names.append(name)
            name = ""
        else:
            name += piece[-1]
    return [one for one in [*names, name] if one]


def _keep_failure(action: dict[str, object], log: str) -> None:
    """Keep the log, and beside it what runs the command again, its output in the current folder."""
    path = str(action["failure"])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    out = os.path.basename(str(action["output"]))
    command = [part.replace("{out}", out) for part in _texts(action["command"])]
    _write(f"{path}.stdin", str(action["stdin"]))
    _write(f"{path}.sh", f"#!/bin/sh\n{shlex.join(command)} < {shlex.quote(path + '.stdin')}\n")
    _write(path, log)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _publish(made: str, out: str, target: str) -> None:
    """Move the finished folder to its place in one step; another build may have been faster.

    Where somebody removed only the output from its folder, the output alone moves there, also in one step.
    """
    with open(out, "rb") as file:
        os.fsync(file.fileno())
    folder = os.path.dirname(target)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        os.rename(made, folder)
    except OSError:
        if not os.path.exists(target):
            os.replace(out, target)


if __name__ == "__main__":
    sys.exit(main())
