"""The project that a folder belongs to."""

import subprocess
from pathlib import Path

import pytest

from assistant.workspace import project


def git(*words: object, folder: Path) -> None:
    own = ["-c", "user.name=Ada", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *own, *map(str, words)], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def heron(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with worktrees of all kinds, a submodule, and links to it."""
    folder = tmp_path_factory.mktemp("code")
    for name in ("heron", "lib"):
        git("init", "-q", name, folder=folder)
        git("commit", "-q", "--allow-empty", "-m", "first", folder=folder / name)
    root = folder / "heron"
    git("submodule", "add", "-q", "../lib", "parts/lib", folder=root)
    git("worktree", "add", "-q", root / "inner" / "fix", folder=root)
    git("worktree", "add", "-q", folder / "outer", folder=root)
    git("worktree", "add", "-q", folder / "of-lib", folder=root / "parts" / "lib")
    for bare in ("wren.git", "robin/.bare"):
        git("clone", "-q", "--bare", "lib", bare, folder=folder)
        git("worktree", "add", "-q", "../branch-of-" + bare[:4], folder=folder / bare)
    (folder / "relative").mkdir()
    (folder / "relative" / ".git").write_text("gitdir: ../heron/.git/worktrees/relative\n")
    (root / "inner" / "near").mkdir()
    (root / "worktrees" / "egg").mkdir(parents=True)
    (root / "worktrees" / "egg" / ".git").write_text("gitdir: ../../.git/modules/worktrees/egg\n")
    (root / "inner" / "near" / ".git").write_text("gitdir: ../../.git/worktrees/near\n")
    (folder / "link").symlink_to(root)
    (folder / "link-into").symlink_to(root / "parts")
    return root


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("heron", "heron"),
        ("heron/parts", "heron"),
        ("heron/parts/lib", "lib"),
        ("heron/inner/fix", "heron"),
        ("heron/inner/near", "heron"),
        ("heron/worktrees/egg", "egg"),
        ("outer", "heron"),
        ("relative", "heron"),
        ("of-lib", "lib"),
        ("branch-of-wren", "wren"),
        ("robin/branch-of-robi", "robin"),
        ("link", "heron"),
        ("link-into", "heron"),
        ("heron/../heron/parts", "heron"),
        (".", ""),
        ("missing/folder", ""),
    ],
)
def test_a_folder_belongs_to_the_repository_around_it(heron: Path, place: str, name: str) -> None:
    assert project.current(heron.parent / place) == name
