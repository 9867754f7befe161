"""What stays out of a record: identifiers that no mask needs. Pure."""

from __future__ import annotations

from polywheel_providers.frozen import replace

from .facts import MigInstance, NvidiaFacts
from .visibility import MASK, names_uuids


def without_needless_uuids(facts: NvidiaFacts) -> NvidiaFacts:
    """Drop the UUIDs that the mask does not name: they identify a machine, and a record may be published.

    Under a mask of UUIDs the kind alone is left of them, which tells a withheld one from an unknown one.
    """
    entries = [entry.strip() for entry in facts.env.get(MASK, "").split(",")]
    prefixes = tuple(entry.partition("/")[0].replace("MIG-GPU-", "GPU-") for entry in entries if "-" in entry)
    named = names_uuids(facts.env.get(MASK, ""))

    def kept(uuid: str) -> str:
        spellings = (uuid, f"MIG-{uuid.removeprefix('GPU-')}")
        if named and any(spelling.startswith(prefixes) for spelling in spellings):
            return uuid
        return uuid[:4] if named else ""

    devices = tuple(
        replace(
            device,
            uuid=kept(device.uuid),
            mig=tuple(MigInstance(kept(each.uuid), each.name) for each in device.mig),
        )
        for device in facts.devices
    )
    return replace(facts, devices=devices)
