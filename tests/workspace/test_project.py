"""The project that a folder belongs to."""

import subprocess
from pathlib import Path

import pytest

from assistant.memory.text.headings import concerns_project
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
    own = project.addresses(heron.parent / place)
    assert bool(own) == bool(name)
    assert concerns_project([f"Project: {name or 'heron'}"], own) == bool(name)
    assert not concerns_project(["Project: other"], own)


@pytest.mark.parametrize("worktree", ["inner/fix", "inner/near", "../outer", "../relative"])
def test_a_worktree_is_of_its_repositorys_project(heron: Path, worktree: str) -> None:
    assert project.addresses(heron / worktree) == project.addresses(heron) == (str(heron),)


def test_repositories_whose_folders_have_one_name_are_two_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    places = ("home/a/api", "home/b/api", "home/api", "api", "home/a/api/api", "home/a/a/api")
    for place in places:
        git("init", "-q", tmp_path / place, folder=tmp_path)
    headings = []
    for place in places:
        monkeypatch.chdir(tmp_path / place)
        headings.append(project.section())
    assert headings[0] == "Project: ~/a/api"
    for heading, place in zip(headings, places, strict=True):
        for other in places:
            own = project.addresses(tmp_path / other)
            for title in (
                heading,
                f"Memory › {heading}",
                f"{heading} › Ports -- 2026-11-01",
                f"{heading} -- 2026-11-01 › Ports -- 2026-11-01",
            ):
                assert concerns_project([title, "Ports"], own) == (place == other), (title, other)
            assert concerns_project(["Project: api"], own)  # as the owner writes it
    nested = project.addresses(tmp_path / "home" / "a" / "a" / "api")
    assert concerns_project(["Project: a/api"], nested)
    assert not concerns_project(["Project: b/api"], nested)
    assert not concerns_project(["Project: pi"], nested)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/ada/shop.git",
        "https://ada:p@ss@GitHub.com/Ada/Shop",
        "ssh://git@github.com:22/ada/shop.git/",
        "git@github.com:ada/shop.git",
        "github.com:/ada/shop",
    ],
)
def test_all_clones_of_a_remote_are_one_project(tmp_path: Path, url: str) -> None:
    git("init", "-q", "shop", folder=tmp_path)
    git("remote", "add", "upstream", "https://example.org/other/shop", folder=tmp_path / "shop")
    before = project.addresses(tmp_path / "shop")
    git("remote", "add", "origin", url, folder=tmp_path / "shop")
    git("remote", "add", "fork", "https://example.org/fork/shop", folder=tmp_path / "shop")
    git("commit", "-q", "--allow-empty", "-m", "Begin", folder=tmp_path / "shop")
    git("worktree", "add", "-q", "../tried", folder=tmp_path / "shop")
    for clone in ("shop", "tried"):
        own = project.addresses(tmp_path / clone)
        assert own == ("github.com/ada/shop", *before)  # what it had stays
