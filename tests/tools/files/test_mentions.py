"""`@file` in a message: what goes with it, and what is refused."""

from pathlib import Path

import pytest

from assistant.errors import UsageError
from assistant.settings.sections import PolicySettings
from assistant.tools.files.mentions import Mentions
from assistant.workspace.folder import Workspace
from tests.support.documents import pdf


@pytest.fixture
def mentions(tmp_path: Path) -> Mentions:
    root, here = tmp_path / "place", tmp_path / "here"
    for folder in (root / "secret", root / "notes", here, tmp_path / "far"):
        folder.mkdir(parents=True)
    (root / "todo.md").write_text("- tea\n")
    (root / "notes" / "my day.txt").write_text("sunny\n")
    (root / "secret" / "a.txt").write_text("hidden\n")
    (root / "cat.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    (root / "blob.bin").write_bytes(b"a\0b")
    (root / "lease.pdf").write_bytes(pdf("The rent is 900 euro"))
    (root / "lease 2026.pdf").write_bytes(pdf("The rent is 950 euro"))
    (root / "scan.pdf").write_bytes(pdf(""))
    (root / "loop").symlink_to("loop")
    (root / "gone").symlink_to("nowhere")
    (here / "main.py").write_text("print(1)\n")
    (tmp_path / "far" / "away.txt").write_text("far\n")
    return Mentions(Workspace(root), PolicySettings(deny=("*:secret/*",)), here)


@pytest.mark.parametrize(
    ("message", "attached"),
    [
        ("look at @todo.md, please", {"todo.md": "- tea\n"}),
        ("(@todo.md)", {"todo.md": "- tea\n"}),
        ('@"notes/my day.txt" and @main.py.', {"notes/my day.txt": "sunny\n", "main.py": ""}),
        ("what is in @notes/?", {"notes/": "my day.txt 6"}),
        ("the rent in @lease.pdf?", {"lease.pdf": "## Page 1\n\nThe rent is 900 euro"}),
        ("@todo.md or @todo.md", {"todo.md": "- tea\n"}),
        ("write to mia@example.com, @mia knows \\@nothing.md", {}),
        ("ask @maria, @nope or @notesy what", {}),
        (f"the key @{'a' * 300} of @~nobody", {}),
    ],
)
def test_what_a_message_names_goes_with_it(
    mentions: Mentions, message: str, attached: dict[str, str]
) -> None:
    found = mentions.attached(message)
    assert list(found) == list(attached)
    assert all(text in found[name] for name, text in attached.items())


def test_a_path_leads_anywhere(mentions: Mentions, tmp_path: Path) -> None:
    path = str(tmp_path / "far" / "away.txt")
    assert mentions.attached(f"see @{path}") == {path: "far\n"}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("see @tdoo.md", "there is no file tdoo.md"),
        ("see @notes/my day.txt", 'there is no file notes/my. Quote its name: @"notes/my day.txt"'),
        ("see @lease 2026.pdf", 'there is no file lease. Quote its name: @"lease 2026.pdf"'),
        ("@todo.mdwhat is left", "there is no file todo.mdwhat. Put a space after @todo.md"),
        ("see @todo.md:12", "there is no file todo.md:12. Put a space after @todo.md"),
        ("see @notes/x", "there is no file notes/x"),
        ("see @secret/a.txt", "rules deny"),
        ("see @notes/../secret/a.txt", "rules deny"),
        ("see @loop", "@loop: loop is a symbolic link to itself"),
        ("see @gone", "@gone: there is no file nowhere"),
        ("see @blob.bin", "binary file of 3 bytes"),
    ],
)
def test_what_cannot_go_with_it_is_named(mentions: Mentions, message: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        mentions.attached(message)


def test_a_picture_is_known_by_its_contents(mentions: Mentions, tmp_path: Path) -> None:
    (tmp_path / "place" / "cat.txt").write_bytes(b"\xff\xd8\xff\xe0 no more")
    found = mentions.attached("compare @cat.png with @cat.txt")
    assert [getattr(each, "media", "") for each in found.values()] == ["image/png", "image/jpeg"]
