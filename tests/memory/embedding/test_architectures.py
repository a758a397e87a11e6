"""Models of other architectures, tiny ones with random weights: compiled, prompted, the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assistant.memory.embedding import compile
from assistant.memory.embedding.onnx import OnnxEmbedder
from assistant.memory.embedding.original import open_original
from assistant.memory.embedding.prompted import PromptedEmbedder
from assistant.settings.memory import EmbeddingSettings

MAKE = """
import sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (DistilBertConfig, DistilBertModel, MPNetConfig, MPNetModel,
    PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel)
torch.manual_seed(0)
kind, place = sys.argv[1], Path(sys.argv[2])
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
model = {
    "xlm-roberta": lambda: XLMRobertaModel(XLMRobertaConfig(**some)),
    "mpnet": lambda: MPNetModel(MPNetConfig(**some)),
    "distilbert": lambda: DistilBertModel(DistilBertConfig(vocab_size=len(words), dim=64,
        n_layers=1, n_heads=2, hidden_dim=64, max_position_embeddings=130, pad_token_id=1)),
}[kind]()
model.save_pretrained(place / "part"); tokenizer.save_pretrained(place / "part")
part = Transformer(str(place / "part"), max_seq_length=100)
prompts = {"query": "query: ", "passage": "passage: "}
SentenceTransformer(modules=[part, Pooling(64, "mean")], prompts=prompts).save(str(place / "model"))
"""
TEXTS = ["the door code is 4711", "Der Schlüssel liegt bei Ada", "short", "я"]


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", ["xlm-roberta", "mpnet", "distilbert"])
def test_an_architecture_is_compiled_and_prompted(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = [sys.executable, "-c", MAKE, kind, str(tmp_path)]
    made = subprocess.run(command, capture_output=True, text=True, env=os.environ | compile.OFFLINE)
    assert made.returncode == 0, made.stderr
    source = tmp_path / "model"
    assert json.loads((source / "config_sentence_transformers.json").read_text())["prompts"]
    loaded = compile.load(EmbeddingSettings(model=str(source)))
    assert isinstance(loaded, PromptedEmbedder)
    assert isinstance(loaded._embedder, OnnxEmbedder)
    original = open_original(source)
    for got, prompt in (
        (loaded.embed(TEXTS), "passage: "),
        (loaded.embed_questions(TEXTS), "query: "),
    ):
        expected = original.encode(TEXTS, prompt=prompt, normalize_embeddings=True)
        assert np.sum(got * expected, axis=1).min() > 0.96
    assert loaded.count_tokens("x " * 200) > loaded.max_tokens
    assert loaded.max_tokens < 100
