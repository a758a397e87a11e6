from assistant.messages import ToolCall
from assistant.tools.policy import DenyAll
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.toolbox import Toolbox
from tests.tools.conftest import Call, calling


def box(scratch: Scratch) -> Call:
    return calling(Toolbox(scratch_tools(scratch), off_the_record=True), DenyAll())


def test_notes_gather_and_can_be_replaced() -> None:
    scratch = Scratch()
    call = box(scratch)
    call("note", text="the door is red")
    call("note", text="the key is blue")
    assert scratch.render() == "the door is red\nthe key is blue"
    call("note", text="both are green", replace=True)
    assert scratch.render() == "both are green"


def test_notes_have_a_limit_and_a_refused_one_changes_nothing() -> None:
    scratch = Scratch()
    call = box(scratch)
    call("note", text="x" * 7_999)
    assert "Shorten them" in call("note", text="more").content
    assert scratch.notes == "x" * 7_999


def test_a_plan_is_shown_with_its_state() -> None:
    scratch = Scratch()
    tasks = [
        {"text": "look", "status": "done"},
        {"text": "edit", "status": "doing"},
        {"text": "test"},
    ]
    result = box(scratch)("plan", tasks=tasks)
    assert result.content == scratch.render() == "[x] look\n[>] edit\n[ ] test"
    assert result.compact == "1/3 done"
    assert box(scratch)("plan", tasks=[{"text": "a", "status": "lost"}]).error


def test_a_resumed_session_takes_up_where_it_was() -> None:
    calls = [
        ToolCall("1", "note", {"text": "a"}),
        ToolCall("2", "read_file", {"path": "x"}),
        ToolCall("3", "plan", {"tasks": '[{"text": "one"}]'}),
        ToolCall("4", "note", {"text": "b"}),
    ]
    first, second = Scratch(), Scratch()
    first.replay(calls)
    assert first.render() == "a\nb\n\n[ ] one"
    second.replay([])
    assert second.render() == ""
