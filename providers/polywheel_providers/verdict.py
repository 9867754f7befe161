"""`Verdict`: the answer to "does code for these architectures serve this machine?"."""

from __future__ import annotations

from .frozen import dataclass


@dataclass(frozen=True)
class Verdict:
    """What a vendor's `serves` answers, since lists of values cannot."""

    yes: bool
    """Every visible, usable device is served, and there is at least one."""
    why: str
    """One sentence; for a no, about the first device that is not served."""
    ptx: bool = False
    """Some device is served by NVIDIA's PTX alone: it works, after the driver has compiled it."""

    def __bool__(self) -> bool:
        """Say yes or no, so that `if serves(...)` means what it reads."""
        return self.yes
