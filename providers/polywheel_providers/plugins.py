"""Provider plugin objects for every namespace, as PEP 850 defines them and variantlib 0.2.2 loads them.

`polywheel_providers.plugins:nvidia` and so on. They print nothing to stdout, where the loader expects its
own answer alone, and they leave out a feature rather than give it no values.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache

from .facts import namespace_module
from .frozen import dataclass
from .meaning import supported
from .named import this_machine
from .vendor import VENDORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .meaning import Supported


@dataclass(frozen=True)
class FeatureConfig:
    """One feature and its values, best first (PEP 850's variant feature config)."""

    name: str
    """The feature."""
    values: list[str]
    """At least one value, each once."""
    multi_value: bool
    """Whether one wheel may name several of the values."""


@dataclass(frozen=True)
class Plugin:
    """The plugin of one namespace."""

    namespace: str
    """Whose properties it speaks for."""
    all_properties_compatible: bool = False
    """False: what is supported depends on the machine, so it is no build-time (ahead-of-time) plugin."""

    def get_all_configs(self) -> list[FeatureConfig]:
        """Return every feature and value that any machine could support, best first."""
        return self._configs(namespace_module(self.namespace).FEATURES)

    def get_supported_configs(self) -> list[FeatureConfig]:
        """Return what this machine supports, best first; empty when nothing is."""
        return self._configs(_supported_here(tuple(sorted(os.environ.items()))).get(self.namespace, {}))

    def _configs(self, features: dict[str, tuple[str, ...]]) -> list[FeatureConfig]:
        several: frozenset[str] = getattr(namespace_module(self.namespace), "MULTI_VALUE", frozenset())
        return [
            FeatureConfig(name, list(values), name in several) for name, values in features.items() if values
        ]


@lru_cache(maxsize=1)
def _supported_here(environment: tuple[tuple[str, str], ...]) -> Supported:
    """Detect once for all five plugins, which a loader asks in one process."""
    try:
        return supported(this_machine(dict(environment)))
    except ValueError as problem:  # POLYWHEEL_MACHINE names no machine: better nothing than a wrong one
        sys.stderr.write(f"polywheel-providers: {problem}\n")
        return {}


nvidia, amd, intel = (Plugin(name) for name in VENDORS)
x86_64 = Plugin("x86_64")
aarch64 = Plugin("aarch64")
