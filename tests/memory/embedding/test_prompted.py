"""What a model wants before a text."""

import json
from pathlib import Path

import numpy as np
import pytest

from assistant.memory.embedding.embedder import HashingEmbedder
from assistant.memory.embedding.prompted import CONFIGURATION, Prompts, prompted, prompts_of
from assistant.settings.memory import EmbeddingSettings


@pytest.mark.parametrize(
    ("name", "written", "expected"),
    [
        ("model", {}, Prompts()),
        ("multilingual-e5-small", {}, Prompts("query: ", "passage: ")),
        ("model", {"prompts": {"query": "Q ", "document": "D "}}, Prompts("Q ", "D ")),
        ("model", {"prompts": {"query": "Q ", "passage": "P "}}, Prompts("Q ", "P ")),
        ("model", {"prompts": {"query": "Q ", "document": ""}}, Prompts("Q ", "")),
        ("a-e5", {"prompts": {"query": "Q "}}, Prompts("Q ", "")),
        ("model", {"prompts": {"all": "A "}, "default_prompt_name": "all"}, Prompts("A ", "A ")),
        ("model", {"prompts": None, "default_prompt_name": None}, Prompts()),
        ("model", [], Prompts()),
    ],
)
def test_a_model_tells_its_prompts(
    tmp_path: Path, name: str, written: object, expected: Prompts
) -> None:
    (tmp_path / CONFIGURATION).write_text(json.dumps(written), encoding="utf-8")
    settings = EmbeddingSettings(model=f"/models/{name}")
    assert prompts_of(tmp_path, settings) == expected
    own = EmbeddingSettings(model=name, query_prefix="ask: ", document_prefix="")
    assert prompts_of(tmp_path, own) == Prompts("ask: ", "")


def test_a_question_and_a_text_get_their_own_and_need_room() -> None:
    plain = HashingEmbedder(max_tokens=32)
    told = prompted(plain, Prompts("query: ", "passage: "))
    np.testing.assert_array_equal(told.embed(["tea"]), plain.embed(["passage: tea"]))
    np.testing.assert_array_equal(told.embed_questions(["tea"]), plain.embed(["query: tea"]))
    assert told.max_tokens == 31
    assert told.fingerprint != plain.fingerprint
    assert prompted(plain, Prompts("query: ", "")).fingerprint == plain.fingerprint
    assert prompted(plain, Prompts()) is plain
