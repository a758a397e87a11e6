import re
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import cast

import pytest

from assistant.errors import ToolError
from assistant.memory.base import Memory
from assistant.messages import ToolCall
from assistant.secrets.redactor import Redactor
from assistant.settings.sections import PolicySettings, WebSettings
from assistant.tools.base import RESULT_LIMIT, Plan, Tool, ToolResult, awaited, tool
from assistant.tools.files.access import Roots
from assistant.tools.files.read import reading_tools, searching_tools
from assistant.tools.files.write import writing_tools
from assistant.tools.memory import memory_tools
from assistant.tools.outside import web_tools as web
from assistant.tools.owner import asking_tool
from assistant.tools.policy import DENIED, Decision, Rules
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.shell.command import Jobs, Shell, job_tools
from assistant.tools.toolbox import Toolbox
from assistant.tools.web.browser import Browser, browsing_tool
from assistant.workspace.folder import Workspace


def echo(text: str) -> str:
    """Say it again."""
    return text


def break_down(how: str) -> str:
    """Fail."""
    if how == "tool":
        raise ToolError("the hammer is missing", "Buy one")
    if how == "interrupt":
        raise KeyboardInterrupt
    raise ZeroDivisionError("nothing to divide by")


def scribble(text: str) -> str:
    """Write."""
    return text


def blow_up(what: str) -> Plan:
    """Destroy."""
    return Plan(lambda: ToolResult("gone"), (what,), lambda: f"{what} will be gone", dangerous=True)


TOOLS = [tool(echo), tool(break_down), tool(scribble, writes=True), tool(blow_up)]


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall("1", name, arguments)


def run(box: Toolbox, wanted: ToolCall) -> ToolResult:
    return box.run(box.review(wanted))


def test_an_answer_that_comes_as_the_wait_ends_is_not_lost() -> None:
    class Late(Future[str]):
        def result(self, timeout: float | None = None) -> str:
            if self.done():
                return super().result()
            self.set_result("here")
            raise TimeoutError

    assert awaited(Late(), 1, threading.Event()) == "here"


def test_a_call_runs() -> None:
    assert run(Toolbox(TOOLS), call("echo", text="hello")) == ToolResult("hello", compact="hello")


def test_a_question_shows_every_argument_whole_where_the_tool_shows_nothing() -> None:
    box = Toolbox(TOOLS, Rules(PolicySettings(ask=("echo",))))
    long = "harmless " * 40 + "and then not"
    assert box.review(call("echo", text=long)).detail == f'text: "{long}"'


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (call("ehco", text="x"), ["no tool 'ehco'", "did you mean echo?", "blow_up"]),
        (call("echo", txt="x"), ["`text` is required", "no parameter `txt`"]),
        (ToolCall("1", "echo", fault="the arguments are no JSON"), ["the arguments are no JSON"]),
        (call("break_down", how="tool"), ["the hammer is missing. Buy one"]),
        (call("break_down", how="other"), ["ZeroDivisionError", "nothing to divide by"]),
    ],
)
def test_no_mistake_of_the_model_raises(wanted: ToolCall, words: list[str]) -> None:
    result = run(Toolbox(TOOLS), wanted)
    assert result.error
    for word in words:
        assert word in result.content


def test_an_interrupt_is_a_result_that_ends_the_turn() -> None:
    result = run(Toolbox(TOOLS), call("break_down", how="interrupt"))
    assert result.error and result.interrupted


def test_a_dangerous_call_asks_and_shows_what_it_would_do() -> None:
    box = Toolbox(TOOLS)
    verdict = box.review(call("blow_up", what="the bridge"))
    assert (verdict.action, verdict.detail) == ("ask", "the bridge will be gone")
    assert box.run(verdict).error
    assert box.run(box.settle(verdict, Decision("once"))).content == "gone"


def test_a_refusal_carries_its_reason_to_the_model() -> None:
    box = Toolbox(TOOLS)
    verdict = box.settle(
        box.review(call("blow_up", what="the bridge")), Decision("no", "I still need it")
    )
    result = box.run(verdict)
    assert result.error
    assert "did not allow" in result.content
    assert "I still need it" in result.content


def test_always_holds_for_the_same_call_and_no_other() -> None:
    box = Toolbox(TOOLS)
    bridge = call("blow_up", what="the bridge")
    box.settle(box.review(bridge), Decision("always"))
    assert box.review(bridge).action == "run"
    assert box.review(call("blow_up", what="the tower")).action == "ask"


def test_off_the_record_only_tools_that_write_nothing_are_offered_and_run() -> None:
    box = Toolbox(TOOLS, off_the_record=True)
    assert "scribble" not in [spec.name for spec in box.specs()]
    assert run(box, call("scribble", text="x")).error


def test_the_list_is_made_anew_each_round() -> None:
    there = [True]
    box = Toolbox([tool(echo, available=lambda: there[0])])
    assert [spec.name for spec in box.specs()] == ["echo"]
    there[0] = False
    assert box.specs() == []
    assert run(box, call("echo", text="x")).error


def grouped() -> list[Tool]:
    return [tool(echo), tool(scribble, group="writing"), tool(blow_up, group="mining")]


def test_more_tools_are_fetched_by_group() -> None:
    box = Toolbox(grouped())
    specs = {spec.name: spec for spec in box.specs()}
    assert list(specs) == ["echo", "load_tools"]
    assert "writing (scribble)" in specs["load_tools"].description
    assert "mining (blow_up)" in specs["load_tools"].description
    assert "no group 'painting'" in run(box, call("load_tools", group="painting")).content
    assert "scribble" in run(box, call("load_tools", group="writing")).content
    run(box, call("load_tools", group="mining"))
    assert [spec.name for spec in box.specs()] == ["echo", "scribble", "blow_up"]


def test_a_tool_called_by_name_before_its_group_is_fetched_is_fetched_with_it() -> None:
    box = Toolbox(grouped())
    assert run(box, call("scribble", text="x")).content == "x"
    assert "scribble" in [spec.name for spec in box.specs()]


def test_a_long_result_is_cut_with_a_notice() -> None:
    result = run(Toolbox(TOOLS), call("echo", text="x" * 81_234))
    assert len(result.content) <= RESULT_LIMIT
    assert "[Cut: characters 0 to 20,000 of 81,234." in result.content


def test_a_secret_reaches_the_tool_and_never_the_model() -> None:
    seen = []

    def send(text: str) -> str:
        """Send."""
        seen.append(text)
        return f"sent {text}"

    box = Toolbox([tool(send)], redactor=Redactor({"DOOR": "open-sesame"}))
    result = run(box, call("send", text="say [[secret:DOOR]]"))
    assert seen == ["say open-sesame"]
    assert result.content == "sent say [[secret:DOOR]]"
    assert "open-sesame" not in result.compact


def test_a_tool_that_stores_is_given_the_stand_in() -> None:
    box = Toolbox([tool(echo, restores=False)], redactor=Redactor({"DOOR": "open-sesame"}))
    assert run(box, call("echo", text="[[secret:DOOR]]")).content == "[[secret:DOOR]]"
    seen = []

    def keep(texts: list[str]) -> str:
        """Keep."""
        seen.extend(texts)
        return "kept"

    box = Toolbox([tool(keep, restores=False)], redactor=Redactor({"DOOR": "open-sesame"}))
    run(box, call("keep", texts=["open-sesame", "[[secret:DOOR]]"]))
    assert seen == ["[[secret:DOOR]]", "[[secret:DOOR]]"]


def test_an_approval_and_a_failure_show_no_secret() -> None:
    box = Toolbox(TOOLS, redactor=Redactor({"DOOR": "open-sesame"}))
    verdict = box.review(call("blow_up", what="[[secret:DOOR]]"))
    assert "open-sesame" not in verdict.detail + verdict.compact
    unknown = box.review(call("open-sesame"))
    assert "open-sesame" not in box.run(unknown).content


def test_a_denied_call_says_so() -> None:
    box = Toolbox(TOOLS, Rules(PolicySettings(deny=("echo",))))
    assert "rules deny" in run(box, call("echo", text="x")).content


def test_the_documentation_lists_every_tool_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs/tools.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    place = Roots(Workspace(Path.cwd()))
    tools = [
        *memory_tools(cast(Memory, None), place),
        *reading_tools(place),
        *searching_tools(place),
        *writing_tools(place, Redactor()),
        *Shell(place, Redactor(), threading.Event()).tools(),
        *job_tools(Jobs(), threading.Event()),
        *scratch_tools(Scratch()),
        asking_tool(),
        *web(WebSettings(fetch=True, search="brave"), threading.Event()).tools,
        browsing_tool(cast(Browser, None)),
    ]
    elsewhere = {"load_tools", "read_on", "delegate", "agenda", "remind"}
    assert documented == {each.name for each in tools} | elsewhere


@pytest.mark.parametrize("rule", ["echo", "echo:*", "ec*", "{echo,other}"])
def test_a_tool_that_is_denied_altogether_is_not_offered(rule: str) -> None:
    box = Toolbox(TOOLS, Rules(PolicySettings(deny=(rule,))))
    assert "echo" not in [spec.name for spec in box.specs()]
    assert "scribble" in [spec.name for spec in box.specs()]
    assert run(box, call("echo", text="x")).content == DENIED


def test_even_the_loader_can_be_switched_off() -> None:
    box = Toolbox(grouped(), Rules(PolicySettings(deny=("load_tools",))))
    assert [spec.name for spec in box.specs()] == ["echo"]


def test_a_long_result_is_read_on_to_its_end() -> None:
    text = "".join(f"{number}\n" for number in range(12_000))

    def long() -> str:
        """Say much."""
        return text

    box, texts = Toolbox([tool(long)]), list[str]()
    box.texts = lambda: texts
    result = run(box, call("long"))
    texts.append(result.whole)
    read, parts = result.content, []
    while found := re.search(r"\n\[Cut: .*Read on with read_on, result=1, offset=(\d+)\.\]$", read):
        parts.append(read[: found.start()])
        assert len(read) <= RESULT_LIMIT
        read = run(box, call("read_on", result=1, offset=int(found[1]))).content
    assert "".join([*parts, read]) == text
    assert len(parts) > 1
