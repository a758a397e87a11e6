"""What a program's configuration comes to have, and what is left once that is taken back."""

import json
from dataclasses import replace
from typing import Any

import pytest

from assistant.errors import ConfigError
from assistant.integrations import toml
from assistant.integrations.edits import Edit, Entry, Hook, OwnFile, changed

SERVER = {"command": "/bin/assistant", "args": ["mcp", "--as", "zed"]}
HOOK = {"command": "assistant hook prompt --for cursor"}
MARK = "hook prompt --for cursor"
JSON = [
    Entry(("servers", "assistant"), SERVER),
    Hook(("hooks", "prompt"), HOOK, MARK),
]
TABLE = Entry(("mcp", "assistant"), SERVER, toml)


def made(edit: Edit, text: str) -> str:
    return changed("settings", text, [edit.made])


def unmade(edit: Edit, text: str) -> str:
    return changed("settings", text, [edit.unmade])


@pytest.mark.parametrize("edit", JSON)
@pytest.mark.parametrize("before", ["", '{\n  // theirs\n  "theme": "dark",\n}\n', '{"a": [1]}'])
def test_what_is_made_is_there_once_and_can_be_taken_back(edit: Edit, before: str) -> None:
    after = made(edit, before)
    assert edit.present(after) and made(edit, after) == after
    left = unmade(edit, after)
    assert edit.present(left) is None
    assert left.strip() in ("{}", before.strip())


def test_a_server_of_the_same_name_that_is_not_ours_stays() -> None:
    theirs = json.dumps({"servers": {"assistant": {"command": "x", "args": ["mcp"]}}})
    assert unmade(JSON[0], theirs) == theirs


@pytest.mark.parametrize(
    ("present", "wanted"),
    [
        ("/old/assistant mcp --as mine --trust", "/bin/assistant -w /new mcp --as mine --trust"),
        (
            "nice /old/assistant -w /old/assistant mcp --as a",
            "nice /bin/assistant -w /new mcp --as a",
        ),
        (
            "uvx --from assistant assistant -w /old mcp --as a",
            "uvx --from assistant /bin/assistant -w /new mcp --as a",
        ),
        (
            "python -m assistant mcp --as a --read-only",
            "python -m assistant -w /new mcp --as a --read-only",
        ),
        (
            "docker run -w /x mcp assistant -w /old mcp --as mcp",
            "docker run -w /x mcp /bin/assistant -w /new mcp --as mcp",
        ),
        (
            "/a/other --debug --workspace=/b mcp --as a",
            "/bin/assistant --debug --workspace=/b -w /new mcp --as a",
        ),
    ],
)
def test_of_a_command_the_program_and_the_workspace_are_changed(present: str, wanted: str) -> None:
    for entry in (
        Entry(("mcp", "assistant"), {"command": "", "args": []}, toml),
        Entry(("servers", "assistant"), {"command": []}),
    ):
        is_list = isinstance(entry.server["command"], list)
        texts = []
        for line in (present, wanted, "/bin/assistant -w /new mcp --as b"):
            words = line.split()
            command = {"command": words} if is_list else {"command": words[0], "args": words[1:]}
            texts.append(made(replace(entry, server=command), ""))
        own = replace(entry, server=command)
        assert own.present(made(own, texts[0])) == own.present(texts[1])


@pytest.mark.parametrize("held", [[["mcp", "--as"]], 3, None, {"mcp": 1, "--as": 2}, "mcp --as"])
def test_arguments_of_another_kind_are_not_ours(held: Any) -> None:
    text = json.dumps({"servers": {"assistant": {"command": "x", "args": held}}})
    assert JSON[0].present(text) is None and made(JSON[0], text)


@pytest.mark.parametrize(
    "held",
    [
        [HOOK, HOOK],
        [{"command": "elsewhere/assistant " + MARK}],
        [{"hooks": [HOOK]}],
        {"command": "assistant " + MARK},
    ],
)
def test_of_a_hook_that_stands_otherwise_one_is_left(held: Any) -> None:
    after = made(JSON[1], json.dumps({"hooks": {"prompt": held}}))
    assert json.loads(after)["hooks"]["prompt"] == [HOOK]


def test_the_version_of_a_file_is_taken_back_only_where_nothing_else_is_left() -> None:
    hook = Hook(("hooks", "prompt"), HOOK, MARK, version=1)
    assert json.loads(made(hook, '{"version": 2}'))["version"] == 2
    assert json.loads(made(hook, ""))["version"] == 1
    assert unmade(hook, '{"version": 1}') == "{}"
    for stays in ('{"version": 1, "hooks": {}}', "3", "[]"):
        assert unmade(hook, stays) == stays


@pytest.mark.parametrize(
    "before", ["", "[other]\na = 1\n", "mcp = { other = { a = 1 } }\n", "[mcp.other]\na = 1\n"]
)
def test_a_table_of_toml_comes_and_goes(before: str) -> None:
    after = made(TABLE, before)
    assert TABLE.present(after) == SERVER and made(TABLE, after) == after
    assert TABLE.present(unmade(TABLE, after)) is None


@pytest.mark.parametrize(
    ("edit", "before"),
    [
        (JSON[0], "{\n  // none yet\n}\n"),
        (JSON[0], '{\n  "servers": { /* none yet */ }\n}\n'),
        (JSON[1], '{\n  "hooks": {\n    "prompt": [\n      // none yet\n    ]\n  }\n}\n'),
        (TABLE, "[mcp]\n# none yet\n"),
        (OwnFile("// begin\nours\n// end\n"), ""),
    ],
)
def test_comments_and_lines_of_the_owners_stay(edit: Edit, before: str) -> None:
    mine = "# mine" if edit is TABLE else "// mine"
    after = made(edit, before)
    assert unmade(edit, after).split() == before.split()
    after = f"{mine}\n{after}{mine}\n"
    assert edit.present(after) and made(edit, after) == after
    assert unmade(edit, after).split() == f"{mine}\n{before}{mine}".split()


def test_what_follows_our_table_of_toml_stays_with_its_comment() -> None:
    after = made(TABLE, "a = 1\n") + "\n# mine\n[other]\nb = 2\n"
    assert unmade(TABLE, after) == "a = 1\n\n# mine\n[other]\nb = 2\n"


def test_a_file_of_ours_is_known_by_its_first_line() -> None:
    whole = OwnFile("// ours\nnew\n// end\n")
    assert whole.present("// ours\nold\n") and unmade(whole, "// ours\nold\n") == ""
    assert whole.present("theirs\n") is None and unmade(whole, "theirs\n") == "theirs\n"
    with pytest.raises(ConfigError, match="another file has"):
        made(whole, "theirs\n")


@pytest.mark.parametrize("name", ["made", "unmade"])
@pytest.mark.parametrize("text", ["a = 1\na = 2", "[[a]]\n[a]", "[mcp", "mcp = 1 1"])
def test_broken_toml_is_refused_by_its_name(name: str, text: str) -> None:
    table = Entry(("mcp", "assistant"), SERVER, toml)
    with pytest.raises(ConfigError, match="settings cannot be parsed"):
        changed("settings", text, [getattr(table, name)])
