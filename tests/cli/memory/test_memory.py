"""Memory from the shell: what is printed, to whom, and how it ends."""

import json
import os
import re
from datetime import date
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_main import loaded, run_assistant


@pytest.mark.slow
def test_a_fact_goes_in_is_recalled_forgotten_and_brought_back(place: Path, run: Run) -> None:
    stored = json.loads(run("remember", "The door code is 4711", "--json").stdout)
    assert stored["status"] == "stored"
    line = (place / "MEMORY.md").read_text().splitlines()[stored["line"] - 1]
    assert line == "- The door code is 4711"

    again = run("remember", "the door code is 4711.")
    assert again.stdout == f"Already known: MEMORY.md:{stored['line']}\n"

    twin = json.loads(run("remember", "The door code is 4712", "--json").stdout)
    assert twin["status"] == "stored"
    assert [each["id"] for each in twin["similar"]] == [stored["id"]]

    found = json.loads(run("recall", "door code", "-k", "2", "--json").stdout)
    assert {each["id"] for each in found["passages"]} == {stored["id"], twin["id"]}
    assert found["tokens"] == sum(-(-len(each["text"]) // 4) for each in found["passages"])

    target = f"MEMORY.md:{stored['line']}"
    refused = run("forget", target)
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert run("forget", target, "--yes").returncode == 0
    assert "4711" not in (place / "MEMORY.md").read_text()
    assert run("memory", "undo").returncode == 0
    assert "4711" in (place / "MEMORY.md").read_text()
    actions = [each["action"] for each in json.loads(run("memory", "log", "--json").stdout)]
    assert actions.count("remember") == 2


def test_a_fact_that_replaces_another_strikes_it_through(place: Path, run: Run) -> None:
    old = json.loads(run("remember", "Lives in Berlin", "--json").stdout)
    new = run("remember", "Lives in Lisbon", "--replaces", old["id"], "--json")
    assert json.loads(new.stdout)["status"] == "superseded"
    text = (place / "MEMORY.md").read_text()
    assert "~~Lives in Berlin~~ (superseded " in text
    found = run("recall", "where does he live", "-k", "8").stdout
    assert "Lisbon" in found
    assert "Berlin" not in found
    everything = run("recall", "where does he live", "--all").stdout
    assert everything.index("- Lives in Lisbon") < everything.index("~~Lives in Berlin~~")


def test_a_fact_stands_under_the_heading_that_is_named_or_one_of_its_day(
    place: Path, run: Run
) -> None:
    path = place / "MEMORY.md"
    path.write_text("# Memory\n\n## Lena\n\n- Lena sails\n\n## Boats\n\n- Red ones\n")
    assert run("remember", "Lena moors at Hoorn", "--section", "Work").returncode == 0
    assert run("remember", "Lena has a dinghy").returncode == 0
    assert run("remember", "Lena likes Ada", "--section", "Boats").returncode == 0
    text = path.read_text()
    assert "- Red ones\n- Lena likes Ada <!-- " in text
    day = date.today().isoformat()
    assert f"## Work -- {day}\n\n- Lena moors at Hoorn\n" in text
    assert f"## Remembered -- {day}\n\n- Lena has a dinghy\n" in text


@pytest.mark.parametrize(
    ("name", "above"),
    [
        ("garten", "- Rasen"),
        ("Family (Müller-Ōkawa & co.)", "- Anna"),
        ("PEOPLE › family (müller-ōkawa & co.)", "- Anna"),
        ("Work: Projekt Ümläut/2", "- Plan"),
        ("People", "- All of them"),
    ],
)
def test_a_heading_is_named_by_its_own_name_at_any_level(
    place: Path, run: Run, name: str, above: str
) -> None:
    path = place / "MEMORY.md"
    path.write_text(
        "# Memory\n\n## Garten\n\n- Rasen\n\n# People\n\n- All of them\n\n"
        "## Family (Müller-Ōkawa & co.)\n\n- Anna\n\n### Work: Projekt Ümläut/2\n\n- Plan\n"
    )
    assert run("remember", "Ben sails", "--section", name).returncode == 0
    assert f"{above}\n- Ben sails <!-- " in path.read_text()


def test_recall_reads_one_query_a_line(run: Run) -> None:
    queries = "spare key\nhow do I change your tone?\n"
    told = run("recall", "-", "-k", "1", stdin=queries).stdout
    first, second = told.split("how do I change your tone?\n")
    assert first.startswith("spare key\nMEMORY.md:") and "Ada" in first and ".md:" in second
    done = run("recall", "-", "-k", "1", "--json", stdin=queries)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["query"] for each in answers] == ["spare key", "how do I change your tone?"]
    assert "Ada" in answers[0]["passages"][0]["text"]
    assert "IDENTITY.md" in answers[1]["passages"][0]["text"]


def test_a_warm_recall_loads_nothing_heavy(place: Path, run: Run) -> None:
    run("recall", "spare key")
    done = run_assistant("-w", str(place), "recall", "spare key")
    assert done.returncode == 0
    assert "Ada" in done.stdout
    assert loaded(done) == []


def test_a_warm_remember_loads_nothing_heavy(place: Path, run: Run) -> None:
    run("recall", "spare key")
    for words in (("Tom", "sails"), ("-",)):
        done = run_assistant("-w", str(place), "remember", *words, stdin="Mia paints\n")
        assert done.stdout.startswith("Remembered: MEMORY.md:")
        assert loaded(done) == []


def test_output_to_a_pipe_has_no_colour(run: Run) -> None:
    assert "\x1b" not in run("recall", "spare key", "--why").stdout


def test_a_file_that_cannot_be_read_is_told_and_the_others_answer(place: Path, run: Run) -> None:
    (place / "AGENTS.md").write_bytes(b"\xff\xfe no text")
    done = run("recall", "spare key")
    assert done.returncode == 0
    assert "Ada" in done.stdout
    assert "AGENTS.md is not UTF-8" in done.stderr
    assert run("doctor").returncode == 1


def test_an_unknown_setting_is_named_with_its_cure(place: Path, run: Run) -> None:
    path = Path(os.environ["HOME"]) / ".config/assistant/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("[memory]\nkk = 3\n")
    done = run("recall", "spare key")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "'memory.kk'" in done.stderr
    assert "Did you mean memory.k?" in done.stderr


def test_without_the_daemon_the_same_is_found(place: Path, run: Run) -> None:
    with_daemon = json.loads(run("recall", "spare key", "--json").stdout)
    alone = json.loads(run("recall", "spare key", "--json", "--no-daemon").stdout)
    assert [each["id"] for each in alone["passages"]] == [
        each["id"] for each in with_daemon["passages"]
    ]
    assert run("daemon", "stop").stdout == "not running\n"


def test_facts_come_a_line_each_and_words_need_no_quotes(place: Path, run: Run) -> None:
    written = run("remember", "-", "--json", stdin="- Rex is a dog\n\nMia paints\nRex is a dog\n")
    assert [json.loads(line)["status"] for line in written.stdout.splitlines()] == [
        "stored",
        "stored",
        "exists",
    ]
    assert (place / "MEMORY.md").read_text().endswith("\n- Rex is a dog\n- Mia paints\n")
    assert run("remember", "Tom", "sails").stdout.startswith("Remembered: MEMORY.md:")
    assert "Tom sails" in run("recall", "who", "sails", "-k", "1").stdout
    nothing = run("remember", stdin="\n")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    both = run("remember", "-", "--replaces", "MEMORY.md:1", stdin="one\ntwo\n")
    assert both.returncode == 2


@pytest.mark.slow
def test_times_are_local_and_numbers_agree(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "XST-9")
    run("remember", "The door code is 4711")
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d XST  remember ", run("memory", "log").stdout)
    assert re.search(r"AGENTS\.md  \d+ chunks, indexed .* XST\n", run("memory", "status").stdout)
    run("ask", "hello")
    assert re.search(r" XST · 1 turn · ", run("sessions", "list").stdout)
    (place / "HEARTBEAT.md").write_text("- [ ] Water the plants\n")
    assert "HEARTBEAT.md  1 chunk, " in run("memory", "status").stdout


def test_a_budget_that_is_too_small_says_so(run: Run) -> None:
    small = run("recall", "who has the spare key?", "--budget", "2")
    assert (small.returncode, small.stdout) == (0, "")
    assert small.stderr.endswith(  # after what indexing tells on a slow machine
        "The budget is too small: the best passage takes 10 tokens (--budget).\n"
    )
    assert "Ada" in run("recall", "who has the spare key?", "--budget", "10").stdout


def test_a_list_with_superseded_facts_is_piped_in_without_them(place: Path, run: Run) -> None:
    run("remember", "Lives in Lisbon")
    old = json.loads(run("recall", "Lisbon", "--json").stdout)["passages"][0]
    run("remember", "Lives in Ghent", "--replaces", old["id"])
    kept = (place / "MEMORY.md").read_text(encoding="utf-8")
    items = "".join(f"{line}\n" for line in kept.splitlines() if line.startswith("- "))
    piped = run("remember", "-", stdin=f"{items}- Walks to work\n")
    assert "Skipped 1 line" in piped.stderr
    assert (place / "MEMORY.md").read_text(encoding="utf-8").count("Lisbon") == kept.count("Lisbon")
    day = "<!-- 2024-03-01 -->"
    dated = f"- [ ] La bicyclette est à Léa. {day}\n- ~~Vend sa moto~~ {day}\n"
    piped = run("remember", "-", stdin=dated)
    assert "Skipped 1 line" in piped.stderr
    again = (place / "MEMORY.md").read_text(encoding="utf-8")
    assert "- La bicyclette est à Léa.\n" in again and "moto" not in again
    run("remember", "-", stdin=dated)
    assert (place / "MEMORY.md").read_text(encoding="utf-8") == again
    refused = run("remember", "~~Lives in Lisbon~~ (superseded 2026-03-01: Lives in Ghent)")
    assert refused.returncode == 1 and "is struck out" in refused.stderr
