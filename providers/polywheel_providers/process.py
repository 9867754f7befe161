"""Running a program with a deadline, a bound on its output, and no way to hang or outlive its caller."""

from __future__ import annotations

import os
import sys

from .frozen import dataclass
from .machine import TEXT_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen
    from typing import Any

REAP_SECONDS = 0.2
"""How long a killed process may take to go; one stuck in a driver call is left behind."""


@dataclass(frozen=True)
class Ended:
    """How a process ended and what it left in each pipe, at most `TEXT_LIMIT` bytes each."""

    returncode: int | None
    """Negative for a signal; `None` when it was killed by us."""
    outputs: tuple[bytes, ...]
    failure: str


def run_captured(command: list[str], *, env: Mapping[str, str], deadline: float) -> Ended | None:
    """Run `command`, collecting stdout and stderr, until it ends, overflows or the deadline passes.

    Returns `None` when the program cannot be started. Never raises.
    """
    import subprocess  # noqa: PLC0415 (8 ms that a machine without drivers never pays)

    process = _started(command, env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **_own_group())
    if process is None:
        return None
    pipes = []
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipes.append(os.dup(pipe.fileno()))
            pipe.close()
    return _collect(process, pipes, deadline)


def run_answering(command: list[str], *, env: Mapping[str, str], deadline: float) -> Ended | None:
    """Run `command` with one more argument, a pipe's handle that it writes its answer to.

    stdout and stderr are discarded, so that what a library prints there costs nothing. Otherwise as
    `run_captured`.
    """
    import subprocess  # noqa: PLC0415 (as above)

    read_end, write_end = os.pipe()
    try:
        handle = _inheritable(write_end)
        process = _started(
            [*command, str(handle)],
            env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_own_group(handle),
        )
    finally:
        os.close(write_end)
    if process is None:
        os.close(read_end)
        return None
    return _collect(process, [read_end], deadline)


def _started(command: list[str], env: Mapping[str, str], **arguments: Any) -> Popen[bytes] | None:
    import subprocess  # noqa: PLC0415

    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=dict(env), cwd=os.sep, **arguments)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _own_group(*handles: int) -> dict[str, Any]:
    """Return the Popen arguments that give the child its own process group and only these handles."""
    if sys.platform == "win32":
        import subprocess  # noqa: PLC0415

        startup = subprocess.STARTUPINFO()
        if handles:
            startup.lpAttributeList = {"handle_list": list(handles)}
        return {"creationflags": subprocess.CREATE_NO_WINDOW, "startupinfo": startup}
    return {"start_new_session": True, "pass_fds": handles}


def _inheritable(descriptor: int) -> int:
    """Return what a child must be told to reach the pipe: the number, or Windows' handle."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415

        handle = msvcrt.get_osfhandle(descriptor)
        os.set_handle_inheritable(handle, True)
        return handle
    return descriptor


def _collect(process: Popen[bytes], pipes: list[int], deadline: float) -> Ended:
    """Read every pipe to its end, in threads since Windows has no select on pipes."""
    from threading import Thread  # noqa: PLC0415 (as subprocess)
    from time import monotonic  # noqa: PLC0415

    until = monotonic() + deadline
    outputs = [bytearray() for _ in pipes]
    readers = [
        Thread(target=_read_all, args=(pipe, output, process), daemon=True)
        for pipe, output in zip(pipes, outputs, strict=True)
    ]
    failure = ""
    try:
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(max(0.0, until - monotonic()))
        if any(len(output) >= TEXT_LIMIT for output in outputs):
            failure = f"more than {TEXT_LIMIT >> 20} MiB of output"
        elif any(reader.is_alive() for reader in readers) or not _waited(
            process, max(0.0, until - monotonic())
        ):
            failure = f"no answer within {deadline:g} s"
    finally:
        # An interrupt ends it too: it has a process group of its own and would not hear of it.
        _kill_group(process)
        _waited(process, REAP_SECONDS)
    return Ended(None if failure else process.returncode, tuple(bytes(output) for output in outputs), failure)


def _read_all(pipe: int, output: bytearray, process: Popen[bytes]) -> None:
    """Read until the end, or until there is too much, which ends the process."""
    try:
        while chunk := os.read(pipe, 1 << 16):
            output += chunk[: TEXT_LIMIT - len(output)]
            if len(output) >= TEXT_LIMIT:
                _kill_group(process)
                return
    except OSError:
        return
    finally:
        os.close(pipe)


def _waited(process: Popen[bytes], seconds: float) -> bool:
    import subprocess  # noqa: PLC0415

    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill_group(process: Popen[bytes]) -> None:
    """Kill whatever is left of the process and its children; a group that is gone is no error."""
    from contextlib import suppress  # noqa: PLC0415

    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            import signal  # noqa: PLC0415

            os.killpg(process.pid, signal.SIGKILL)
