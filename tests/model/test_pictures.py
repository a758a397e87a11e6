"""Pictures in messages: told by their contents, made to fit, kept with the session, sent again."""

import io
import os
from pathlib import Path

import pytest
from PIL import Image

from assistant.agent.capture.origins import is_tainted
from assistant.cli.chat.completion import picture_mentions
from assistant.conversation import Conversation
from assistant.errors import ModelError, ModelFailure, UsageError
from assistant.messages import Picture, Reply, ToolCall
from assistant.model.pictures import FITTED_EDGE, MOST_BYTES, picture_of
from assistant.session import keeping, transcript
from assistant.session.entries import AttachmentEntry
from assistant.session.transcript import Transcript
from assistant.tools.base import MOST_PICTURES, ToolResult, tool
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.model.validator import faults
from tests.support.conversations import ListMemory
from tests.support.scripted import ScriptedModel

PLACE = {2: (48.0, 51.0, 30.0)}


def drawn(format: str, size: tuple[int, int] = (64, 48), **more: object) -> bytes:
    out = io.BytesIO()
    Image.effect_noise(size, 90).convert("P" if format == "GIF" else "RGB").save(
        out,
        format,
        **more,  # type: ignore[arg-type]
    )
    return out.getvalue()


def talking(
    place: Workspace, model: ScriptedModel, session: Transcript | None = None
) -> Conversation:
    session = session or transcript.create(place.sessions)
    return Conversation(place, model, ListMemory(), Toolbox([tool(look), tool(note)]), session)


def look(count: int = 1) -> ToolResult:
    """Take pictures."""
    taken = (picture_of(drawn("PNG", (8, 8))) for _ in range(count))
    return ToolResult("Taken.", pictures=tuple(filter(None, taken)))


def note(count: int = 1) -> str:
    """Note something."""
    return "Noted."


def calls(*names: str, **arguments: object) -> Reply:
    return Reply(tool_calls=tuple(ToolCall(name, name, arguments) for name in names))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_what_fits_goes_as_it_is_by_what_is_in_it(format: str) -> None:
    data = drawn(format)
    picture = picture_of(data)
    assert picture is not None
    assert picture.media == f"image/{format.lower()}"
    assert (picture.data, picture.width, picture.height) == (data, 64, 48)
    assert str(picture) == f"a picture: {format}, 64×48"


def test_others_are_made_png_and_what_is_none_is_told() -> None:
    made = picture_of(drawn("TIFF"))
    assert made is not None
    assert made.media == "image/png"
    assert picture_of(b"plain words") is None
    assert picture_of(b"") is None
    with pytest.raises(UsageError, match=r"picture \(HEIC\) cannot be read"):
        picture_of(b"\0\0\0\x18ftypheic\0\0\0\0")


def test_a_photograph_is_made_smaller_turned_and_says_no_more_where_it_was_taken() -> None:
    noted = Image.Exif()
    noted[0x0112] = 6
    noted.get_ifd(0x8825).update(PLACE)
    picture = picture_of(drawn("JPEG", (3000, 2000), quality=100, exif=noted.tobytes()))
    assert picture is not None
    assert len(picture.data) <= MOST_BYTES
    assert (picture.width, picture.height) == (FITTED_EDGE * 2 // 3, FITTED_EDGE)
    with Image.open(io.BytesIO(picture.data)) as image:
        assert not image.getexif()


def test_a_picture_is_kept_with_its_session_and_shown_again(workspace: Workspace) -> None:
    data = drawn("PNG")
    picture = picture_of(data)
    assert picture is not None
    model = ScriptedModel("A cat.", ModelError("no", kind=ModelFailure.BAD_REQUEST), "Grey.")
    talk = talking(workspace, model)
    list(talk.send("what is this?", {"cat.png": picture}))
    list(talk.send("and this?", {"odd.png": picture}))  # it fails, perhaps by the picture
    list(talk.send("which colour has it?"))
    shown = [each.pictures for each in model.requests[-1].messages if each.role == "user"]
    assert [[each.data for each in pictures] for pictures in shown] == [[data], [], []]
    path = talk.transcript.path
    assert path is not None
    (copy,) = path.with_suffix(".pictures").iterdir()
    assert (copy.read_bytes(), copy.stat().st_mode & 0o777) == (data, 0o600)
    talk.transcript.close()
    again = transcript.reopen(path.parent, path.stem)
    (entry,) = [e for e in again.entries if getattr(e, "title", "") == "cat.png"]
    assert isinstance(entry, AttachmentEntry)
    assert (entry.text, entry.picture) == ("(a picture: PNG, 64×48)", copy.name)
    again.close()
    keeping.delete(path.parent, path.stem)
    assert not copy.parent.exists()


def test_off_the_record_no_copy_is_made(workspace: Workspace) -> None:
    model = ScriptedModel("A cat.")
    talk = talking(workspace, model, transcript.off_the_record())
    before = set(talk.workspace.root.rglob("*"))
    list(talk.send("what is this?", {"cat.png": Picture("0.png", 8, 8, b"data")}))
    assert model.requests[0].messages[-1].pictures[0].data == b"data"
    assert not [path for path in set(talk.workspace.root.rglob("*")) - before if path.is_file()]


def test_who_sees_nothing_is_sent_nothing(workspace: Workspace) -> None:
    talk = talking(workspace, ScriptedModel("never", sees=False))
    with pytest.raises(UsageError, match=r"scripted does not accept images, and cat.png is one"):
        list(talk.send("what is this?", {"cat.png": Picture("0.png")}))
    assert not talk.transcript.entries


def test_a_picture_of_a_tool_is_shown_after_the_results_and_kept(workspace: Workspace) -> None:
    model = ScriptedModel(calls("look", "note"), "A harbour.", "Grey.")
    talk = talking(workspace, model)
    list(talk.send("look around"))
    results, (shown,) = model.requests[1].messages[-3:-1], model.requests[1].messages[-1:]
    assert [each.content for each in results] == ["Taken.", "Noted."]
    assert shown.role == "user" and shown.content.startswith("[Picture 1 of look, which came with")
    (picture,) = shown.pictures
    assert picture.data.startswith(b"\x89PNG") and picture.returned
    assert not faults(model.requests[1].messages)
    list(talk.send("which colour?"))
    assert sum(len(each.pictures) for each in model.requests[2].messages) == 1
    path = talk.transcript.path
    assert path is not None
    (copy,) = path.with_suffix(".pictures").iterdir()
    assert copy.read_bytes() == picture.data
    (entry,) = [e for e in talk.transcript.entries if isinstance(e, AttachmentEntry)]
    assert (entry.picture, entry.call_id) == (copy.name, "look") and is_tainted([entry])


def test_who_cannot_see_is_told_that_a_picture_was_left_out(workspace: Workspace) -> None:
    model = ScriptedModel(calls("look"), "I cannot see it.", sees=False)
    talk = talking(workspace, model)
    list(talk.send("look around"))
    (result,) = [each for each in model.requests[1].messages if each.role == "tool"]
    assert result.content == "Taken.\n[Left out: 1 picture, since you cannot be shown pictures.]"
    assert not any(each.pictures for each in model.requests[1].messages)
    assert talk.transcript.path and not talk.transcript.path.with_suffix(".pictures").exists()


def test_of_many_pictures_the_first_of_a_result_and_the_newest_of_a_turn_are_shown(
    workspace: Workspace,
) -> None:
    model = ScriptedModel(calls("look", count=9), calls("look", count=2), "Done.")
    talk = talking(workspace, model)
    list(talk.send("look around"))
    assert "5 pictures, since there are too many" in model.requests[1].messages[-2].content
    assert len(model.requests[1].messages[-1].pictures) == MOST_PICTURES
    shown = [len(each.pictures) for each in model.requests[2].messages if each.role == "user"]
    assert shown == [0, MOST_PICTURES - 2, 2]


def test_pictures_of_tools_leave_before_a_turn_would_be_too_long(workspace: Workspace) -> None:
    model = ScriptedModel(calls("large"), calls("note"), "Done.", context_window=5_000)
    talk = talking(workspace, model)

    def large() -> ToolResult:
        """Take a large picture."""
        return ToolResult("Large.", pictures=(Picture("0.png", 9_000, 9_000, b"data"),) * 3)

    talk.toolbox.add(tool(large))
    list(talk.send("look around"))
    assert len(model.requests) == 3
    assert sum(len(each.pictures) for each in model.requests[1].messages) < 3
    assert "[No longer shown; it can be sent again.]" in model.requests[1].messages[-1].content


def test_off_the_record_a_picture_of_a_tool_is_shown_and_not_kept(workspace: Workspace) -> None:
    model = ScriptedModel(calls("look"), "A harbour.")
    talk = talking(workspace, model, transcript.off_the_record())
    list(talk.send("look around"))
    assert model.requests[1].messages[-1].pictures[0].data.startswith(b"\x89PNG")
    assert not list(talk.workspace.root.rglob("*.png"))


def test_a_pasted_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.png")
    assert picture_mentions(str(tmp_path / "p.png")) == ""
    (tmp_path / "q.png").write_bytes(drawn("PNG"))
    assert picture_mentions(str(tmp_path / "q.png")) == f"@{tmp_path / 'q.png'}"
