import pytest

from assistant.secrets.registered import from_environment


@pytest.mark.parametrize(
    ("name", "value", "is_key"),
    [
        ("OPENAI_API_KEY", "x" * 20, True),
        ("AWS_SECRET_ACCESS_KEY", "x" * 20, True),
        ("PGPASSWORD", "hunter2hunter2", True),
        ("GITHUB_PAT", "x" * 20, True),
        ("SLACK_TOKENS", "x" * 20, True),
        ("PWD", "/home/anna/project", False),
        ("SSH_AUTH_SOCK", "/tmp/ssh/agent", False),
        ("TOKENIZERS_PARALLELISM", "false-but-long", False),
        ("KEYBOARD_LAYOUT", "german-nodeadkeys", False),
        ("MONKEY", "a banana a day", False),
        ("DEBUG_TOKEN", "1", False),
        ("COMPASS", "north-north-west", False),
    ],
)
def test_variables_are_taken_for_keys_by_their_names(name: str, value: str, is_key: bool) -> None:
    assert (name in from_environment({name: value})) is is_key
