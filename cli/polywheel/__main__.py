"""`python -m polywheel`, and the console script's entry point."""

from __future__ import annotations

import sys

from polywheel.front import main

if __name__ == "__main__":
    sys.exit(main())
