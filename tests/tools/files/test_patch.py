import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assistant.disk import storage
from assistant.errors import ToolError
from assistant.tools.files.patch import FilePatch, Hunk, apply, parse
from assistant.workspace.folder import Workspace
from tests.support.examples import examples
from tests.support.faults import FailingDisk, using
from tests.tools.conftest import Call

POEM = "".join(f"line {number}\n" for number in range(1, 21))


def patched(before: str, patch: str) -> str:
    (only,) = parse(patch)
    return apply(before, only)


def test_a_hunk_replaces_lines_in_its_context() -> None:
    after = patched("a\nb\nc\n", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
    assert after == "a\nB\nc\n"


@pytest.mark.parametrize(
    "header",
    [
        "@@ -5,3 +5,3 @@",
        "@@ -9,3 +9,3 @@",
        "@@ -5,9 +5,1 @@",
        "@@ -1 +1 @@ def f():",
        "@@",
        "@@ @@",
    ],
)
def test_numbers_and_counts_are_hints_and_the_context_decides(header: str) -> None:
    patch = f"--- a/x\n+++ b/x\n{header}\n line 5\n-line 6\n+LINE 6\n line 7\n"
    assert patched(POEM, patch) == POEM.replace("line 6\n", "LINE 6\n")


def test_a_context_that_is_not_there_is_named_with_what_is() -> None:
    with pytest.raises(ToolError) as caught:
        patched(POEM, "--- a/x\n+++ b/x\n@@ -5,2 +5,2 @@\n line 5\n-line six\n+LINE\n")
    assert "hunk 1 of x (@@ -5,2 +5,2 @@) does not apply" in caught.value.message
    assert "expects 'line six' at line 6, the file has 'line 6'" in caught.value.message


def test_a_context_in_two_places_is_refused_unless_the_line_number_says_which() -> None:
    twice = "a\nb\nc\nx\na\nb\nc\n"
    hunk = " a\n-b\n+B\n c\n"
    with pytest.raises(ToolError, match=r"2 places \(lines 1, 5\)"):
        patched(twice, f"--- a/x\n+++ b/x\n@@\n{hunk}")
    at_five = patched(twice, f"--- a/x\n+++ b/x\n@@ -5,3 +5,3 @@\n{hunk}")
    assert at_five == "a\nb\nc\nx\na\nB\nc\n"


def test_blank_context_may_have_lost_its_space() -> None:
    assert patched("a\n\nb\n", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n") == "a\n\nB\n"


def test_blank_lines_between_files_belong_to_neither() -> None:
    first, second = parse(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+A\n\n\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-b\n+B\n"
    )
    assert first.hunks[0].lines == [("-", "a"), ("+", "A")]
    assert second.name == "y"


def test_deleted_lines_that_look_like_headers_are_lines() -> None:
    before = "-- a comment\nselect 1;\n"
    patch = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- a comment\n+-- b comment\n select 1;\n"
    assert patched(before, patch) == "-- b comment\nselect 1;\n"
    patch = "--- a/q\n+++ b/q\n@@ -1 +1 @@\n--- a comment\n+++ b comment\n@@ -2,1 +2,1 @@\n-x\n+y\n"
    assert patched("-- a comment\nx\n", patch) == "++ b comment\ny\n"


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "b\n"),
        ("a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "b"),
        ("a", "@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n", "a\nb\n"),
        ("a", "@@ -1 +1,2 @@\n a\n+b\n", "a\nb"),
        ("a\nb", "@@ -1 +1 @@\n-a\n+A\n", "A\nb"),
        ("a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n", "a\r\nx\r\nb\r\n"),
        ("a\n", "@@ -1 +0,0 @@\n-a\n", ""),
        ("a\nb\n", "@@ -1,0 +2 @@\n+x\n", "a\nx\nb\n"),
    ],
)
def test_ends_of_files_and_lines_stay_as_they_are(before: str, patch: str, after: str) -> None:
    assert patched(before, f"--- a/x\n+++ b/x\n{patch}") == after


@pytest.mark.parametrize(
    ("patch", "old", "new"),
    [
        ("--- x\n+++ x\n@@\n-a\n+b\n", "x", "x"),
        ("--- a/x\t2026-11-21\n+++ b/x\t2026-11-21\n@@\n-a\n+b\n", "x", "x"),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", None, "x"),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "x", None),
        ("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "x", "y"),
        ("diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@\n+b\n", None, "x"),
        ("diff --git a/x b/x\nnew file mode 100644\nindex 000..e69\n", None, "x"),
        ("diff --git a/x b/x\ndeleted file mode 100644\n", "x", None),
        ('--- "a/caf\\303\\251"\n+++ "b/caf\\303\\251"\n@@\n-a\n+b\n', "café", "café"),
        ("--- a/a b\n+++ b/a b\n@@\n-a\n+b\n", "a b", "a b"),
        ("```diff\n--- a/x\n+++ b/x\n@@\n-a\n+b\n```", "x", "x"),
        ("Here it is:\n\n--- a/x\n+++ b/x\n@@\n-a\n+b\n", "x", "x"),
    ],
)
def test_headers(patch: str, old: str | None, new: str | None) -> None:
    (only,) = parse(patch)
    assert (only.old, only.new) == (old, new)


@pytest.mark.parametrize(
    "patch", ["", "hello", "@@ -1 +1 @@\n-a\n+b\n", "GIT binary patch", "--- a/x\n", "```\n```"]
)
def test_what_is_no_patch_is_refused(patch: str) -> None:
    with pytest.raises(ToolError):
        parse(patch)


LINE = st.text("ab +-@\\", max_size=4)
TEXT = st.lists(LINE, max_size=12).map(lambda lines: "".join(f"{line}\n" for line in lines))


@examples(500)
@given(before=TEXT, after=TEXT)
def test_every_diff_of_two_texts_turns_the_one_into_the_other(before: str, after: str) -> None:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), "a/x", "b/x"
    )
    patch = "".join(lines)
    if patch:
        assert patched(before, patch) == after


FRAGMENTS = (
    "--- a/x\n|+++ b/x\n|+++ /dev/null\n|@@ -1,2 +1,2 @@\n|@@\n| a\n|-a\n|+b\n|diff --git a/x b/y\n"
    "|rename from x\n|\\ No newline at end of file\n|\n|```\n|@@ -9999999999 +1 @@\n|-- \n|--- "
    "|deleted file mode 1\n"
)
PIECES = st.sampled_from(FRAGMENTS.split("|"))


@examples(500)
@given(st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join), TEXT)
@example("diff --git a/x b/y\n@@ -9999999999 +1 @@\n@@ -9999999999 +1 @@\n--- a/x\n", "")
def test_any_text_is_parsed_or_refused(patch: str, text: str) -> None:
    try:
        for each in parse(patch):
            apply(text, each)
    except ToolError:
        pass


def test_git_agrees(tmp_path: Path) -> None:
    """What we apply to several files is what git itself makes of the same patch."""
    run = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(tmp_path)]
    files = {"a.py": POEM, "b.py": POEM.replace("line", "row"), "c.py": "gone\n"}
    subprocess.run([*run, "init", "-q"], check=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    subprocess.run([*run, "add", "."], check=True)
    subprocess.run([*run, "commit", "-qm", "x"], check=True)
    changed = POEM.replace("line 3\n", "").replace("line 18\n", "line 18\nline 18.5\n")
    (tmp_path / "a.py").write_text(changed)
    (tmp_path / "b.py").rename(tmp_path / "d e.py")
    (tmp_path / "c.py").unlink()
    (tmp_path / "new.py").write_text("new\n")
    subprocess.run([*run, "add", "-A"], check=True)
    diff = subprocess.run(
        [*run, "diff", "--cached", "-M"], check=True, capture_output=True, text=True
    )
    patches = {(each.old, each.new): each for each in parse(diff.stdout)}
    assert set(patches) == {("a.py", "a.py"), ("b.py", "d e.py"), ("c.py", None), (None, "new.py")}
    assert apply(POEM, patches["a.py", "a.py"]) == changed
    assert apply("", patches[None, "new.py"]) == "new\n"
    assert apply("gone\n", patches["c.py", None]) == ""


MANY = (
    "--- a/one\n+++ b/one\n@@ -1 +1 @@\n-1\n+I\n"
    "--- /dev/null\n+++ b/deep/new\n@@ -0,0 +1 @@\n+new\n"
    "--- a/two\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n"
    "--- a/three\n+++ b/drei\n@@ -1 +1 @@\n-3\n+III\n"
)


@pytest.fixture
def three(workspace: Workspace) -> Path:
    for name, text in {"one": "1\n", "two": "2\n", "three": "3\n"}.items():
        (workspace.root / name).write_text(text)
    (workspace.root / "three").chmod(0o700)
    return workspace.root


def tree(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text() if path.is_file() else "/"
        for path in root.rglob("*")
    }


def test_one_patch_changes_creates_deletes_and_renames(approved: Call, three: Path) -> None:
    result = approved("apply_patch", patch=MANY)
    assert not result.error
    assert tree(three) == {
        "MEMORY.md": "# Memory\n",
        "one": "I\n",
        "deep": "/",
        "deep/new": "new\n",
        "drei": "III\n",
    }
    assert (three / "drei").stat().st_mode & 0o777 == 0o700


def test_deleting_asks(call: Call, three: Path) -> None:
    assert "did not allow" in call("apply_patch", patch=MANY).content
    assert (three / "one").read_text() == "1\n"


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("--- a/nine\n+++ b/nine\n@@ -1 +1 @@\n-9\n+IX\n", "nine, which does not exist"),
        ("--- /dev/null\n+++ b/MEMORY.md\n@@ -0,0 +1 @@\n+x\n", "exists already"),
        ("--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ -1 +1 @@\n-# Mem\n+x\n", "hunk 1 of MEMORY.md"),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "outside"),
        ("--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+x\n", "outside"),
        ("--- a/MEMORY.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-# Memo\n", "MEMORY.md"),
        ("--- a/one\n+++ b/one\n@@ -1 +1 @@\n-1\n+II\n", "one"),
    ],
)
def test_all_or_nothing(approved: Call, three: Path, last: str, words: str) -> None:
    before = tree(three)
    result = approved("apply_patch", patch=MANY + last)
    assert result.error
    assert words in result.content
    assert tree(three) == before


def test_a_patch_that_fails_half_way_is_rolled_back(approved: Call, three: Path) -> None:
    """The disk fills up at each step in turn."""

    class Failing(storage.Disk):
        left = 0

        def sync(self, descriptor: int) -> None:
            Failing.left -= 1
            if Failing.left == 0:
                raise OSError(5, "Input/output error")
            super().sync(descriptor)

    before = tree(three)
    for step in range(1, 9):
        Failing.left = step
        with using(Failing()):
            assert approved("apply_patch", patch=MANY).error, step
        assert tree(three) == before, step
        assert (three / "three").stat().st_mode & 0o777 == 0o700


def test_a_disk_that_fails_for_good_is_told_with_what_it_left(approved: Call, three: Path) -> None:
    with using(FailingDisk(4, for_good=True)):
        result = approved("apply_patch", patch=MANY)
    assert result.error and "cannot be restored" in result.content


def test_a_hunk_knows_its_two_sides() -> None:
    hunk = Hunk("@@", 1, [(" ", "a"), ("-", "b"), ("+", "c")])
    assert (hunk.old, hunk.new) == (["a", "b"], ["a", "c"])
    assert FilePatch("x", None).name == "x"
