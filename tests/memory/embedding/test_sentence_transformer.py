"""Another model than the default, by sentence-transformers, and what it wants before a text."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assistant.memory.embedding import compile
from assistant.memory.embedding.sentence_transformer import (
    OFFLINE,
    Prompts,
    SentenceTransformerEmbedder,
    prompts_of,
)
from assistant.settings.sections import EmbeddingSettings

MAKE = """
import sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel
torch.manual_seed(0)
place = Path(sys.argv[1])
letters = "abcdefghijklmnopqrstuvwxyzäöüß.,:-0123456789я"
words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "▁", *letters]
inner = Tokenizer(models.Unigram([(word, -float(n)) for n, word in enumerate(words)], unk_id=3))
inner.normalizer = normalizers.Lowercase()
inner.pre_tokenizer = pre_tokenizers.Metaspace()
inner.post_processor = processors.TemplateProcessing(
    single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>",
    unk_token="<unk>", pad_token="<pad>", mask_token="<mask>", cls_token="<s>", sep_token="</s>",
    model_max_length=120, model_input_names=["input_ids", "attention_mask"])
some = dict(vocab_size=len(words), hidden_size=64, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=64, max_position_embeddings=130, pad_token_id=1)
model = XLMRobertaModel(XLMRobertaConfig(**some))
model.save_pretrained(place / "part"); tokenizer.save_pretrained(place / "part")
part = Transformer(str(place / "part"), max_seq_length=100)
prompts = {"query": "query: ", "passage": "passage: "}
SentenceTransformer(modules=[part, Pooling(64, "mean")], prompts=prompts).save(str(place / "model"))
"""
TEXTS = ["the door code is 4711", "Der Schlüssel liegt bei Ada", "short", "я"]


@pytest.mark.parametrize(
    ("name", "written", "expected"),
    [
        ("model", {"query": "", "document": ""}, Prompts()),
        ("multilingual-e5-small", {}, Prompts("query: ", "passage: ")),
        ("model", {"query": "Q ", "document": "D "}, Prompts("Q ", "D ")),
        ("model", {"query": "Q ", "passage": "P "}, Prompts("Q ", "P ")),
        ("model", {"query": "Q ", "document": ""}, Prompts("Q ", "")),
        ("a-e5", {"query": "Q "}, Prompts("Q ", "")),
        ("model", {"all": "A "}, Prompts("A ", "A ")),
    ],
)
def test_a_model_tells_its_prompts(name: str, written: dict[str, str], expected: Prompts) -> None:
    default = "all" if "all" in written else None
    settings = EmbeddingSettings(model=f"/models/{name}")
    assert prompts_of(written, default, settings) == expected
    own = EmbeddingSettings(model=name, query_prefix="ask: ", document_prefix="")
    assert prompts_of(written, default, own) == Prompts("ask: ", "")


@pytest.mark.slow
def test_a_model_runs_as_it_is_with_its_prompts(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKE, str(tmp_path)]
    made = subprocess.run(command, capture_output=True, text=True, env=os.environ | OFFLINE)
    assert made.returncode == 0, made.stderr
    settings = EmbeddingSettings(model=str(tmp_path / "model"))
    loaded = compile.load(settings)
    assert isinstance(loaded, SentenceTransformerEmbedder)
    assert loaded.embed(TEXTS).shape == (len(TEXTS), loaded.dimension) == (4, 64)
    assert loaded.count_tokens("x " * 200) > loaded.max_tokens
    assert loaded.max_tokens < 100
    plain = compile.load(settings.model_copy(update={"query_prefix": "", "document_prefix": ""}))
    named = [f"passage: {text}" for text in TEXTS]
    asked = [f"query: {text}" for text in TEXTS]
    np.testing.assert_allclose(loaded.embed(TEXTS), plain.embed(named), atol=1e-5)
    np.testing.assert_allclose(loaded.embed_questions(TEXTS), plain.embed(asked), atol=1e-5)
    assert loaded.fingerprint != plain.fingerprint
