"""A setting changed in the text of the configuration file."""

from pathlib import Path

import pytest

from assistant import config
from assistant.agent.prompt import KNOWN
from assistant.cli.commands.config import changed, path_of
from assistant.errors import ConfigError, UsageError
from assistant.settings import tree
from assistant.settings.sections import PROMPT_SECTIONS
from assistant.tables import value_at

THEIRS = "# mine\n[memory]\nk = 3  # enough\n"


@pytest.fixture
def file(home: Path) -> Path:
    path = config.config_file()
    path.parent.mkdir(parents=True)
    path.write_text(THEIRS)
    return path


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("model", ("model", "name")),
        ("memory.k", ("memory", "k")),
        ("profiles", ("profiles",)),
        ("sources", ("sources",)),
        ("profiles.1.name", ("profiles", 0, "name")),
        ("sources.2", ("sources", 1)),
    ],
)
def test_a_name_is_a_path(key: str, path: tuple[str | int, ...]) -> None:
    assert path_of(key) == path


@pytest.mark.parametrize("key", ["memory.kk", "profiles.0.name", "profiles.1.nam", "nothing", ""])
def test_a_name_of_no_setting_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match="there is no setting"):
        path_of(key)


def test_what_is_unset_has_no_value() -> None:
    values = {"profiles": [{"name": "a"}], "memory": None}
    assert value_at(values, ("profiles", 0, "name")) == "a"
    for path in [("profiles", 1, "name"), ("memory", "k"), ("model", "name")]:
        assert value_at(values, path) is None


def test_a_byte_order_mark_stays_and_is_no_part_of_a_setting(file: Path) -> None:
    theirs = "\ufeff[memory]\nk = 3\n"
    file.write_text(theirs)
    assert config.load()["memory"]["k"] == 3
    assert config.origin_of(("memory", "k"), config.layers()) == f"{file}:2"
    assert changed("memory.k", ["9"])[0] == theirs.replace("3", "9")
    assert changed("memory.k", [""])[0].startswith("\ufeff[memory]")


@pytest.mark.parametrize("fault", ["k = ", "\udcff", "[context]\nreserve_tokens = -1"])
def test_the_cure_of_a_fault_names_the_file_that_has_it(
    home: Path, tmp_path: Path, fault: str
) -> None:
    recipe = tmp_path / "assistant.toml"
    recipe.write_text(fault, errors="surrogateescape")
    with pytest.raises(ConfigError) as caught:
        tree.validate(config.load(recipe=recipe), recipe)
    assert caught.value.cure == f"Correct {recipe} in an editor"
    file = config.config_file()
    file.parent.mkdir(parents=True)
    file.write_text(fault, errors="surrogateescape")
    with pytest.raises(ConfigError) as caught:
        tree.validate(config.load())
    assert "assistant config " in caught.value.cure


def test_comments_stay_and_values_have_their_types(file: Path) -> None:
    assert changed("memory.k", ["9"])[0] == THEIRS.replace("3", "9")
    text, allowed, _ = changed("policy.allow", ["shell:ls*", "shell:git status*"])
    assert text.startswith(THEIRS) and allowed == ["shell:ls*", "shell:git status*"]
    assert "k = 3" not in changed("memory.k", [""])[0]
    assert file.read_text() == THEIRS


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_is_said_of_an_item_of_a_list_stays_with_it(file: Path, end: str) -> None:
    items = ['  "shell:rm *",  # a thesis', '  "*:~/x",  # private']
    before = ["[policy]", "deny = [", *items, "]", ""]
    file.write_bytes(end.join(before).encode())
    after = ["[policy]", "deny = [", items[1], '  "shell:dd *",', "]", ""]
    assert changed("policy.deny", ["*:~/x", "shell:dd *"])[0] == end.join(after)
    assert changed("memory.k", ["3"])[0] == end.join([*before, "[memory]", "k = 3", ""])
    turned = changed("policy.deny", ["*:~/x", "shell:rm *"])[1]
    assert turned == ["*:~/x", "shell:rm *"]


def test_profiles_come_one_after_the_other(file: Path) -> None:
    file.write_text(changed("profiles.1.name", ["openai/a"])[0])
    file.write_text(changed("profiles.2.name", ["openai/b"])[0])
    assert file.read_text().count("[[profiles]]") == 2
    with pytest.raises(UsageError, match="cannot be set"):
        changed("profiles.4.name", ["openai/d"])


def test_a_value_that_cannot_be_is_refused(file: Path) -> None:
    with pytest.raises(UsageError, match=r"memory\.k"):
        changed("memory.k", ["many"])


REFUSED = [
    ("context.sections", ["identity", "gaurdrails"], "gaurdrails is none. Did you mean guardr"),
    ("context.sections", ["identity", "identity"], "identity is in it twice"),
    ("model.api_base", ["localhost:8911/v1"], "an address such as http"),
    ("profiles", ['[{"name": "openai/a", "api_base": "here"}]'], "an address such as http"),
    ("web.search_url", ["not-a-url"], "an address such as http"),
    ("index.url", ["foo"], "an address such as http"),
    ("web.allow_private", ["box", "10.0.0.0/99"], "but 10.0.0.0/99 is none"),
]


@pytest.mark.parametrize(("key", "values", "reason"), REFUSED)
def test_what_would_be_refused_when_used_is_refused_when_set(
    key: str, values: list[str], reason: str, file: Path
) -> None:
    with pytest.raises(UsageError, match=reason):
        changed(key, values)


def test_the_prompts_own_sections_and_files_can_be_set(file: Path) -> None:
    assert tuple(part.name for part in KNOWN) == PROMPT_SECTIONS
    assert changed("context.sections", [*PROMPT_SECTIONS, "*"])[1][0]["name"] == "identity"
    own = '[{"name": "house", "files": ["HOUSE.md"]}]'
    file.write_text(changed("context.sections", [own])[0])
    path = ("context", "sections")
    assert config.origin_of(path, config.layers()).startswith(f"{file}:")
    assert changed("web.allow_private", ["box", "10.0.0.0/8", "::1"])[1]


@pytest.mark.parametrize("key", ["model.retry_seconds", "daemon.idle_seconds"])
@pytest.mark.parametrize("value", ["inf", "-inf", "1e400", "nan"])
def test_a_number_that_is_not_finite_is_refused(key: str, value: str, file: Path) -> None:
    with pytest.raises(UsageError, match="it should be a finite number"):
        changed(key, [value])


def test_the_only_text_of_a_list_may_look_like_json(file: Path) -> None:
    for key in ("policy.allow", "shell.readable", "mcpServers.own.args"):
        file.write_text('[mcpServers.own]\ncommand = "own"\n')
        assert changed(key, ["[a-z]*"])[1] == ["[a-z]*"]
        assert changed(key, ['["a", "b"]'])[1] == ["a", "b"]


def test_of_a_new_hook_its_command_comes_first(file: Path) -> None:
    with pytest.raises(UsageError, match=r"First `assistant config set hooks\.1\.run VALUE`"):
        changed("hooks.1.before", ["shell"])
    file.write_text(changed("hooks.1.run", ["true"])[0])
    assert changed("hooks.1.before", ["shell"])[1] == ["shell"]


def test_an_empty_model_is_no_model(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setenv("ASSISTANT_MODEL", "")
    assert tree.validate(config.load()).model.name is None


def test_a_question_is_followed_by_its_cure_without_a_full_stop() -> None:
    assert str(UsageError("did you mean a?", "See b")) == "did you mean a? See b"
    assert str(UsageError("no a", "See b")) == str(UsageError("no a.", "See b")) == "no a. See b"
