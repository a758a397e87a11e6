import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.secrets.redactor import Redactor
from assistant.tools.files.access import Roots
from assistant.tools.files.read import reading_tools, searching_tools
from assistant.tools.files.write import writing_tools
from assistant.tools.policy import ApproveAll
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import Call, calling

NOBODY = 65534


def test_a_file_is_read_exactly(call: Call, workspace: Workspace) -> None:
    (workspace.root / "a.txt").write_bytes("\ufeffone\r\ntwo\u2028still two\n\tthree".encode())
    assert call("read_file", path="a.txt").content == "one\r\ntwo\u2028still two\n\tthree"


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [(2, 3, "2\n3"), (1, 2, "1\n2"), (4, 0, "4\n5\n"), (5, 99, "5\n"), ("3", "3", "3")],
)
def test_lines_can_be_chosen(
    call: Call, workspace: Workspace, start: object, end: object, text: str
) -> None:
    (workspace.root / "a.txt").write_text("1\n2\n3\n4\n5\n")
    found = call("read_file", path="a.txt", start_line=start, end_line=end).content
    assert found.removesuffix("\n") == text.removesuffix("\n")


def test_a_cut_says_how_to_read_on_and_nothing_is_missed(call: Call, workspace: Workspace) -> None:
    whole = "".join(f"line {number} {'x' * 90}\n" for number in range(2000))
    (workspace.root / "long.txt").write_text(whole)
    gathered, start = "", 1
    for _ in range(20):
        found = call("read_file", path="long.txt", start_line=start).content
        text, note, rest = found.partition("\n[Lines ")
        if not note:
            gathered += text
            break
        gathered += text + "\n"
        start = int(rest.partition("start_line=")[2].removesuffix(".]"))
    assert gathered == whole


def test_one_endless_line_is_cut_too(call: Call, workspace: Workspace) -> None:
    (workspace.root / "min.js").write_text("x" * 100_000 + "\nend\n")
    content = call("read_file", path="min.js").content
    assert "Line 1 has 100,001 characters" in content
    assert "start_line=2" in content
    assert len(content) < 41_000


def test_an_empty_file_and_a_line_past_the_end(call: Call, workspace: Workspace) -> None:
    (workspace.root / "empty").touch()
    assert call("read_file", path="empty").content == "(empty)"
    assert "has 1 line;" in call("read_file", path="MEMORY.md", start_line=9).content


def test_other_encodings_are_shown_with_a_notice(call: Call, workspace: Workspace) -> None:
    (workspace.root / "latin").write_bytes("café".encode("latin-1"))
    content = call("read_file", path="latin").content
    assert content.startswith("caf�")
    assert "Not UTF-8" in content


@pytest.fixture
def odd_files(workspace: Workspace) -> Path:
    """One of each thing that is no ordinary text file."""
    root = workspace.root
    (root / "binary").write_bytes(b"\x7fELF\0\0\0")
    with (root / "huge").open("wb") as huge:
        huge.truncate(1_000_000_000)
    os.mkfifo(root / "pipe")
    (root / "directory").mkdir()
    (root / "dangling").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    (root / "original").write_text("x")
    (root / "twin").hardlink_to(root / "original")
    (root / "device").symlink_to("/dev/zero")
    return root


ODD = {
    "binary": "binary",
    "huge": "1,000,000,000 bytes",
    "pipe": "named pipe",
    "directory": "directory",
    "dangling": "no file",
    "loop": "a symbolic link to itself",
    "twin": "hard link",
    "device": "outside",
    "missing": "no file",
    "binary/x": "not a directory",
    "a\0b": "NUL",
    "": "directory",
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("tool", ["read_file", "edit_file"])
def test_what_is_no_text_file_is_a_clear_error(
    call: Call, odd_files: Path, tool: str, name: str
) -> None:
    extra = {} if tool == "read_file" else {"old_text": "x", "new_text": "y"}
    before = sorted(odd_files.iterdir())
    result = call(tool, path=name, **extra)
    assert result.error
    expected = "not UTF-8" if (tool, name) == ("edit_file", "binary") else ODD[name]
    assert expected in result.content
    assert sorted(odd_files.iterdir()) == before


@pytest.fixture
def somebody() -> Iterator[Path]:
    """A directory that everybody can enter, used as an ordinary user: root can read everything."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        place.chmod(0o755)
        (place / "locked").write_text("x")
        (place / "locked").chmod(0)
        (place / "shut").mkdir(mode=0)
        before = os.geteuid()
        if before == 0:
            os.seteuid(NOBODY)
        yield place
        os.seteuid(before)
        (place / "shut").chmod(0o700)


def test_what_cannot_be_read_or_written_is_a_clear_error(somebody: Path) -> None:
    roots = Roots(Workspace(somebody))
    tools = [*reading_tools(roots), *searching_tools(roots)]
    call = calling(Toolbox([*tools, *writing_tools(roots, Redactor())]), ApproveAll())
    assert "Permission denied" in call("read_file", path="locked").content
    assert "Permission denied" in call("read_file", path="shut/x").content
    assert "Permission denied" in call("list_files", path="shut").content
    searched = call("grep", pattern="x").content
    assert "1 file could not be read" in searched
    assert "1 directory could not be opened" in searched
    assert "1 directory" in call("find_files", pattern="*").content
    if os.access(somebody, os.W_OK, effective_ids=True):
        somebody.chmod(0o555)
    assert "Permission denied" in call("write_file", path="new", text="x").content
    assert sorted(path.name for path in somebody.iterdir()) == ["locked", "shut"]


def test_a_directory_is_listed(call: Call, odd_files: Path) -> None:
    lines = call("list_files").content.split("\n")
    assert "directory/" in lines
    assert "MEMORY.md 9" in lines
    assert "dangling (link)" in lines
    assert call("list_files", path="directory").content == "(empty)"
    assert call("list_files", path="missing").error
    assert call("list_files", path="binary").error


def test_a_long_listing_is_cut(call: Call, workspace: Workspace) -> None:
    place = workspace.root / "many"
    place.mkdir()
    for number in range(1010):
        (place / f"{number:04}").touch()
    assert "10 more" in call("list_files", path="many").content
