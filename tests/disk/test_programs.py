"""A program is found where no tool can have put it, and is given nothing that leads it astray."""

from pathlib import Path

import pytest

from assistant.disk import programs


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with a `true` of its own, first on the PATH."""
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "bin/true").write_text("#!/bin/sh\nexit 7\n")
    (root / "bin/true").chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}/bin:bin:/usr/bin:/bin")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return root


def test_it_is_not_taken_from_below_a_root(planted: Path) -> None:
    assert programs.find("true") == f"{planted}/bin/true"
    found = programs.find("true", [planted])
    assert found is not None and not found.startswith(str(planted))


def test_it_is_not_taken_by_a_link_into_a_root(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(planted / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path}/link:/usr/bin:/bin")
    found = programs.find("true", [planted])
    assert found is not None and found.startswith(("/usr/bin/", "/bin/"))


def test_it_is_not_taken_from_here_or_a_virtual_environment(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(planted))
    monkeypatch.chdir(planted)
    found = programs.find("true")
    assert found is not None and not found.startswith(str(planted))
    assert programs.find("no-such-program-anywhere") is None


def test_its_environment_holds_no_key_and_no_path_of_a_root(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "PYTHONPATH", "LD_PRELOAD", "GIT_DIR", "LD_LIBRARY_PATH"):
        monkeypatch.setenv(name, "x")
    given = programs.environment([planted])
    assert given["PATH"] == "/usr/bin:/bin"
    assert set(given).isdisjoint({"API_KEY", "PYTHONPATH", "LD_PRELOAD", "GIT_DIR"})
    assert "LD_LIBRARY_PATH" not in given
