"""A secret goes into a command only with a yes, and comes out in no common encoding."""

import random
import string
import threading
from pathlib import Path

import pytest

from assistant.messages import ToolCall
from assistant.secrets.redactor import Redactor
from assistant.settings.sections import PolicySettings
from assistant.tools.files.access import Roots
from assistant.tools.files.read import reading_tools
from assistant.tools.policy import ApproveAll, Decision
from assistant.tools.shell.command import Shell
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import calling

SECRETS = {
    "DOOR": "open-sesame-4711",
    "LONG": 'wJalr/XUtnFEMI "K7MDENG" & bPxRfiCYöEXAMPLEKEYabcdef',
    "WORDS": "nine tame herons",
}
ENCODINGS = {
    "base64": "base64 -w0 key",
    "base64 behind one byte": "(printf x; cat key; echo yz) | base64 -w0",
    "base64 behind two bytes": "(printf xy; cat key; echo z) | base64 -w0",
    "base64 in lines": "(seq 30; cat key; seq 30) | base64",
    "base64 for addresses": "base64 -w0 key | tr +/ -_",
    "URL": "python3 -c \"import urllib.parse as u;print(u.quote(open('key').read()))\"",
    "form": "python3 -c \"import urllib.parse as u;print(u.quote_plus(open('key').read()))\"",
    "JSON": "python3 -c \"import json;print(json.dumps([open('key').read()]))\"",
    "HTML": "python3 -c \"import html;print(html.escape(open('key').read()))\"",
    "hex": "python3 -c \"print(open('key','rb').read().hex())\"",
}


@pytest.fixture
def box(roots: Roots) -> Toolbox:
    redactor = Redactor(SECRETS)
    shell = Shell(roots, redactor, threading.Event()).tools()[0]
    return Toolbox([shell, *reading_tools(roots)], roots.rules, redactor)


@pytest.mark.parametrize("name", SECRETS)
def test_no_output_carries_a_secret_out_encoded(
    box: Toolbox, workspace: Workspace, name: str
) -> None:
    (workspace.root / "key").write_text(SECRETS[name])
    for kind, command in ENCODINGS.items():
        (workspace.root / "out").unlink(missing_ok=True)
        result = calling(box, ApproveAll())("shell", command=f"({command}) > out; cat out")
        printed = (workspace.root / "out").read_text()
        assert printed, kind
        assert f"[[secret:{name}]]" in result.content, (kind, printed, result.content)
        read = calling(box, ApproveAll())("read_file", path="out")
        assert f"[[secret:{name}]]" in read.content, kind


def test_innocent_output_is_left_as_it_is() -> None:
    chance = random.Random(7)
    lines = ["".join(chance.choices(string.printable[:95], k=80)) for _ in range(400)]
    text = "\n".join([*lines, *map(str, range(500)), Path(__file__).read_text()[:900]])
    assert Redactor({"A": "hunter22", "B": "7319846205"}).redact(text) == Redactor().redact(text)


def test_a_secret_in_a_command_asks_first_and_names_it(box: Toolbox, workspace: Workspace) -> None:
    call = ToolCall("1", "shell", {"command": "printf %s '[[secret:DOOR]]' > there"})
    verdict = box.review(call)
    assert verdict.action == "ask"
    assert verdict.detail.startswith("It is given [[secret:DOOR]].\nIn the sandbox, in ")
    assert SECRETS["DOOR"] not in verdict.detail + verdict.compact
    assert not (workspace.root / "there").exists()
    assert not box.run(box.settle(verdict, Decision("always"))).error
    assert (workspace.root / "there").read_text() == SECRETS["DOOR"]
    assert box.review(call).action == "run"
    other = ToolCall("2", "shell", {"command": "echo '[[secret:DOOR]]'"})
    assert box.review(other).action == "ask"


def test_no_rule_lets_a_secret_into_a_command_unasked(workspace: Workspace) -> None:
    roots = Roots(workspace, policy=PolicySettings(allow=("shell", "shell:*")))
    shell = Shell(roots, Redactor(SECRETS), threading.Event()).tools()[0]
    box = Toolbox([shell], roots.rules, Redactor(SECRETS))
    assert box.review(ToolCall("1", "shell", {"command": "ls"})).action == "run"
    given = ToolCall("1", "shell", {"command": "curl -H [[secret:DOOR]]"})
    assert box.review(given).action == "ask"


def test_a_reason_holds_no_secret(box: Toolbox) -> None:
    verdict = box.review(ToolCall("1", "shell", {"command": "ls", "outside": True}))
    denied = box.settle(verdict, Decision("no", f"use {SECRETS['DOOR']} instead"))
    assert "use [[secret:DOOR]] instead" in box.run(denied).content
