"""How many secrets are found, and how many innocent lines are left alone: `cases/`."""

import pytest

from assistant.secrets.redactor import Redactor
from tests.secrets.made import HALVES, innocents, secrets

RECALL, PRECISION = 0.98, 0.995
"""The least share of secrets found, and of innocent lines left as they are."""


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
