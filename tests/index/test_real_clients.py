"""The released uv and the newest pip against sites and folders that polywheel wrote."""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from polywheel.commands import select as command
from polywheel_index.serve_folder import serve_folder
from polywheel_index.site import write_site
from polywheel_variants.metadata import StaticProvider, VariantMetadata
from polywheel_variants.property import Property, group

if TYPE_CHECKING:
    from tests.index.conftest import MakeWheel, RandomCase

MACHINES = Path(__file__).parents[1] / "data" / "machines"
FLAG = ("--preview-features", "wheel-variants")
EXPECTED = {
    "x86-skylake-avx512": "x86_64_v4",
    "x86-haswell": "x86_64_v3",
    "x86-ivybridge": "null",
    "x86-k10": "null",
}
"""Recorded machine -> the label it gets of a release with v4, v3, null and plain."""


def clean_environment() -> dict[str, str]:
    """Leave out what would lead a client to other indexes, files or machines."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("UV_", "PIP_", "POLYWHEEL_")) and name != "VIRTUAL_ENV"
    } | {"PIP_CONFIG_FILE": os.devnull}


def namespace_command() -> list[str] | None:
    """Return the command that runs another in a mount namespace of its own, where the system allows one."""
    for flags in ("-m", "-rm"):
        command = ["unshare", flags, "--"]
        try:
            probe = [*command, "sh", "-c", "mount --bind /dev/null /proc/cpuinfo"]
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                return command
        except OSError:
            break
    return None


NAMESPACE = namespace_command() if sys.platform == "linux" else None
CPUS = ["this machine", *(EXPECTED if NAMESPACE else ())]
"""uv reads /proc/cpuinfo: other machines can be put in its place only where namespaces are allowed."""


def on_machine(name: str, command: Sequence[str | Path]) -> list[str]:
    """Return the command as it runs on a recorded machine."""
    words = [str(word) for word in command]
    if name == "this machine" or NAMESPACE is None:
        return words
    cpuinfo = MACHINES / name / "proc" / "cpuinfo"
    script = 'mount --bind "$1" /proc/cpuinfo && shift && exec "$@"'
    return [*NAMESPACE, "sh", "-c", script, "sh", str(cpuinfo), *words]


def run(command: Sequence[str | Path], machine: str = "this machine") -> str:
    done = subprocess.run(
        on_machine(machine, command), env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@dataclass(frozen=True)
class Published:
    """One release in the forms that clients can be given."""

    http: str
    file: str
    folder: str

    def uv_arguments(self, form: str) -> list[str]:
        if form == "folder":
            return ["--no-index", "--find-links", self.folder]
        return ["--default-index", self.http if form == "http" else self.file]

    def pip_arguments(self, form: str) -> list[str]:
        return ["--index-url" if word == "--default-index" else word for word in self.uv_arguments(form)]

    def location(self, form: str) -> str:
        return {"http": self.http, "file": self.file, "folder": self.folder}[form]


FORMS = ["http", "file", "folder"]
"""PEP 691 JSON over HTTP, PEP 503 HTML from disk, and find-links."""


@pytest.fixture
def published(release: tuple[Path, ...], tmp_path: Path) -> Iterator[Published]:
    site, flat = tmp_path / "site", tmp_path / "flat"
    write_site(release, site)
    flat.mkdir()
    for path in (*release, *site.glob("files/*/*-variants.json")):
        shutil.copy(path, flat)
    with serve_folder(site) as url:
        yield Published(f"{url}/simple", (site / "simple").as_uri(), str(flat))


Install = Callable[..., "str | None"]


@pytest.fixture
def uv_label(tmp_path: Path) -> Install:
    """Install with uv and return the label of the wheel it took."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    assert uv is not None

    def install(arguments: Sequence[str], machine: str = "this machine") -> str | None:
        target = tmp_path / "installed"
        shutil.rmtree(target, ignore_errors=True)
        command = [uv, "pip", "install", "--no-config", "--no-deps", "--python", sys.executable]
        command += ["--cache-dir", str(tmp_path / "uv-cache"), "--target", str(target), *arguments]
        run([*command, "demo-kit"], machine)
        return label_of(target)

    return install


def label_of(target: Path, package: str = "demo_kit") -> str | None:
    text = (target / package / "__init__.py").read_text().partition("=")[2]
    label: str | None = ast.literal_eval(text.strip())
    return label


def selected(arguments: Sequence[str], machine: str = "this machine") -> dict[str, Any]:
    """Return what `polywheel select --json` says, in a process of its own only where it must be."""
    words = ["demo-kit", "--json", *arguments]
    if machine != "this machine":
        said = run([sys.executable, "-m", "polywheel", "select", *words], machine)
    else:
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        with redirect_stdout(io.StringIO()) as output:
            assert command.run(parser.parse_args(words)) == 0
        said = output.getvalue()
    answer: dict[str, Any] = json.loads(said)
    return answer


@pytest.mark.parametrize(
    ("machine", "form"), [*((name, "http") for name in CPUS), (CPUS[-1], "file"), (CPUS[-1], "folder")]
)
def test_uv_with_the_flag_picks_by_the_processor_and_select_agrees(
    published: Published, uv_label: Install, machine: str, form: str
) -> None:
    label = uv_label([*FLAG, *published.uv_arguments(form)], machine)
    assert label == EXPECTED.get(machine, label)
    answer = selected(["--index", published.location(form)], machine)
    assert answer["chosen"]["label"] == label
    if machine != "this machine":
        recorded = selected(["--index", published.location(form), "--root", str(MACHINES / machine)])
        assert recorded["chosen"] == answer["chosen"]


@pytest.mark.parametrize("name", EXPECTED)
def test_select_answers_for_recorded_machines(published: Published, name: str) -> None:
    answer = selected(["--index", published.http, "--root", str(MACHINES / name)])
    assert answer["chosen"]["label"] == EXPECTED[name]
    assert {one["code"] for one in answer["rejected"]} <= {"property"}


@pytest.mark.parametrize("form", FORMS)
def test_uv_for_another_platform_takes_its_baseline_and_select_agrees(
    published: Published, uv_label: Install, form: str
) -> None:
    arguments = ["--python-platform", "x86_64-unknown-linux-gnu", *published.uv_arguments(form)]
    label = uv_label([*FLAG, *arguments])
    assert label == "null"
    answer = selected(["--index", published.location(form), "--platform", "manylinux_2_28_x86_64"])
    assert answer["chosen"]["label"] == label


@pytest.mark.parametrize("form", FORMS)
def test_uv_without_the_flag_takes_the_plain_wheel(
    published: Published, uv_label: Install, form: str
) -> None:
    assert uv_label(published.uv_arguments(form)) is None


@pytest.fixture(scope="session")
def newest_pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the newest pip."""
    folder = tmp_path_factory.mktemp("pip")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(folder), "pip"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.mark.network
@pytest.mark.parametrize("form", ["http", "folder"])
def test_the_newest_pip_takes_the_plain_wheel(
    published: Published, newest_pip: Path, tmp_path: Path, form: str
) -> None:
    pip = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(newest_pip)!r}); import runpy; "]
    pip[-1] += "runpy.run_module('pip', run_name='__main__')"
    target = tmp_path / "installed"
    arguments = ["install", "--no-deps", "--no-cache-dir", "--target", str(target)]
    run([*pip, *arguments, *published.pip_arguments(form), "demo-kit"])
    assert label_of(target) is None


def test_uv_and_select_agree_inside_a_label(make_wheel: MakeWheel, tmp_path: Path, uv_label: Install) -> None:
    names = ("linux_x86_64", "manylinux_2_17_x86_64", "manylinux_2_5_x86_64", "any")
    wheels = {
        tag: make_wheel(
            f"demo_kit-1.0-py3-none-{tag}.whl",
            members={"demo_kit/__init__.py": f"LABEL = {tag!r}\n".encode()},
        )
        for tag in names
    }
    for number in range(len(names)):
        site = tmp_path / f"site{number}"
        write_site([wheels[tag] for tag in names[number:]], site)
        url = (site / "simple").as_uri()
        answer = selected(["--index", url])
        assert uv_label(["--default-index", url]) in answer["chosen"]["filename"]


def static_provider(features: Mapping[str, Sequence[str]]) -> StaticProvider:
    return StaticProvider({name: tuple(values) for name, values in features.items()}, tuple(features))


def test_uv_and_select_agree_in_200_random_releases(
    make_wheel: MakeWheel, random_case: RandomCase, tmp_path: Path
) -> None:
    wheels = []
    projects = [f"case{seed}" for seed in range(200)]
    for seed, project in enumerate(projects):
        namespaces, supported, variants = random_case(seed)
        nothing = {"unknown": ("unknown",)}
        offered = {
            name: {k: tuple(v) for k, v in supported.get(name, nothing).items()} for name in namespaces
        }
        providers = {name: StaticProvider(values, tuple(values)) for name, values in offered.items()}
        wheels.append(make_wheel(f"{project}-1.0-py3-none-any.whl"))
        for label, properties in variants.items():
            metadata = VariantMetadata(tuple(namespaces), providers, {label: properties})
            wheels.append(make_wheel(f"{project}-1.0-py3-none-any-{label}.whl", metadata=metadata))
    site, target = tmp_path / "site", tmp_path / "installed"
    write_site(wheels, site)
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
    url = (site / "simple").as_uri()
    command = [uv, "pip", "install", "--no-config", "--no-deps", "--python", sys.executable, *FLAG]
    command += ["--cache-dir", str(tmp_path / "cache"), "--target", str(target), "--default-index", url]
    run([*command, *projects])

    from packaging.version import Version

    from polywheel_index.choice import Target
    from polywheel_index.python_target import running_python
    from polywheel_index.select import select

    python = running_python()
    here = Target(python.tags(python.platforms), Version("3.11"), {})
    for project in projects:
        choice = select(project, str(site), here)
        assert choice.chosen is not None
        assert choice.chosen.candidate.name.label == label_of(target, project)


def test_a_local_version_installs_by_its_escaped_url(
    make_wheel: MakeWheel, tmp_path: Path, uv_label: Install
) -> None:
    wheel = make_wheel("demo_kit-1.0+abc.1-py3-none-any-fast.whl", group([Property("x86_64", "level", "v1")]))
    write_site([wheel, make_wheel("demo_kit-1.0+abc.1-py3-none-any.whl")], tmp_path / "site")
    with serve_folder(tmp_path / "site") as url:
        for index in (f"{url}/simple", (tmp_path / "site" / "simple").as_uri()):
            assert uv_label([*FLAG, "--default-index", index]) == "fast"
            assert uv_label(["--default-index", index]) is None
