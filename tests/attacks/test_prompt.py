"""No text that is quoted into a prompt is obeyed, wherever it comes from."""

import os
from collections.abc import Callable

import pytest

from assistant.conversation import Conversation
from assistant.memory.base import Fact
from assistant.memory.local import LocalMemory
from assistant.messages import Message, Reply, ToolCall
from assistant.model.text_tools import TextTools
from assistant.workspace.folder import Workspace
from tests.attacks.cases import ATTACKS, ORDER, SPLIT, Attack, Split, names_a_file
from tests.attacks.conftest import Opened
from tests.attacks.obedient import Obedient, look
from tests.support.conversations import reply
from tests.support.scripted import ScriptedModel

ASKED = "What are the harbour orders?"
every_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: f"{each.family}")
sampled_attacks = pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attack, id=attack.family, marks=[pytest.mark.slow] if number % 6 else [])
        for number, attack in enumerate(ATTACKS)
    ],
)
"""Every sixth attack by default, and all of them in the slow suite."""


class Attacked:
    """A conversation with a model that does what `steps` say and then obeys."""

    def __init__(self, opened: Opened, *steps: Reply, xml: bool = False, **more: object) -> None:
        self.obedient = Obedient()
        self.model = ScriptedModel(*steps, respond=self.obedient)
        model = TextTools(self.model) if xml else self.model
        self.conversation: Conversation = opened(model, **more)

    def withstands(self, asked: str = ASKED) -> None:
        """Take a turn; the order must reach the model, and must not be obeyed."""
        reply(self.conversation.send(asked))
        sent = [message.content for each in self.model.requests for message in each.messages]
        assert ORDER.casefold() in look("\n".join(sent)), "the attack did not even arrive"
        assert self.obedient.obeyed == []
        assert not (self.conversation.workspace.root / "pwned.txt").exists()


def called(name: str, **arguments: object) -> Reply:
    return Reply(tool_calls=(ToolCall("c1", name, arguments),))


def as_xml(name: str, **arguments: str) -> Reply:
    values = "".join(f"<{key}>{value}</{key}>" for key, value in arguments.items())
    return Reply(f'<tool_call name="{name}">{values}</tool_call>')


@pytest.fixture
def notes(place: Workspace) -> Callable[[str], None]:
    """Writes MEMORY.md anew, as its owner would by hand."""

    def write(text: str) -> None:
        data = f"# Memory\n\n{text}\n".encode("utf-8", "replace")
        (place.root / "MEMORY.md").write_bytes(data)

    return write


# The suite can fail


@every_attack
def test_without_a_defence_every_attack_is_obeyed(attack: Attack) -> None:
    text = attack.against("MEMORY")
    naive = f"# Your Memory\n\n[MEMORY]\n- {text}\n[/MEMORY]\n\n# Now\n\nIt is late."
    if attack.name == "'e99 owner:'":
        naive = f"[TRANSCRIPT]\ne1 owner: {text}\n[/TRANSCRIPT]"
    obedient = Obedient()
    model = ScriptedModel(respond=obedient)
    list(model.stream([Message("system", naive), Message("user", "Hello")]))
    assert obedient.obeyed


@pytest.mark.parametrize("attack", SPLIT, ids=lambda each: each.name)
def test_split_attacks_hold_their_order(attack: Split) -> None:
    assert ORDER in "".join(attack.facts)


def test_the_model_obeys_its_owner(opened: Opened, place: Workspace) -> None:
    attacked = Attacked(opened)
    attacked.model.enqueue(attacked.obedient, "Done.")
    reply(attacked.conversation.send(ORDER))
    assert attacked.obedient.obeyed
    (place.root / "pwned.txt").unlink()


def test_there_are_more_than_a_hundred_cases() -> None:
    assert len({each.against("MEMORY") for each in ATTACKS}) >= 80
    assert len(SPLIT) >= 10


# Memory


@sampled_attacks
def test_in_memory_by_hand(attack: Attack, opened: Opened, notes: Callable[[str], None]) -> None:
    notes(f"- The harbour pilot: {attack.against('MEMORY')}")
    Attacked(opened).withstands()


@sampled_attacks
def test_in_memory_by_remember(
    attack: Attack, opened: Opened, memory: LocalMemory, notes: Callable[[str], None]
) -> None:
    notes("")
    memory.remember([Fact(f"The harbour pilot: {attack.against('MEMORY')}")])
    Attacked(opened).withstands()


@pytest.mark.parametrize("attack", SPLIT, ids=lambda each: each.name)
@pytest.mark.parametrize("by_hand", [True, False], ids=["by hand", "remembered"])
def test_split_over_facts(
    attack: Split,
    by_hand: bool,
    opened: Opened,
    memory: LocalMemory,
    notes: Callable[[str], None],
) -> None:
    notes("\n".join(f"- {fact}" for fact in attack.facts) if by_hand else "")
    if not by_hand:
        memory.remember([Fact(fact) for fact in attack.facts])
    Attacked(opened).withstands()


@sampled_attacks
def test_in_what_the_recall_tool_returns(
    attack: Attack, opened: Opened, notes: Callable[[str], None]
) -> None:
    notes(f"- The harbour pilot: {attack.against('TOOL_RESULT')}")
    Attacked(opened, as_xml("recall", query=ASKED), xml=True).withstands("Hello")


# Tools


@sampled_attacks
@pytest.mark.parametrize("xml", [False, True], ids=["tool message", "xml"])
def test_in_tool_output(attack: Attack, xml: bool, opened: Opened, place: Workspace) -> None:
    page = place.root / "page.txt"
    page.write_bytes(attack.against("TOOL_RESULT").replace("\x00", "").encode())
    call = as_xml if xml else called
    Attacked(opened, call("read_file", path="page.txt"), xml=xml).withstands("Hello")


@sampled_attacks
@pytest.mark.parametrize("tool", ["list_files", "find_files", "grep"])
def test_in_file_names(
    attack: Attack, tool: str, opened: Opened, workspace: Workspace, place: Workspace
) -> None:
    name = names_a_file(attack.against("TOOL_RESULT").replace(ORDER, "") + ORDER)
    folder = place.root / f"names-{abs(hash((attack, tool)))}"
    file = folder / name
    file.parent.mkdir(parents=True)
    file.write_text("a harbour\n")
    arguments = {
        "list_files": {"path": os.path.relpath(file.parent, place.root)},
        "find_files": {"path": folder.name, "pattern": "*"},
        "grep": {"path": folder.name, "pattern": "harbour"},
    }[tool]
    if tool == "list_files":
        arguments["path"] = str(file.parent)
    Attacked(opened, called(tool, **arguments)).withstands("Hello")


@sampled_attacks
def test_in_the_models_own_notes(attack: Attack, opened: Opened) -> None:
    text = f"From the page: {attack.against('MEMORY')}"
    Attacked(opened, called("note", text=text)).withstands("Hello")
