"""How many secrets are found, and how many innocent lines are left alone: `cases/`."""

import base64
import json
import random
from collections.abc import Callable

import pytest

from assistant.secrets.redactor import Redactor
from tests.secrets.made import HALVES, innocents, secrets

RECALL, PRECISION = 0.98, 0.995
"""The least share of secrets found, and of innocent lines left as they are."""


def lines_behind(prefix: str) -> Callable[[str], str]:
    return lambda text: "\n".join(prefix + line for line in text.split("\n"))


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "prose": lambda text: f"We set it up last week like this: {text}\nand it has worked since.",
    "fence": lambda text: f"Run this on the server:\n\n```sh\n{text}\n```\n\nThen wait.",
    "list": lambda text: f"Steps:\n- stop it\n- {lines_behind('  ')(text).lstrip()}\n- start it",
    "diff": lambda text: f"--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n{lines_behind('+')(text)}\n b",
    "JSON string": lambda text: json.dumps({"content": f"$ run\n{text}\ndone"}),
    "numbered": lambda text: "     1\tfirst\n" + lines_behind("     2\t")(text),
    "log": lines_behind("2026-11-21T10:00:00Z INFO deploy[312]: "),
    "CRLF": lambda text: f"first\n{text}\nlast\n".replace("\n", "\r\n"),
    "script": lambda text: f"#!/bin/sh\nset -eu\n{text}\necho done\n",
    "table": lambda text: "| a | b |\n|---|---|\n| 2 | " + text.replace("\n", "<br>") + " | yes |",
}
UNWRAPPINGS: dict[str, Callable[[str], str]] = {
    "JSON string": lambda text: json.loads(text)["content"],
    "CRLF": lambda text: text.replace("\r\n", "\n"),
    "table": lambda text: text.replace("<br>", "\n"),
}
WRAPPED_RECALL = 0.95


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_secrets_are_found_in_whatever_they_are_wrapped(wrapping: str) -> None:
    wrap, unwrap = WRAPPINGS[wrapping], UNWRAPPINGS.get(wrapping, str)
    cases = [case for half in HALVES for case in secrets(half, seeds=1)]
    missed = [case for case in cases if case.leaks(unwrap(Redactor().redact(wrap(case.text))))]
    assert len(missed) <= (1 - WRAPPED_RECALL) * len(cases), [case.text for case in missed]
    redactor = Redactor()
    texts = [wrap(case.text) for half in HALVES for case in innocents(half)]
    assert [text for text in texts if redactor.redact(text) != text] == []


@pytest.mark.parametrize(
    "wrap", ["{}", '<img src="data:image/png;base64,{}">', '{{"data": "{}"}}', "body: {}"]
)
def test_blobs_of_base64_are_left_as_they_are(wrap: str) -> None:
    redactor = Redactor()
    for seed in range(50):
        blob = base64.b64encode(random.Random(seed).randbytes(600)).decode()
        lines = "\n".join(blob[at : at + 76] for at in range(0, len(blob), 76))
        for text in map(wrap.format, (blob, lines)):
            assert redactor.redact(text) == text


def test_backup_codes_are_codes_and_not_the_words_behind_them() -> None:
    for words in ("Call me at 5 when you have 8 of them", "- print them 2 times", "see page 12"):
        assert Redactor().redact(f"backup codes:\n{words}") == f"backup codes:\n{words}"
    for codes in ("\n1234-5678 abcd-ef12\n2345-6789", " 12345678, 23456789"):
        assert "2345" not in Redactor().redact(f"backup codes:{codes}")


@pytest.mark.parametrize("half", HALVES)
def test_secrets_are_found_as_they_stand_in_files_headers_and_shells(half: str) -> None:
    cases = list(secrets(half))
    missed = [case for case in cases if case.leaks(Redactor().redact(case.text))]
    assert len({case.kind for case in cases}) >= 150
    assert len(missed) <= (1 - RECALL) * len(cases), [case.text for case in missed]


@pytest.mark.parametrize("half", HALVES)
def test_innocent_lines_are_left_as_they_are(half: str) -> None:
    lines = [case.text for case in innocents(half)]
    touched = [line for line in lines if Redactor().redact(line) != line]
    assert len(lines) >= 300
    assert len(touched) <= (1 - PRECISION) * len(lines), touched


@pytest.mark.parametrize("half", HALVES)
def test_what_was_replaced_is_put_back_and_not_replaced_again(half: str) -> None:
    redactor = Redactor()
    for case in secrets(half, seeds=1):
        redacted = redactor.redact(case.text)
        assert redactor.restore(redacted) == case.text
        assert redactor.redact(redacted) == redacted
