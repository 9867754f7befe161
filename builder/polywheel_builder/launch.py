"""Run one action: clean environment, scratch folder, one rename.

Run as a script, `python -I -S launch.py ACTION.json`, and kept free of imports that cost time, since
every step of a build passes through here. The file given holds real paths:

    command  argument list; `{out}` stands for the output
    stdin    text for its standard input
    output   where the output belongs: a file in a folder of its own, which appears by rename
    scratch  a folder on the same file system to work in
    files    [path, SHA-256] of every file the command may read: what the action's name promises
    failure  where to keep the log of a failed command; a `.sh` beside it runs the command again

Paths are handled by os.path: pathlib would add a third to the start-up.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
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
REPORT = "made.json"
"""The file, beside an output, that says its SHA-256 and what making it took."""


def main() -> int:
    """Run the action the first argument describes; returns the exit code."""
    with open(sys.argv[1], encoding="utf-8") as file:
        action = json.load(file)
    os.umask(0o022)
    try:
        with tempfile.TemporaryDirectory(dir=action["scratch"]) as scratch:
            return _run(action, scratch)
    except OSError as error:
        sys.stderr.write(f"{error.filename or action['output']}: {error.strerror}\n")
        return 1


def _run(action: dict[str, object], scratch: str) -> int:
    target = str(action["output"])
    made = os.path.join(scratch, "made")
    os.mkdir(made)
    out = os.path.join(made, os.path.basename(target))
    command = [part.replace("{out}", out) for part in _texts(action["command"])]
    started = time.monotonic()
    code, log, memory_mb = _call(command, str(action["stdin"]), scratch)
    if code == 0:
        files = _pairs(action["files"])
        log += _unexpected(scratch, files)
        log += _changed(files)
        log += "" if os.path.exists(out) else "the command succeeded without making its output\n"
        code = 1 if log else 0
    if code != 0:
        _keep_failure(action, log or f"the command exited with {code} and said nothing\n")
        return 1
    seconds = round(time.monotonic() - started, 3)
    report = {"sha256": _sha256(out), "seconds": seconds, "memory_mb": memory_mb}
    _write(os.path.join(made, REPORT), json.dumps(report))
    _publish(made, target, scratch)
    return 0


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _pairs(value: object) -> dict[str, str]:
    return {str(path): str(digest) for path, digest in value} if isinstance(value, list) else {}


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


def _unexpected(scratch: str, files: dict[str, str]) -> str:
    """Name a file the compiler opened that the action's hash does not cover."""
    path = os.path.join(scratch, DEPENDENCIES)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        opened = _prerequisites(file.read())
    known = {os.path.realpath(name) for name in files}
    unknown = [name for name in opened if os.path.realpath(os.path.join(scratch, name)) not in known]
    if not unknown:
        return ""
    return (
        f"the compiler opened {unknown[0]}, which the scan of #include lines did not find "
        "(an include through a macro?); name the file in the #include line itself\n"
    )


def _changed(files: dict[str, str]) -> str:
    """Name a file that is no longer what the action's name was taken from: the output may be of other bytes.

    Looked at after the command, since an edit before it or during it is one that it may have read.
    """
    for path, digest in files.items():
        if _sha256(path) != digest:
            return f"{path} changed while it was built; run the command again\n"
    return ""


def _sha256(path: str) -> str:
    """Hash a file; one that is not there has no hash."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except FileNotFoundError:
        return ""
    return digest.hexdigest()


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
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _publish(made: str, target: str, scratch: str) -> None:
    """Move the finished folder to its place in one step.

    Another build may have been faster: a whole output stays. One that was damaged or lost makes way.
    """
    with open(os.path.join(made, os.path.basename(target)), "rb") as file:
        os.fsync(file.fileno())
    folder = os.path.dirname(target)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    while not _moved(made, folder) and not _is_whole(target):
        with contextlib.suppress(FileNotFoundError):  # another build moves it, too
            os.rename(folder, os.path.join(tempfile.mkdtemp(dir=scratch), "damaged"))


def _moved(made: str, folder: str) -> bool:
    """Move a folder to a place, unless something is there."""
    try:
        os.rename(made, folder)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise
    return True


def _is_whole(target: str) -> bool:
    """Whether an output is what its report says. `store.Store.has` asks the same."""
    try:
        with open(os.path.join(os.path.dirname(target), REPORT), encoding="utf-8") as file:
            return bool(json.load(file)["sha256"] == _sha256(target))
    except (OSError, ValueError, KeyError, TypeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
