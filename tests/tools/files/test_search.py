import os
from pathlib import Path

import pytest
import regex

from assistant.display import counted
from assistant.tools.files.access import Roots
from assistant.tools.files.read import searching_tools
from assistant.tools.policy import DenyAll, within
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import Call, calling


@pytest.fixture
def project(workspace: Workspace, outside: Path) -> Path:
    root = workspace.root
    files = {
        "a.py": "import os\nTOKEN = 1\n",
        "src/b.py": "def token():\r\n    return 'straße'\r\n",
        "src/deep/c.ts": "const token = 2\n",
        "src/deep/d.tsx": "\ufefftoken\n",
        "docs/x.md": "# Token\n",
        ".env": "token\n",
        ".git/config": "token\n",
        "node_modules/m.js": "token\n",
        ".assistant/sessions/s.jsonl": "token\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    (root / "blob").write_bytes(b"token\0token\n")
    (root / "link.py").symlink_to(outside / "secret.txt")
    (root / "linked").symlink_to(outside)
    os.mkfifo(root / "pipe")
    return root


GLOBS = {
    "*.py": ["a.py", "src/b.py"],
    "src/*.py": ["src/b.py"],
    "src/**/*.ts": ["src/deep/c.ts"],
    "**/*.{ts,tsx}": ["src/deep/c.ts", "src/deep/d.tsx"],
    "?.py": ["a.py", "src/b.py"],
    "[!a].*": ["docs/x.md", "src/b.py", "src/deep/c.ts", "src/deep/d.tsx"],
    ".env": [".env"],
    "src/**": ["src/b.py", "src/deep/c.ts", "src/deep/d.tsx"],
    "secret.txt": [],
}


@pytest.mark.parametrize("pattern", GLOBS)
def test_files_are_found_by_name(call: Call, project: Path, pattern: str) -> None:
    found = call("find_files", pattern=pattern)
    assert found.content == "\n".join(GLOBS[pattern]) or not GLOBS[pattern]
    assert found.compact == counted(len(GLOBS[pattern]), "file")


def test_finding_below_a_directory_names_files_from_the_workspace(
    call: Call, project: Path
) -> None:
    assert call("find_files", pattern="*.tsx", path="src/deep").content == "src/deep/d.tsx"
    assert call("find_files", pattern="*", path="missing").error
    assert call("find_files", pattern="*", path="../outside").error
    assert call("find_files", pattern="*", path="linked").error


def test_too_many_files_are_cut_with_a_notice(call: Call, workspace: Workspace) -> None:
    for number in range(510):
        (workspace.root / f"{number:03}.txt").touch()
    assert "10 more" in call("find_files", pattern="*.txt").content


def test_braces_and_stars() -> None:
    assert within("a/**/c.py").matches("a/b/c.py")
    assert within("a/**/c.py").matches("a/c.py")
    assert not within("a/*/d.py").matches("a/b/c.py")
    assert not within("a/*.py").matches("a/b/c.py")


def test_lines_are_found(call: Call, project: Path) -> None:
    assert call("grep", pattern="token").content.split("\n") == [
        ".env:1: token",
        "src/b.py:1: def token():",
        "src/deep/c.ts:1: const token = 2",
        "src/deep/d.tsx:1: token",
    ]
    assert call("grep", pattern="token", path="src/b.py").content == "src/b.py:1: def token():"
    assert call("grep", pattern="jewels").content == "No line matches."


LINES = ["token", "", "  a = token()", "TOKEN", "straße", "to", "ken", "x\\", "b b", "\ttab"]
PATTERNS = [
    "token",
    "^token$",
    "TOKEN|straße",
    "t(?=oken\\(\\))",
    "^\\s*a",
    "\\btoken\\b$",
    "[^a]*+$",
    "(?<!n)$",
    "\\Ato\\Z",
    "^$",
    "\\W$",
    "(?i)to.*",
]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_line_is_found_as_if_it_stood_alone(
    call: Call, workspace: Workspace, pattern: str, ending: str
) -> None:
    (workspace.root / "a.txt").write_bytes(ending.join(LINES).encode())
    expected = [
        f"{number}: {line.strip()}"
        for number, line in enumerate(LINES, 1)
        if regex.search(pattern, line)
    ]
    assert call("grep", pattern=pattern, path="a.txt").content == "\n".join(
        f"a.txt:{each}" for each in expected
    )


def test_a_bad_pattern_is_a_clear_error(call: Call, project: Path) -> None:
    assert "not a regular expression" in call("grep", pattern="(").content


def test_a_pattern_that_would_take_for_ever_is_stopped(roots: Roots, workspace: Workspace) -> None:
    (workspace.root / "a.txt").write_text("a" * 5000 + "!\n")
    call = calling(Toolbox(searching_tools(roots, seconds=0.3)), DenyAll())
    result = call("grep", pattern=r"^(?:a|a|aa)+$")
    assert result.error
    assert "simpler pattern" in result.content


def test_files_that_cannot_be_read_are_counted(call: Call, workspace: Workspace) -> None:
    (workspace.root / "one").write_text("token\n")
    (workspace.root / "two").hardlink_to(workspace.root / "one")
    with (workspace.root / "huge").open("wb") as huge:
        huge.truncate(1_000_000_000)
    content = call("grep", pattern="token").content
    assert content.startswith("No line matches.")
    assert "3 files could not be read" in content


def test_many_matches_are_cut_with_a_notice(call: Call, workspace: Workspace) -> None:
    (workspace.root / "a.txt").write_text("token " + "x" * 1000 + "\n" + "token\n" * 299)
    result = call("grep", pattern="token")
    assert "100 more lines" in result.content
    assert result.compact == "300 matches in 1 file"
    assert max(map(len, result.content.split("\n"))) < 400
