"""What a coding agent is told at a prompt: few passages, each with evidence of its own."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.integrations.hook_prompt import MOST_PASSAGES
from assistant.memory.base import Query
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace

FACTS = """\
# Memory

- My blood type is A positive
- The spare key is with Ada, next door
- Lena, my sister, lives in Porto
- The dentist is Dr. Okafor, on Elm Street
- I am allergic to penicillin
- The landlord is Mr. Brandt
- Otto the dog is fed at seven
- My passport expires on 2027-03-04
- Mia plays the cello on Tuesdays
- The car is due for inspection in May
- The wifi password of the cabin is on the fridge
- I take my coffee black
- Deploys happen on Fridays at noon
- Staging lives at staging.birch.example
- Use pnpm and never npm in the birch repository
- Commit messages are written in English, in the imperative
- The production database is Postgres 16
- Invoices are numbered without gaps, by law
- Prefer dataclasses to dictionaries for records
- Customers of the invoicing service are billed in euros
"""
CODING = """
Fix the type error in parse_config
Refactor this function to be simpler
Add unit tests for the login handler
Why does this test fail?
Run the tests and fix what breaks
Write a docstring for every public method
Rename the variable key to token everywhere
Explain how the event loop works here
The build is red, have a look
continue
yes, do it
Looks good, commit it
Replace the regex with a proper parser
Make the class generic over its element type
Add a --verbose flag to the CLI
There is a race condition in cache.py, find it
Handle the case where the list is empty
Type-check src/app.ts and repair what mypy finds
Split utils.js into two modules
Move the constants to the top of the file
I get a KeyError in line 40, what is wrong?
What does this function return?
My test hangs, can you see why?
Optimise the inner loop of matmul.c
Convert the callbacks to async/await
Add a retry with exponential backoff
Where is the configuration loaded?
Undo the last change
Show me the diff
Update the README for the new option
""".strip().splitlines()
NEEDED = [
    ("Deploy the service now", "Fridays"),
    ("When do we deploy?", "Fridays"),
    ("Open a browser test against staging", "staging.birch"),
    ("Install the dependencies of the birch frontend", "pnpm"),
    ("Write the commit message in the imperative", "imperative"),
    ("Write a migration for the production database", "Postgres"),
    ("Generate the next invoice number in billing.py", "without gaps"),
    ("Use dictionaries for the records of the parser", "dataclasses"),
    ("Which currency are the customers billed in?", "euros"),
    ("Who has the spare key?", "Ada"),
    ("What is my blood type?", "A positive"),
    ("When does my passport expire?", "2027-03-04"),
    ("Where does my sister live?", "Porto"),
    ("What am I allergic to?", "penicillin"),
]


PERSONAL = """\
- My wife Carla is pregnant, the baby is due in March
- My salary is 5,400 euros a month
- The owner's wife Carla takes folic acid
- I pay the invoices of the gardener in March
- Ada has the key to the house in Elm Street
- I have a blood test on Friday
"""
WORK = """\
- Our build uses pytest with xdist
- I always want commit messages in imperative mood
- I use uv, not pip, for Python projects
- We use ruff
- The linter of the frontend is biome
"""
OF_WORK = [
    ("what does our build use?", "xdist"),
    ("commit this with a good message", "mood"),
    ("how do I want commit messages?", "mood"),
    ("should I use pip or uv?", "not pip"),
    ("uv or pip?", "not pip"),
    ("add requests with uv", "not pip"),
    ("which tool do I use for Python projects?", "not pip"),
    ("which linter do we use? run ruff", "use ruff"),
    ("run ruff", "use ruff"),
    ("fix what the linter finds", "biome"),
]
NOT_OF_LIFE = """
add carla as a reviewer in CODEOWNERS
add a due date field to the march invoices
compute the salary in payroll.py
rename key variable to spare_key in auth.py
sort the list of invoices by month
add a test for Ada
add a fixture of a blood test
add the name Lena to users.json
print the name Carla in greet.py
what does `spawnWorker` in src/pool.go do?
what is my_pool::grow() for?
where is totalDue set?
""".strip().splitlines()


LIFE = """\
- I am allergic to hazelnuts
- I take lisinopril 10 mg every morning
- My daughter is called Ronja
- I am vegetarian
"""
OF_LIFE = [
    ("Which antibiotics may I take?", "penicillin"),
    ("which medicine do I take?", "lisinopril"),
    ("what can I eat? there is only nut cake", "hazelnuts"),
    ("Is there anything I must not eat?", "vegetarian"),
    ("Welche Medikamente nehme ich?", "lisinopril"),
    ("what is my daughter called", "Ronja"),
    ("find me a restaurant", "vegetarian"),
    ("what is the name of my daughter", "Ronja"),
    ("list the medicine I take", "lisinopril"),
    ("write a letter to my daughter", "Ronja"),
    ("check whether my passport is still valid in June", "2027-03-04"),
]
IDLE = """
the address form needs street and city
what is a monad?
make it faster
why do I get a 500 here?
I don't like this, try again
can you explain that to me again
where should I put this?
how do I exit vim?
I'm not sure this is right
let me see it
my terminal is weird
yes, do it
""".strip().splitlines()


@pytest.fixture
def memory(workspace: Workspace, embedder: PolyglotEmbedder) -> Iterator[LocalMemory]:
    (workspace.root / "MEMORY.md").write_text(FACTS)
    opened = LocalMemory(workspace, Settings(), embedder)
    yield opened
    opened.close()


def told(memory: LocalMemory, prompt: str) -> list[str]:
    found = memory.recall(Query(prompt, turn=True, coding=True))
    return [each.plain for each in found.passages[:MOST_PASSAGES]]


def test_a_prompt_about_software_is_told_what_it_needs_and_nothing_personal(
    memory: LocalMemory,
) -> None:
    answers = {prompt: told(memory, prompt) for prompt, _ in NEEDED}
    missed = [
        (prompt, answers[prompt])
        for prompt, needed in NEEDED
        if not any(needed in text for text in answers[prompt])
    ]
    assert missed == []
    personal = ("blood", "penicillin", "passport", "dentist")
    for prompt in [*CODING, *list(answers)[:9]]:
        texts = told(memory, prompt)
        assert len(texts) <= MOST_PASSAGES
        assert not any(word in " ".join(texts) for word in personal), prompt


def test_a_prompt_is_told_the_conventions_that_bear_on_it_and_nothing_personal(
    memory: LocalMemory, workspace: Workspace
) -> None:
    (workspace.root / "MEMORY.md").write_text(FACTS + PERSONAL + WORK)
    answers = {prompt: told(memory, prompt) for prompt, _ in OF_WORK}
    missed = {
        prompt: answers[prompt]
        for prompt, needed in OF_WORK
        if not any(needed in text for text in answers[prompt])
    }
    assert missed == {}
    private = ("Carla", "salary", "blood", "gardener", "Ada")
    for prompt in [*answers, *NOT_OF_LIFE]:
        given = " ".join(told(memory, prompt))
        assert not any(word in given for word in private), prompt


def test_a_prompt_about_the_owners_life_is_told_what_matters_for_it_and_an_idle_one_nothing(
    memory: LocalMemory, workspace: Workspace
) -> None:
    (workspace.root / "MEMORY.md").write_text(FACTS + LIFE)
    answers = {prompt: told(memory, prompt) for prompt, _ in OF_LIFE}
    missed = {
        prompt: answers[prompt]
        for prompt, needed in OF_LIFE
        if not any(needed in text for text in answers[prompt])
    }
    assert missed == {}
    loud = {prompt: texts for prompt in IDLE if (texts := told(memory, prompt))}
    assert len(loud) <= 3 and sum(map(len, loud.values())) <= 4, loud


def test_prompts_of_a_person_are_told_what_they_need_and_little_else(
    memory: LocalMemory, workspace: Workspace
) -> None:
    data = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
    facts = [*data["life"], *data["work"]]
    (workspace.root / "MEMORY.md").write_text("".join(f"- {fact}\n" for fact in facts))
    idle = [told(memory, prompt) for prompt in data["idle"]]
    assert sum(bool(texts) for texts in idle) <= 30
    assert sum(not set(data["life"]).isdisjoint(texts) for texts in idle) <= 3
    assert found(memory, data["of_life"]) >= 0.95
    assert found(memory, data["of_work"]) >= 0.55


def found(memory: LocalMemory, prompts: list[list[str]]) -> float:
    """The share of prompts that are told the fact that they need."""
    hits = [any(needed in text for text in told(memory, prompt)) for prompt, needed in prompts]
    return sum(hits) / len(hits)
