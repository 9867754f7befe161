from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest
from variantlib.models.variant import VariantFeature  # type: ignore[import-untyped]
from variantlib.plugins.loader import (  # type: ignore[import-untyped]
    VARIANT_PROVIDER_CACHE_TABLE,
    DictPluginLoader,
)
from variantlib.protocols import PluginType, VariantFeatureConfigType  # type: ignore[import-untyped]

from polywheel_providers import plugins, supported
from polywheel_providers.short_form import parse

if TYPE_CHECKING:
    from variantlib.models.provider import ProviderConfig  # type: ignore[import-untyped]


NAMESPACES = ("nvidia", "amd", "intel", "x86_64", "aarch64")
APIS = {name: f"polywheel_providers.plugins:{name}" for name in NAMESPACES}

MACHINES = {
    "nvidia": "nvidia:9.0,driver=12.8",
    "amd": "amd:gfx942",
    "intel": "intel:20.1.0",
    "x86_64": "cpu:v4",
    "aarch64": "aarch64:9.0a,sme2",
}


def load(method: str) -> dict[str, ProviderConfig]:
    """Ask all five plugins as variantlib does: in a child process, by their API's name."""
    VARIANT_PROVIDER_CACHE_TABLE.clear()  # it forgets that the environment matters
    with DictPluginLoader(APIS) as loader:
        found: dict[str, ProviderConfig] = getattr(loader, method)()
        return found


def test_every_plugin_has_the_api() -> None:
    for name in NAMESPACES:
        plugin = getattr(plugins, name)
        assert not PluginType.__abstractmethods__ - set(dir(plugin))
        assert plugin.namespace == name
        assert plugin.all_properties_compatible is False
        assert all(isinstance(config, VariantFeatureConfigType) for config in plugin.get_all_configs())


def test_every_plugin_is_an_entry_point_of_its_namespaces_name() -> None:
    found = {point.name: point.value for point in entry_points(group="variant_plugins")}
    assert APIS.items() <= found.items()


def test_all_configs_load_and_validate() -> None:
    found = load("get_all_configs")
    assert found.keys() == set(NAMESPACES)
    for name, provider in found.items():
        assert provider.namespace == name
        for config in provider.configs:
            VariantFeature(namespace=name, feature=config.name)
            assert config.values


@pytest.mark.parametrize(("namespace", "machine"), MACHINES.items())
def test_supported_is_within_all(namespace: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYWHEEL_MACHINE", machine)
    every = {config.name: config.values for config in load("get_all_configs")[namespace].configs}
    found = {config.name: config.values for config in load("get_supported_configs")[namespace].configs}
    assert found == {name: list(values) for name, values in supported(parse(machine))[namespace].items()}
    assert found
    for name, values in found.items():
        assert set(values) <= set(every[name])
    assert [name for name in every if name in found] == list(found)


def test_a_namespace_with_nothing_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYWHEEL_MACHINE", "cpu:v1")
    assert load("get_supported_configs").keys() == {"x86_64"}


def test_this_machine_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYWHEEL_MACHINE", raising=False)
    assert load("get_supported_configs").keys() & {"x86_64", "aarch64"}


def test_a_machine_that_is_none_supports_nothing_and_says_so() -> None:
    script = "from polywheel_providers.plugins import x86_64; print(x86_64.get_supported_configs())"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"POLYWHEEL_MACHINE": "toaster:5"},
    )
    assert ended.stdout == "[]\n"
    assert "POLYWHEEL_MACHINE: machine 'toaster:5'" in ended.stderr


def test_nothing_is_printed_to_stdout() -> None:
    script = (
        "from polywheel_providers import plugins\n"
        "for name in ('nvidia', 'amd', 'intel', 'x86_64', 'aarch64'):\n"
        "    getattr(plugins, name).get_supported_configs(); getattr(plugins, name).get_all_configs()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == ""
