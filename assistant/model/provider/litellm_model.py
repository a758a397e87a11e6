"""Any language model that litellm supports, as a `ChatModel`.

litellm is imported on first use, and configured to be silent, local and watched.
"""

import contextlib
import gc
import importlib
import logging
import os
import platform
import re
import sys
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, Usage
from assistant.model.base import UNKNOWN_WINDOW, Piece, ToolSpec
from assistant.model.provider.failures import (
    NO_PICTURES,
    WINDOW,
    Endpoint,
    classify,
    classify_streamed,
    cut_off,
)
from assistant.model.provider.request import (
    Style,
    lacks_signed,
    thinking_parameters,
    wire_messages,
)
from assistant.model.provider.stream import Assembly, delta_of
from assistant.settings.sections import ModelSettings

if TYPE_CHECKING:
    from assistant.model.provider.transport import Watch

Json = dict[str, Any]

QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise it fetches its price map on import
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",  # otherwise a list of headers on the first call
    "LITELLM_MODE": "PRODUCTION",  # otherwise it reads keys from any .env above it
}
LATE = ("litellm.proxy.openai_files_endpoints.common_utils", "openai.resources")
"""Modules that litellm imports only on its first call, which takes 0.6 s."""


def warm_up() -> None:
    """Import all modules that the first call needs. Run it in a thread."""
    preload()
    with _without_gc():
        for name in LATE:
            importlib.import_module(name)


def has_provider(model: str) -> bool:
    """Return whether litellm knows a provider for this model name. Imports litellm."""
    litellm = preload()
    try:
        litellm.get_llm_provider(model)
    except litellm.exceptions.BadRequestError:
        return False
    return True


def preload() -> Any:
    """Import litellm (about 4 s), configure it, and return the module."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    # otherwise a request runs whatever `uname` is on the PATH
    vars(platform.uname())["processor"] = ""
    with _without_gc():
        import litellm

    if litellm.client_session is None:
        _set_up(litellm)
    return litellm


def _set_up(litellm: Any) -> None:
    import httpx

    from assistant.model.provider.transport import WatchedTransport

    if "LITELLM_LOG" not in os.environ:
        logging.getLogger("LiteLLM").disabled = True
    # for unusual responses
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.disable_hf_tokenizer_download = True
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize  # a long table repeats itself
    secure = importlib.import_module("litellm.llms.custom_httpx.http_handler")
    transport = WatchedTransport(secure.get_ssl_configuration())
    litellm.sync_transport = transport
    litellm.client_session = httpx.Client(transport=transport)


@contextlib.contextmanager
def _without_gc() -> Iterator[None]:
    """Disable the garbage collector during an import: it would free nothing and take a fifth of the
    time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


OLLAMA = "ollama/"
"""litellm drops tools when it streams from a model with this prefix, but not with
`ollama_chat/`."""
FIRST_WORD, WHOLE = 2.5, 15
"""Multiples of `timeout_seconds` allowed for the first word, and for the whole response."""
THINKERS = re.compile(r"deepseek|kimi|moonshot", re.IGNORECASE)
"""Models that think between calls and need their earlier reasoning sent back."""
THOUGHTS = "reasoning_content"
"""The field of a message that some providers demand and others refuse."""
NO_JSON = re.compile(r"response_?(format|mime)|json", re.IGNORECASE)
"""Parameters named in the error of a provider that does not support JSON output."""


KEYS = ("_API_KEY", "_API_TOKEN")
"""The ends of the names of the variables that litellm reads keys from."""


class LitellmModel:
    """A model by its litellm name, at its provider or at `settings.api_base`.

    `api_key_env` names the environment variable that holds its key; if unset, litellm uses the
    provider's usual variable. Nothing is imported or queried before it is needed.
    """

    extracts = True
    tools_in_prompt = False

    def __init__(self, settings: ModelSettings, *, api_key_env: str | None = None) -> None:
        name = settings.name or ""
        self.name = f"ollama_chat/{name.removeprefix(OLLAMA)}" if name.startswith(OLLAMA) else name
        self._settings = settings
        self._api_key_env = api_key_env
        for variable in [v for v in os.environ if v.endswith(KEYS) and not os.environ[v]]:
            del os.environ[variable]  # litellm would send an empty key
        self._sends_reasoning = THINKERS.search(self.name) is not None
        self._refuses_json = False
        self._reported_window: int | None = None  # from its provider, when it refused a request
        self._blind = False  # its provider has refused pictures
        self._unopened = False  # it closes its reasoning without opening it

    # Known before any request: from the settings, litellm or Ollama

    @cached_property
    def _provider(self) -> str:
        """litellm's name for the provider. Raises ModelError."""
        try:
            provider: str = preload().get_llm_provider(self.name)[1]
        except Exception as error:  # it raises a bare Exception for an unknown name
            raise classify(error, Endpoint(self.name, self._settings.api_base)) from error
        return provider

    @cached_property
    def _facts(self) -> Mapping[str, Any]:
        """litellm's data on the model; queries the server for Ollama."""
        try:
            facts: Mapping[str, Any] = preload().get_model_info(
                self.name, api_base=self._settings.api_base
            )
        except Exception:  # it raises a bare Exception for an unknown model
            return {}
        return facts

    @cached_property
    def _endpoint(self) -> Endpoint:
        return Endpoint(self.name, self._settings.api_base, self._key_variable())

    @property
    def context_window(self) -> int | None:
        """The window in tokens: the known one, unless the provider has reported a smaller one."""
        configured, reported = self._known_window, self._reported_window
        return min(configured, reported) if configured and reported else configured or reported

    @cached_property
    def _known_window(self) -> int | None:
        """The setting, otherwise the window that litellm or Ollama knows.

        Ollama serves the window that a request asks for: at most what the model supports, and at
        most UNKNOWN_WINDOW unless the setting says otherwise.
        """
        if self._settings.context_window is not None:
            return self._settings.context_window
        limit = self._facts.get("max_input_tokens") or self._facts.get("max_tokens")
        if Endpoint(self.name).is_ollama:
            return min(limit or UNKNOWN_WINDOW, UNKNOWN_WINDOW)
        return limit

    @cached_property
    def calls_tools(self) -> bool:
        """Whether tools may be offered natively; the provider may still refuse them.

        litellm's data on a model on Ollama is guessed from its template, and ignored.
        """
        parameters = preload().get_supported_openai_params(self.name, self._provider) or ()
        supported = Endpoint(self.name).is_ollama or self._facts.get("supports_function_calling")
        return "tools" in parameters and supported is not False

    @property
    def sees(self) -> bool:
        """Whether it may be sent pictures: by the setting, litellm, or the provider's refusal.

        For models on Ollama and for unknown models, support is assumed.
        """
        if self._blind or self._settings.sees is not None:
            return bool(self._settings.sees) and not self._blind
        facts = self._facts
        return Endpoint(self.name).is_ollama or not facts or bool(facts.get("supports_vision"))

    # The key: from a named variable, or from the variables that litellm reads

    @property
    def _missing_keys(self) -> list[str]:
        """The variables that litellm would read the key from, if none is set."""
        missing = preload().validate_environment(self.name)["missing_keys"]
        return [name for name in reversed(missing) if name.endswith(KEYS)]

    def _key_variable(self) -> str:
        """Return the variable that holds the key, or should hold it."""
        if self._api_key_env:
            return self._api_key_env
        usual = f"{self._provider.removesuffix('_chat').upper()}_API_KEY"
        return next(iter(self._missing_keys), usual)

    def _key(self) -> str | None:
        """Return the key to send, or None if litellm finds it. Raises ModelError if there is
        none."""
        if self._api_key_env:
            if key := os.environ.get(self._api_key_env):
                return key
        else:
            missing = self._missing_keys
            prefixes = tuple(name.partition("_")[0] + "_" for name in missing)
            if not missing or any(
                name.startswith(prefixes) and value for name, value in os.environ.items()
            ):
                return None  # another variable of the provider may be enough
        if self._settings.api_base:
            return "none"  # a local server needs no key, but its client insists on one
        raise self._endpoint.failed(ModelFailure.AUTH, case="missing_key")

    # Requests

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the response over HTTP. Raises ModelError."""
        try:
            yield from self._stream(messages, tools)
        except ModelError as error:
            if error.kind is ModelFailure.OVERFLOW and (window := WINDOW.search(error.message)):
                self._reported_window = int(window[window.lastindex or 0])
            if error.kind is ModelFailure.BAD_REQUEST and THOUGHTS in error.message:
                self._sends_reasoning = not self._sends_reasoning
            elif self._is_held_to_json(messages) and NO_JSON.search(error.message):
                self._refuses_json = True
            elif not self._must_drop_pictures(error, messages):
                raise
            yield from self._stream(messages, tools)

    def _is_held_to_json(self, messages: Sequence[Message]) -> bool:
        """Return whether to enforce JSON output; for Claude, litellm does so with a tool."""
        if self._refuses_json or not any(message.json for message in messages):
            return False
        parameters = preload().get_supported_openai_params(self.name, self._provider) or ()
        is_able = bool(self._facts.get("supports_response_schema"))
        return is_able and "response_format" in parameters and "claude" not in self.name

    def _must_drop_pictures(self, error: ModelError, messages: Sequence[Message]) -> bool:
        """Return whether the provider refused pictures of earlier turns or of tools, which are then
        no longer sent.

        Raises ModelError if the owner's latest message has one.
        """
        shown = [number for number, message in enumerate(messages) if message.pictures]
        if not (shown and self.sees and NO_PICTURES.search(error.message)):
            return False
        self._blind = True
        owners = (n for n in shown if not all(p.returned for p in messages[n].pictures))
        latest = max(owners, default=-1)
        if any(message.role == "user" for message in messages[latest + 1 :]):
            return True
        raise self._endpoint.failed(error.kind, case="no_pictures") from error

    def _stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> Generator[Piece, None, None]:
        from assistant.model.provider.transport import Watch  # imports httpx

        silence = self._settings.timeout_seconds
        first_word = None if self._endpoint.is_local else FIRST_WORD * silence
        request = self._request(messages, tools)
        assembly = Assembly(unopened=self._unopened)
        usage: Any = None
        with (
            Watch(silence, first_word, WHOLE * silence) as watch,
            contextlib.closing(self._chunks(request, watch)) as chunks,
        ):
            for chunk in chunks:
                usage = getattr(chunk, "usage", None) or usage
                delta = delta_of(chunk)
                if delta.size:
                    watch.word()
                yield from assembly.add(delta)
        yield from assembly.finish()
        if watch.finish is None and (assembly.wordless or not watch.ended):
            if watch.web_page:
                raise self._endpoint.failed(ModelFailure.PROTOCOL, "it is a web page")
            case = "broke_off" if assembly.wordless else "broke_off_midway"
            raise self._endpoint.failed(ModelFailure.CONNECTION, case=case)
        self._unopened = assembly.unopened
        yield assembly.reply(watch.finish, self._usage(usage, estimated=not watch.counted))

    def _chunks(self, request: Json, watch: "Watch") -> Generator[Any, None, None]:
        """Yield the chunks of the response, each read under the watch. Raises ModelError."""
        try:
            with watch.over_requests():
                response = preload().completion(**request)
            while True:
                with watch.over_requests():  # some adapters send the request only now
                    chunk = next(response, None)
                if chunk is None:
                    break
                yield chunk
            if watch.finish is None and not watch.only_heard:
                watch.finish = getattr(response, "received_finish_reason", None)
            if watch.finish is None and (error := self._cause_of_end(watch)):
                raise error
        except (ModelError, GeneratorExit):
            raise
        except Exception as error:  # any provider's library may raise any error
            raise self._cause_of_end(watch) or classify(error, self._endpoint) from error

    def _cause_of_end(self, watch: "Watch") -> ModelError | None:
        """Return why the response broke off, if known: a limit, or the provider's error."""
        if watch.exceeded:
            return cut_off(self._endpoint, watch.exceeded)
        return classify_streamed(watch.error, self._endpoint) if watch.error else None

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Json:
        settings = self._settings
        claude = self._provider == "anthropic" or "claude" in self.name
        style = Style(
            claude=claude,
            thoughts=self._sends_reasoning,
            own_ids=self._provider in ("gemini", "vertex_ai", "vertex_ai_beta"),
            sees=self.sees,
        )
        request: Json = {
            "model": self.name,
            "custom_llm_provider": self._provider,
            "messages": wire_messages(messages, style),
            "stream": True,
            "stream_options": {"include_usage": True},
            "timeout": settings.timeout_seconds,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            "api_key": self._key(),
        }
        if tools:
            if settings.tool_format == "auto" and not self.calls_tools:
                raise ModelError(
                    f"{self.name} does not support tools", kind=ModelFailure.BAD_REQUEST
                )
            request["tools"] = [spec.wire for spec in tools]
            request["_skip_mcp_handler"] = True  # otherwise it imports mcp to look for them: 0.6 s
        if self._is_held_to_json(messages):
            request["response_format"] = {"type": "json_object"}
        if settings.api_base:
            request["api_base"] = settings.api_base
        if settings.max_output_tokens:
            request["max_tokens"] = settings.max_output_tokens
        if self._endpoint.is_ollama:
            request["num_ctx"] = self.context_window
        if not (claude and lacks_signed(messages)):
            thinking = thinking_parameters(settings, self._provider)
            output_limit = self._facts.get("max_output_tokens") if thinking else None
            if output_limit and self._provider == "anthropic" and not settings.max_output_tokens:
                # litellm would leave little room for the reply
                thinking["max_tokens"] = output_limit
            request |= thinking
        return request

    def _usage(self, usage: Any, *, estimated: bool) -> Usage:
        """Return the tokens and the cost in dollars; None if no price is known."""
        if usage is None:
            return Usage()
        details = getattr(usage, "prompt_tokens_details", None)
        cost = getattr(usage, "cost", None)
        if cost is None:
            with contextlib.suppress(Exception):  # a bare one if litellm knows no price
                cost = sum(preload().cost_per_token(model=self.name, usage_object=usage))
        return Usage(
            usage.prompt_tokens or 0,
            usage.completion_tokens or 0,
            getattr(details, "cached_tokens", None) or 0,
            None if cost is None else float(cost),
            estimated,
        )
