"""The namespaces polywheel writes, and the providers that speak for them, as released clients know them.

uv (0.13.8 and newer) matches a provider by the exact form of its entry: one requirement whose specifier
admits the version it re-implements, and the plugin-api below. `nvidia-variant-provider>=0.0.2`, for
example, is silently skipped, because uv's own claims to be 0.0.1.
"""

from __future__ import annotations

from types import MappingProxyType

from polywheel_variants.metadata import PluginProvider, Provider, StaticProvider

PRIORITY = "priority"
"""The static namespace that carries the author's order: its first key decides between two variants."""

MAX_VARIANTS = 64
"""How many orders the static list holds. It is fixed, so that a variant added at the end of a matrix
changes no published wheel."""

NAMESPACES = (PRIORITY, "nvidia", "amd", "intel", "x86_64", "aarch64")
"""`default-priorities.namespace` of every wheel polywheel writes."""

PROVIDERS: MappingProxyType[str, Provider] = MappingProxyType(
    {
        PRIORITY: StaticProvider(
            {"order": tuple(str(number) for number in range(1, MAX_VARIANTS + 1))}, ("order",)
        ),
        "nvidia": PluginProvider(
            ("nvidia-variant-provider>=0.0.1,<1.0.0",), "nvidia_variant_provider.plugin:NvidiaVariantPlugin"
        ),
        "amd": PluginProvider(
            ("amd-variant-provider>=0.0.1,<1.0.0",), "amd_variant_provider.plugin:AMDVariantPlugin"
        ),
        "intel": PluginProvider(
            ("intel-variant-provider>=0.0.1,<1.0.0",), "intel_variant_provider.plugin:IntelVariantPlugin"
        ),
        "x86_64": PluginProvider(("x86-64-variant-provider>=0.2,<1",)),
        "aarch64": PluginProvider(("aarch64-variant-provider>=0.2,<1",)),
    }
)
