"""What an owner gives is theirs: of secrets in it they are asked or told, and none is destroyed."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import ASSISTANT, Run
from tests.cli.tty import Tty

SECRET = "Sommer2024xyz9"
FACT = f"The guest wifi password: {SECRET}"


def memory(place: Path) -> str:
    return (place / "MEMORY.md").read_text(encoding="utf-8")


def terminal(place: Path, *arguments: str) -> Tty:
    return Tty("-w", str(place), *arguments, size=(120, 40))


@pytest.mark.slow
def test_what_only_looks_like_a_secret_stays_as_it_was_given_and_is_told_of(
    place: Path, run: Run
) -> None:
    done = run("remember", FACT)
    assert done.returncode == 0
    assert done.stdout.startswith("Remembered: MEMORY.md:")
    assert "looks like a secret (password, So…z9)" in done.stderr
    assert f"- {FACT}\n" in memory(place)
    spaced = run("remember", "--", f"-  The  other {FACT}")
    assert "looks like a secret (password, So…z9)" in spaced.stderr
    piped = run("remember", "-", "--json", stdin=f"{FACT}\nThe NAS password: Winter!2031\nTea\n")
    told = [json.loads(line) for line in piped.stdout.splitlines()]
    assert [each["status"] for each in told] == ["exists", "stored", "stored"]
    assert told[1]["secrets"] == [{"start": 18, "end": 29, "kind": "password", "certain": False}]
    assert "secrets" not in told[2]
    innocent = "CACHE_KEY=build-2024-11-21-linux and sk-8000-wireless-keyboard"
    card = "My Visa is 4111 1111 1111 1111, valid until 12/29"
    assert run("remember", "-", stdin=f"{innocent}\n{card}\n").stderr == ""
    assert f"- {innocent}\n- {card}\n" in memory(place)


@pytest.mark.slow
def test_a_passage_says_a_stored_secret_to_its_owner_alone(place: Path, run: Run) -> None:
    run("remember", "--as-is", FACT)
    piped = run("recall", "guest wifi password", "-k", "1").stdout
    assert "[[secret:password-" in piped
    assert SECRET not in piped
    with terminal(place, "recall", "guest wifi password", "-k", "1") as tty:
        assert tty.end() == 0
        assert SECRET in tty.text


@pytest.mark.slow
def test_what_is_certainly_a_secret_is_refused_until_its_owner_decides(
    place: Path, run: Run
) -> None:
    run("secrets", "add", "owl", stdin="an owl named Otto")
    before = memory(place)
    fact = "At the house say an owl named Otto"
    refused = run("remember", fact)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the secret owl" in refused.stderr
    assert "--as-is" in refused.stderr and "--secret NAME" in refused.stderr
    told = run("remember", fact, "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout)["secrets"][0] == {
        "start": 17,
        "end": 34,
        "kind": "owl",
        "certain": True,
    }
    assert memory(place) == before
    assert run("remember", fact, "--secret", "owl").returncode == 0
    assert "- At the house say [[secret:owl]]\n" in memory(place)
    assert run("remember", fact, "--as-is").returncode == 0
    assert f"- {fact}\n" in memory(place)


def test_a_key_of_the_environment_is_refused(place: Path) -> None:
    command = [ASSISTANT, "-w", place, "--no-daemon", "remember", "It is nine tame herons"]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "HARBOUR_KEY": "nine tame herons"},
        check=False,
    )
    assert done.returncode == 1
    assert "the secret HARBOUR_KEY" in done.stderr
    assert "herons" not in memory(place)


@pytest.mark.slow
def test_a_secret_is_registered_and_its_stand_in_written(place: Path, run: Run) -> None:
    done = run("remember", FACT, "--secret", "guest_wifi")
    assert done.returncode == 0
    assert "- The guest wifi password: [[secret:guest_wifi]]\n" in memory(place)
    assert SECRET not in memory(place)
    assert run("secrets", "show", "guest_wifi").stdout == f"{SECRET}\n"
    before = memory(place)
    for arguments in (
        ("The door password: Winter!2031", "--secret", "guest_wifi"),  # another secret's name
        ("The door password: Winter!2031", "--secret", "one", "--secret", "two"),
        ("Nothing to hide", "--secret", "one"),
        ("The door password: Winter!2031", "--secret", "one", "--as-is"),
    ):
        assert run("remember", *arguments).returncode == 2
    assert memory(place) == before
    assert run("secrets", "show").stdout == "guest_wifi\n"
    assert run("secrets", "show", "guest_wifi").stdout == f"{SECRET}\n"


def test_at_a_terminal_the_owner_decides_before_anything_is_written(place: Path, run: Run) -> None:
    for answers, status, added in (
        (["n"], 1, ""),
        ([""], 1, ""),
        (["e", "guest_wifi"], 0, "- The guest wifi password: [[secret:guest_wifi]]\n"),
        (["y"], 0, f"- {FACT}\n"),
    ):
        before = memory(place)
        with terminal(place, "remember", FACT) as tty:
            tty.wait("Write it? [y,n,e,?] [n]:")
            assert "secret" in tty.text and memory(place) == before
            for answer, asked in zip(
                answers, ["Write it? [y,n,e,?] [n]:", "Name it"], strict=False
            ):
                tty.wait(asked)
                tty.say(answer)
            assert tty.end() == status
        assert memory(place).removeprefix(before).endswith(added)
        assert (memory(place) == before) is (added == "")
    assert run("secrets", "show", "guest_wifi").stdout == f"{SECRET}\n"


@pytest.mark.slow
def test_the_chat_asks_too_and_tells_what_it_withholds(place: Path) -> None:
    with terminal(place, "chat") as tty:
        tty.wait("›")
        tty.say(f"/remember {FACT}")
        tty.wait("Write it? [y,n,e,?] [n]:")
        tty.say("e")
        tty.wait("Name it")
        tty.say("guest_wifi")
        tty.wait("Remembered: MEMORY.md:")
        tty.say("/recall guest wifi password")
        tty.wait("- The guest wifi password: [[secret:guest_wifi]]")
        tty.say(f"remember that the garage takes {SECRET}, too")
        tty.wait("are neither sent nor stored")
        tty.wait(lambda tty: "the garage takes" in memory(place))
        tty.say("remember that the NAS password: Winter!2031")
        tty.wait("Nothing was written")
        tty.say("/quit")
        assert tty.end() == 0
    assert "- The guest wifi password: [[secret:guest_wifi]]\n" in memory(place)
    assert "- the garage takes [[secret:guest_wifi]], too\n" in memory(place)
    assert "NAS" not in memory(place)
