"""A secret goes into a command only with a yes, and comes out of one in no disguise."""

import random
import re
import string
import threading
from pathlib import Path

import pytest

from assistant.messages import ToolCall
from assistant.secrets.redactor import Redactor
from assistant.settings.tools import PolicySettings
from assistant.tools.disguises import cleansed
from assistant.tools.files.read import reading_tools
from assistant.tools.files.roots import Roots
from assistant.tools.policy import ApproveAll, Decision, Policy
from assistant.tools.shell.command import Shell
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import calling

SECRETS = {
    "DOOR": "open-sesame-4711",
    "LONG": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYabcdef",
    "WORDS": "nine tame herons",
}
DISGUISES = {
    "reversed": "rev key",
    "base64": "base64 key",
    "base64 within a text": 'echo "x$(cat key)yz" | base64 -w0',
    "base64 of the reversed": "rev key | base64 -w0",
    "base64 twice": "base64 -w0 key | base64 -w0",
    "base64 of hex": "python3 -c \"print(open('key').read().encode().hex())\" | base64 -w0",
    "base64 for addresses": "base64 -w0 key | tr +/ -_",
    "base32": "base32 -w0 key",
    "hex": "python3 -c \"print(open('key').read().encode().hex())\"",
    "capital hex": "python3 -c \"print(open('key').read().encode().hex().upper())\"",
    "hex with colons": "python3 -c \"print(open('key').read().encode().hex(':'))\"",
    "escaped": "od -An -v -tx1 key | tr -d '\\n' | sed 's/ /\\\\x/g'",
    "a dump": "od -An -tx1 -v key",
    "a dump of words": "od -An -tx2 -v key",
    "a dump with addresses": "od -Ax -tx1z -v key",
    "octal": "od -An -b -v key | tr -d '\\n'",
    "decimal": "python3 -c \"print(list(open('key','rb').read()))\"",
    "url-encoded": "python3 -c \"print(''.join(f'%{c:02X}' for c in open('key','rb').read()))\"",
    "letter-spaced": "sed 's/./& /g' key",
    "a letter a line": "fold -w1 key",
    "dotted": "sed 's/./&./g' key",
    "quoted": "python3 -c \"print(list(open('key').read()))\"",
    "reversed and spaced": "rev key | sed 's/./& /g'",
    "in capitals": "tr a-z A-Z < key",
    "rot13": "tr 'A-Za-z' 'N-ZA-Mn-za-m' < key",
    "folded": "fold -w5 key",
    "base64 reversed": "base64 -w0 key | rev",
    "hex of UTF-16": "iconv -t UTF-16LE key | od -An -v -tx1",
    "base85": "python3 -c \"import base64 as b;print(b.b85encode(open('key','rb').read()))\"",
    "uuencoded": "python3 -c \"import binascii as b;print(b.b2a_uu(open('key','rb').read()))\"",
    "plain octal": "python3 -c \"print(*(f'{c:o}' for c in open('key','rb').read()))\"",
    "bits": "python3 -c \"print(*(f'{c:08b}' for c in open('key','rb').read()))\"",
    "bits in a row": "python3 -c \"print(bin(int.from_bytes(open('key','rb').read())))\"",
    "characters of od": "od -An -c -v key | tr -d '\\n'",
    "every second letter": "sed 's/\\(.\\)./\\1/g' key",
    "a letter between each two": "sed 's/./&x/g' key",
    "gzip": "gzip -c key | base64 -w0",
    "gzip over lines": "(seq 99; cat key) | gzip -c | base64",
    "gzip in hex": "gzip -c key | od -An -v -tx1 | tr -d ' \\n'",
    "gzip of the reversed, twice": "rev key | gzip -c | base64 -w0 | base64 -w0",
    "bzip2": "bzip2 -c key | base64 -w0",
    "xz": 'python3 -c "import lzma,base64 as b;'
    "print(b.b64encode(lzma.compress(open('key','rb').read())).decode())\"",
    "zlib": 'python3 -c "import zlib,base64 as b;'
    "print(b.b64encode(zlib.compress(open('key','rb').read())).decode())\"",
}


@pytest.fixture
def box(roots: Roots) -> Toolbox:
    redactor = Redactor(SECRETS)
    shell = Shell(roots, redactor, threading.Event()).as_tool()
    return Toolbox([shell, *reading_tools(roots)], Policy(roots.rules), redactor)


@pytest.mark.parametrize("name", SECRETS)
def test_no_output_carries_a_secret_out_in_disguise(
    box: Toolbox, workspace: Workspace, name: str
) -> None:
    (workspace.root / "key").write_text(SECRETS[name])
    for kind, command in DISGUISES.items():
        (workspace.root / "out").unlink(missing_ok=True)
        result = calling(box, ApproveAll())("shell", command=f"({command}) > out; cat out")
        printed = (workspace.root / "out").read_text()
        assert printed, kind
        assert f"[[secret:{name} in disguise]]" in result.content, (kind, printed, result.content)
        left = re.sub(r"\[\[.*?\]\]", "", result.content)
        assert len(left) < 20 + len(printed) / 3, (kind, printed, left)
        read = calling(box, ApproveAll())("read_file", path="out")
        assert "in disguise" in read.content, kind


def test_innocent_output_is_left_as_it_is(box: Toolbox, workspace: Workspace) -> None:
    chance = random.Random(7)
    lines = ["".join(chance.choices(string.printable[:95], k=80)) for _ in range(400)]
    text = "\n".join([*lines, *map(str, range(500)), Path(__file__).read_text()[:900]])
    redactor = Redactor({"A": "hunter22", "B": "7319846205"})
    assert cleansed(redactor, text) == redactor.redact(text)


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
    shell = Shell(roots, Redactor(SECRETS), threading.Event()).as_tool()
    box = Toolbox([shell], Policy(roots.rules), Redactor(SECRETS))
    assert box.review(ToolCall("1", "shell", {"command": "ls"})).action == "run"
    given = ToolCall("1", "shell", {"command": "curl -H [[secret:DOOR]]"})
    assert box.review(given).action == "ask"


def test_a_reason_holds_no_secret(box: Toolbox) -> None:
    verdict = box.review(ToolCall("1", "shell", {"command": "ls", "outside": True}))
    denied = box.settle(verdict, Decision("no", f"use {SECRETS['DOOR']} instead"))
    assert "use [[secret:DOOR]] instead" in box.run(denied).content
