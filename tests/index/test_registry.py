from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_index.registry import (
    Registry,
    default_registry,
    from_pip_listing,
    uv_config_files,
    uv_default_index,
)
from polywheel_variants.errors import BadInputError

URL = "https://index.invalid/simple"


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment in which neither uv nor pip is configured."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return kept | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}


@pytest.mark.parametrize("name", ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"])
def test_each_variable_names_an_index(bare: dict[str, str], name: str) -> None:
    assert default_registry(bare | {name: URL}) == Registry(URL, name)


def test_uv_lets_an_index_have_a_name(bare: dict[str, str]) -> None:
    assert default_registry(bare | {"UV_DEFAULT_INDEX": f"internal={URL}?a=b"}).url == f"{URL}?a=b"
    assert default_registry(bare | {"UV_DEFAULT_INDEX": f"{URL}?a=b"}).url == f"{URL}?a=b"


def test_uv_comes_before_pip(bare: dict[str, str]) -> None:
    environ = bare | {"UV_INDEX_URL": "https://two.invalid", "PIP_INDEX_URL": URL}
    assert default_registry(environ).url == "https://two.invalid"


def test_the_user_s_uv_toml_is_read(bare: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "uv").mkdir()
    path = tmp_path / "uv" / "uv.toml"
    path.write_text(f'[[index]]\nurl = "https://other.invalid"\n[[index]]\nurl = "{URL}"\ndefault = true\n')
    assert default_registry(bare | {"PIP_INDEX_URL": "https://pip.invalid"}) == Registry(URL, str(path))
    assert default_registry(bare | {"PIP_INDEX_URL": URL, "UV_NO_CONFIG": "1"}).origin == "PIP_INDEX_URL"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("", None),
        (f'index-url = "{URL}"', URL),
        (f'[pip]\nindex-url = "{URL}"', URL),
        (f'[[index]]\nurl = "{URL}"', None),
        ("index = 3", None),
    ],
)
def test_every_place_in_uv_toml(text: str, url: str | None) -> None:
    assert uv_default_index(text, source="uv.toml") == url


def test_a_broken_uv_toml_is_named(bare: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("index-url = [")
    with pytest.raises(BadInputError, match=r"mine\.toml: not TOML"):
        default_registry(bare | {"UV_CONFIG_FILE": str(path)})
    path.write_bytes(b"\xff")
    with pytest.raises(BadInputError, match=r"mine\.toml: cannot be read"):
        default_registry(bare | {"UV_CONFIG_FILE": str(path)})


def test_without_a_home_only_the_system_s_file_is_left() -> None:
    assert uv_config_files({}) == (Path("/etc/uv/uv.toml"),)


def test_pip_s_own_configuration_is_asked(bare: dict[str, str], tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text(f"[global]\nindex-url = {URL}\n")
    found = default_registry(bare | {"PIP_CONFIG_FILE": str(config)})
    assert found == Registry(URL, "pip's configuration (global.index-url)")


def test_pip_s_default_is_the_last_resort(bare: dict[str, str]) -> None:
    found = default_registry(bare)
    assert found.origin == "pip's default"
    assert found.url.startswith("https://")


def test_pip_s_sections_have_its_order() -> None:
    lines = ["global.index-url='https://g'", "download.index-url='https://d'"]
    assert from_pip_listing("\n".join(lines)) == Registry(
        "https://g", "pip's configuration (global.index-url)"
    )
    lines += ["install.index-url='https://i'"]
    found = from_pip_listing("\n".join(lines))
    assert found is not None
    assert found.url == "https://i"


@given(st.text())
def test_any_listing_is_read_without_a_fault(text: str) -> None:
    found = from_pip_listing(text)
    assert found is None or found.url


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_value_comes_back_as_pip_wrote_it(value: str) -> None:
    found = from_pip_listing(f"global.index-url={value!r}")
    assert found is not None
    assert found.url == value


def test_a_password_is_not_shown() -> None:
    registry = Registry("https://me:secret@index.invalid:8080/simple?a", "X")
    assert registry.shown == "https://index.invalid:8080/simple?a"
    assert "secret" not in repr(registry)
