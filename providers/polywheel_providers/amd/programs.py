"""Parsing what ROCm's own programs print: `rocm_agent_enumerator` and `rocminfo`."""

from __future__ import annotations

import re

from polywheel_providers.frozen import dataclass, replace

from .gfx import Target, generic_of, parse_target

_AGENT = re.compile(r"Agent \d+\s*")
_FIELD = re.compile(r"\s*(Name|Marketing Name|Uuid|Device Type|Chip ID):\s*(.*?)\s*")


@dataclass(frozen=True)
class Agent:
    """One GPU as rocminfo describes it."""

    target: Target | None
    """Its processor and settings; `None` where rocminfo's words are not understood."""
    name: str = ""
    """The marketing name."""
    uuid: str = ""
    """`GPU-...`, or empty."""
    chip: int = 0
    """The PCI device id; 0 when it is not told."""


def parse_enumerator(text: str) -> tuple[Target, ...]:
    """Parse one target a line. ROCm before 6.3 lists the processor first, as gfx000; no line is no GPU.

    With -name, newer ones add each GPU's generic target below its own: that is no further GPU.
    """
    targets = [target for line in text.splitlines() if (target := parse_target(line)) is not None]
    own = {generic_of(target.name) for target in targets}
    return tuple(target for target in targets if target.name not in own)


def parse_rocminfo(text: str) -> tuple[Agent, ...]:
    """Parse the agents that are GPUs.

    An agent's first ISA is its own and the next may be a generic one, which must not be taken for it.
    """
    return tuple(block.agent for block in _blocks(text) if block.device_type == "GPU")


@dataclass(frozen=True)
class _Block:
    agent: Agent
    device_type: str = ""


def _blocks(text: str) -> list[_Block]:
    blocks: list[_Block] = []
    for line in text.splitlines():
        if _AGENT.fullmatch(line.strip()):
            blocks.append(_Block(Agent(None)))
            continue
        match = _FIELD.fullmatch(line)
        if match is not None and blocks:
            blocks[-1] = _with_field(blocks[-1], match[1], match[2])
    return blocks


def _with_field(block: _Block, key: str, value: str) -> _Block:
    agent = block.agent
    if key == "Device Type":
        return replace(block, device_type=block.device_type or value)
    if key == "Marketing Name":
        return replace(block, agent=replace(agent, name=agent.name or value))
    if key == "Uuid":
        # A GPU without a serial number answers GPU-XX.
        known = value if re.fullmatch(r"GPU-[0-9a-f]+", value) else ""
        return replace(block, agent=replace(agent, uuid=agent.uuid or known))
    if key == "Chip ID":
        match = re.match(r"(\d{1,7})\(0x", value)
        return replace(block, agent=replace(agent, chip=agent.chip or int(match[1]) if match else agent.chip))
    target = parse_target(value)
    return block if target is None else replace(block, agent=_with_target(agent, target))


def _with_target(agent: Agent, target: Target) -> Agent:
    """Take the first name, and from the ISA of the same name its settings."""
    if agent.target is None:
        return replace(agent, target=target)
    if agent.target.name == target.name and not (agent.target.sramecc or agent.target.xnack):
        return replace(agent, target=target)
    return agent
