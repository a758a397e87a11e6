"""Any language model that litellm knows, as a `ChatModel`. The one place that imports litellm."""

import contextlib
import gc
import importlib
import json
import logging
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any

from assistant.errors import ModelError
from assistant.messages import Message, ToolCall, Usage
from assistant.model.base import UNKNOWN_WINDOW, Piece, ToolSpec
from assistant.model.failures import Endpoint, classify, missing_key, silent
from assistant.model.stream.assembly import Assembly, CallDelta, Delta
from assistant.settings import ModelSettings

Json = dict[str, Any]

QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches its price map when imported
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",  # else a list of headers at the first call
    "LITELLM_MODE": "PRODUCTION",  # else it reads keys from any .env above it
}
LATE = ("litellm.proxy.openai_files_endpoints.common_utils", "openai.resources")
"""What litellm imports only at its first call: 0.6 s between Enter and the request."""
MOST_MARKS = 4
"""Anthropic takes at most four cache marks a request."""


def warm_up() -> None:
    """Import ahead all that the first call will need. For a thread of its own."""
    preload()
    with _uncollected():
        for name in LATE:
            importlib.import_module(name)


def preload() -> Any:
    """Import litellm (about 4 s) and make it silent and local; returns the module."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    with _uncollected():
        import litellm

    if "LITELLM_LOG" not in os.environ:
        logging.getLogger("LiteLLM").disabled = True
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.disable_hf_tokenizer_download = True
    return litellm


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Keep Python's collector from walking all that an import makes, again and again: it finds
    nothing to collect, and takes a fifth of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class LitellmModel:
    """A model by litellm's name for it, at its provider or at `settings.api_base`.

    `api_key_env` names the environment variable that holds its key; unset, litellm looks where
    the provider's key usually is. Nothing is imported or asked before it is needed.
    """

    extracts = True

    def __init__(self, settings: ModelSettings, *, api_key_env: str | None = None) -> None:
        name = settings.name or ""
        # litellm's `ollama/` drops tools when it streams
        self.name = f"ollama_chat/{name[7:]}" if name.startswith("ollama/") else name
        self._on_ollama = Endpoint(self.name).is_ollama
        self._settings = settings
        self._api_key_env = api_key_env

    @cached_property
    def context_window(self) -> int | None:
        """Tokens the model takes: the setting, else what litellm or Ollama knows of it.

        Ollama serves as much as it is asked to, which is never more than the model can take, nor
        more than UNKNOWN_WINDOW unless the setting says so.
        """
        if self._settings.context_window is not None:
            return self._settings.context_window
        known = self._info.get("max_input_tokens") or self._info.get("max_tokens")
        if self._on_ollama:
            return min(known or UNKNOWN_WINDOW, UNKNOWN_WINDOW)
        return known

    @cached_property
    def calls_tools(self) -> bool:
        """Whether tools may be offered in the provider's own way; it may still refuse them.

        What litellm says of a model on Ollama is guessed from its template, and not taken.
        """
        takes = preload().get_supported_openai_params(self.name, self._provider) or ()
        known = self._on_ollama or self._info.get("supports_function_calling")
        return "tools" in takes and known is not False

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the answer over HTTP. Raises ModelError."""
        request = self._request(messages, tools)
        made = Assembly(call.id for message in messages for call in message.tool_calls)
        response: Any = None
        try:
            response = preload().completion(**request)
            usage = None
            for chunk in response:
                usage = getattr(chunk, "usage", None) or usage
                yield from made.add(_delta(chunk))
            yield from made.finish()
            finish = response.received_finish_reason
            if made.empty and finish is None:
                raise silent(self._endpoint)
            yield made.reply(finish, self._usage(usage))
        except (ModelError, GeneratorExit):
            raise
        except Exception as error:
            raise classify(error, self._endpoint) from error
        finally:
            _close(response)

    @cached_property
    def _provider(self) -> str:
        try:
            provider: str = preload().get_llm_provider(self.name)[1]
        except Exception as error:
            raise classify(error, Endpoint(self.name, self._settings.api_base)) from error
        return provider

    @cached_property
    def _endpoint(self) -> Endpoint:
        key = self._api_key_env or next(iter(self._missing_keys), None) or self._present_key()
        return Endpoint(self.name, self._settings.api_base, key)

    @property
    def _missing_keys(self) -> list[str]:
        """The variables that litellm would read the provider's key from, if none is set."""
        missing = preload().validate_environment(self.name)["missing_keys"]
        return [name for name in reversed(missing) if name.endswith(("_API_KEY", "_API_TOKEN"))]

    def _present_key(self) -> str:
        """The variable that holds the provider's key, by its name."""
        usual = f"{self._provider.removesuffix('_chat').upper()}_API_KEY"
        plain = usual.replace("_", "")
        return next((name for name in os.environ if name.replace("_", "") == plain), usual)

    @cached_property
    def _info(self) -> Mapping[str, Any]:
        """What litellm knows of the model; for Ollama it asks the server."""
        try:
            info: Mapping[str, Any] = preload().get_model_info(
                self.name, api_base=self._settings.api_base
            )
        except Exception:  # it raises a bare Exception for a model it does not know
            return {}
        return info

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Json:
        request: Json = {
            "model": self.name,
            "custom_llm_provider": self._provider,
            "messages": self._wire(messages),
            "stream": True,
            "stream_options": {"include_usage": True},
            "timeout": self._settings.timeout_seconds,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            "api_key": self._key(),
        }
        if tools:
            request["tools"] = [_tool(spec) for spec in tools]
            request["_skip_mcp_handler"] = True  # else it imports mcp to see if they are: 0.6 s
        if self._settings.api_base:
            request["api_base"] = self._settings.api_base
        if self._settings.max_output_tokens:
            request["max_tokens"] = self._settings.max_output_tokens
        if self._on_ollama:
            request["num_ctx"] = self.context_window
        return request

    def _key(self) -> str | None:
        """The key to send, or None where litellm finds it. Raises ModelError if there is none."""
        if self._api_key_env:
            if key := os.environ.get(self._api_key_env):
                return key
        elif self._litellm_has_key():
            return None
        if self._settings.api_base:
            return "none"  # a local server asks for no key, but its client insists on one
        raise missing_key(self._endpoint)

    def _litellm_has_key(self) -> bool:
        """The environment has the key, or another variable of the provider's that may do."""
        missing = self._missing_keys
        prefixes = tuple(name.partition("_")[0] + "_" for name in missing)
        return not missing or any(name.startswith(prefixes) for name in os.environ)

    def _wire(self, messages: Sequence[Message]) -> list[Json]:
        sent = [message for message in messages if not _says_nothing(message)]
        if self._provider != "anthropic" and "claude" not in self.name:
            return [_message(message, mark=False) for message in one_system_message(sent)]
        marked = [number for number, message in enumerate(sent) if message.cache][-MOST_MARKS:]
        return [_message(message, mark=number in marked) for number, message in enumerate(sent)]

    def _usage(self, usage: Any) -> Usage:
        if usage is None:
            return Usage()
        details = getattr(usage, "prompt_tokens_details", None)
        return Usage(
            usage.prompt_tokens or 0,
            usage.completion_tokens or 0,
            getattr(details, "cached_tokens", None) or 0,
            self._cost(usage),
        )

    def _cost(self, usage: Any) -> float | None:
        cost = getattr(usage, "cost", None)
        if cost is None:
            try:
                cost = sum(preload().cost_per_token(model=self.name, usage_object=usage))
            except Exception:  # it raises a bare Exception where it knows no price
                return None
        return float(cost)


def one_system_message(messages: Sequence[Message]) -> list[Message]:
    """The messages with those of the system at their head made one.

    The chat templates of some open models refuse a second; a prefix cached by its text stays one.
    """
    head = list(takewhile(lambda message: message.role == "system", messages))
    if len(head) < 2:
        return list(messages)
    whole = Message("system", "\n\n".join(message.content for message in head))
    return [whole, *messages[len(head) :]]


def _message(message: Message, *, mark: bool) -> Json:
    content: Any = message.content
    if mark:
        block = {"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}
        content = [block]
    wire: Json = {"role": message.role, "content": content}
    if message.tool_calls:
        wire["content"] = content if message.content.strip() else None
        wire["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.role == "tool":
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _says_nothing(message: Message) -> bool:
    return not (message.content.strip() or message.tool_calls or message.role == "tool")


def _call(call: ToolCall) -> Json:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _tool(spec: ToolSpec) -> Json:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _delta(chunk: Any) -> Delta:
    if not chunk.choices:
        return Delta()
    delta = chunk.choices[0].delta
    calls = tuple(_call_delta(call) for call in delta.tool_calls or ())
    return Delta(delta.content or "", getattr(delta, "reasoning_content", None) or "", calls)


def _call_delta(call: Any) -> CallDelta:
    function = call.function
    return CallDelta(
        call.index,
        call.id,
        function.name if function else None,
        (function.arguments if function else None) or "",
    )


def _close(response: Any) -> None:
    """Close the HTTP response under a stream, wherever the provider's adapter keeps it."""
    stream = getattr(response, "completion_stream", None)
    for holder in (stream, getattr(stream, "streaming_response", None)):
        close = getattr(holder, "close", None)
        if close is not None:
            with contextlib.suppress(ValueError):
                close()
