"""The settings decide which model answers, and litellm is not imported before it is needed."""

import subprocess
import sys

from assistant.model.litellm_model import LitellmModel
from assistant.model.offline import OfflineModel
from assistant.model.select import create
from assistant.settings import validate


def test_without_a_configured_model_the_offline_responder_answers() -> None:
    assert isinstance(create(validate({})), OfflineModel)


def test_a_key_in_the_environment_selects_nothing() -> None:
    script = """
import os, sys
os.environ["OPENAI_API_KEY"] = "sk-found"
from assistant.model.select import create
from assistant.settings import validate
assert create(validate({})).name == "offline"
assert create(validate({"model": {"name": "openai/gpt-5.6"}})).name == "openai/gpt-5.6"
assert "litellm" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_configured_model_is_litellms() -> None:
    model = create(validate({"model": {"name": "openai/gpt-5.6"}}))
    assert isinstance(model, LitellmModel)
