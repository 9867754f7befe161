"""The child process that loads a driver library: `python -I -S driver_child.py SCRIPT LIBRARY PIPE`.

The answer goes through a private pipe, one JSON array a line, so that whatever the library prints, and
however it ends, what was reported before stays whole: `["fact", VALUE]` any number of times, then
`["done"]`, or `["error", TEXT]`.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location


def main(script: str, library: str, pipe: int) -> None:
    """Load the query script and let it report through the pipe."""
    out = os.fdopen(pipe, "w", encoding="utf-8", buffering=1)
    try:
        spec = spec_from_file_location("query", script)
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot load {os.path.basename(script)}")  # noqa: PTH119, TRY301
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        module.query(library, lambda value: out.write(json.dumps(["fact", value]) + "\n"))
        out.write('["done"]\n')
    except BaseException as problem:  # noqa: BLE001 (whatever it was, the parent wants its name)
        out.write(json.dumps(["error", f"{type(problem).__name__}: {problem}"[:500]]) + "\n")
    # A driver's exit handlers may hang or crash after the answer is complete.
    out.flush()
    os._exit(0)


def _descriptor(handle: str) -> int:
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415

        return msvcrt.open_osfhandle(int(handle), os.O_WRONLY)
    return int(handle)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], _descriptor(sys.argv[3]))
