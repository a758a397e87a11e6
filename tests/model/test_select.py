"""The settings decide which model answers, and litellm is not imported before it is needed."""

import subprocess
import sys

import pytest

from assistant.messages import Message, Reply
from assistant.model.base import ToolSpec
from assistant.model.offline import OfflineModel
from assistant.model.select import create, with_model
from assistant.settings.tree import validate
from tests.support.provider import Provider, fails

ASK = [Message("user", "Hello?")]
LOOK = ToolSpec("look", "Look around.", {"type": "object", "properties": {}})


def test_without_a_configured_model_the_offline_responder_answers() -> None:
    assert isinstance(create(validate({})), OfflineModel)


def test_a_key_in_the_environment_selects_nothing_and_nothing_heavy_is_imported() -> None:
    script = """
import os, sys
os.environ["OPENAI_API_KEY"] = "sk-found"
from assistant.model.select import create, with_model
from assistant.settings.tree import validate
assert create(validate({})).name == "offline"
assert create(validate({"model": {"name": "openai/gpt-5.6"}})).name == "openai/gpt-5.6"
assert "litellm" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=600)


@pytest.mark.parametrize(("form", "native"), [("auto", True), ("native", True), ("xml", False)])
def test_tools_are_offered_in_the_form_that_is_set(
    provider: Provider, form: str, native: bool
) -> None:
    provider.enqueue("Hello.")
    model = {"name": "openai/test", "api_base": provider.url, "tool_format": form}
    list(create(validate({"model": model})).stream(ASK, [LOOK]))
    assert ("tools" in provider.requests[0].body) is native


def test_profiles_are_the_fallbacks_and_share_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECOND_KEY", "second")
    with Provider(fails(401)) as first, Provider("Hello.") as second:
        settings = {
            "model": {"name": "openai/a", "api_base": first.url, "max_output_tokens": 9},
            "profiles": [{"name": "openai/b", "api_base": second.url, "api_key_env": "SECOND_KEY"}],
        }
        *_, reply = create(validate(settings)).stream(ASK)
    assert isinstance(reply, Reply) and reply.text == "Hello."
    (request,) = second.requests
    assert (request.body["model"], request.body["max_tokens"]) == ("b", 9)
    assert request.headers["authorization"] == "Bearer second"


def test_another_model_does_not_inherit_an_address_that_is_not_its_providers() -> None:
    chosen = validate(
        {
            "model": {"name": "openai/a", "api_base": "http://here/v1", "context_window": 9000},
            "profiles": [{"name": "ollama_chat/b", "api_base": "http://there"}, {"name": "x/y"}],
        }
    )
    same = with_model(chosen, "openai/c").model
    assert (same.name, same.api_base, same.context_window) == ("openai/c", "http://here/v1", 9000)
    other = with_model(chosen, "anthropic/d").model
    assert (other.name, other.api_base, other.context_window) == ("anthropic/d", None, None)
    profile = with_model(chosen, "ollama_chat/b")
    assert profile.model.name is None
    assert [(p.name, p.api_base) for p in profile.profiles] == [
        ("ollama_chat/b", "http://there"),
        ("x/y", None),
    ]
    assert create(profile).name == "ollama_chat/b"
