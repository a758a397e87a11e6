"""`init` makes a workspace, and overwrites nothing."""

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.errors import WorkspaceError
from assistant.workspace import template
from assistant.workspace.folder import find

ROOT = Path(__file__).resolve().parents[2]
FILES = ("AGENTS.md", "HEARTBEAT.md", "IDENTITY.md", "MEMORY.md", "SOUL.md", "USER.md")


def test_a_new_workspace(tmp_path: Path) -> None:
    created = template.create(tmp_path / "deep" / "mind")
    assert (created.added, created.kept) == (FILES, ())
    private = created.workspace.private
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert (private / ".gitignore").read_text() == "*\n"
    assert find(tmp_path / "deep" / "mind") == created.workspace


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_bytes(b"mine\r\n")
    (tmp_path / "USER.md").symlink_to(tmp_path / "elsewhere.md")
    (tmp_path / ".assistant").mkdir(mode=0o755)
    (tmp_path / ".assistant" / ".gitignore").write_text("mine\n")
    created = template.create(tmp_path)
    assert created.kept == ("SOUL.md", "USER.md")
    assert (tmp_path / "SOUL.md").read_bytes() == b"mine\r\n"
    assert not (tmp_path / "elsewhere.md").exists()
    assert (tmp_path / ".assistant" / ".gitignore").read_text() == "mine\n"
    assert stat.S_IMODE((tmp_path / ".assistant").stat().st_mode) == 0o700
    assert template.create(tmp_path).added == ()


def test_places_where_there_can_be_none(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(WorkspaceError, match="is a file"):
        template.create(file)
    with pytest.raises(WorkspaceError, match="no workspace can be created"):
        template.create(file / "below")


def test_the_template_is_found_in_an_installed_package(tmp_path: Path) -> None:
    """As in a wheel: the package with its template inside, and no checkout around it."""
    site = tmp_path / "site"
    shutil.copytree(ROOT / "assistant", site / "assistant")
    shutil.copytree(ROOT / "workspace", site / "assistant" / "_template")
    code = (
        "from pathlib import Path; from assistant.workspace import template;"
        "print(template.__file__);"
        f"template.create(Path({str(tmp_path / 'made')!r}))"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=site, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(site))
    assert sorted(path.name for path in (tmp_path / "made").glob("*.md")) == list(FILES)
