"""Any language model that litellm knows, as a `ChatModel`."""

import contextlib
import re
from collections.abc import Generator, Mapping, Sequence
from functools import cached_property
from typing import Any

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, Usage
from assistant.model.base import UNKNOWN_WINDOW, Piece, ToolSpec
from assistant.model.provider.effort import thinking_parameters
from assistant.model.provider.failures import (
    NO_PICTURES,
    broke_off,
    classify,
    classify_told,
    cut_off,
    silent,
)
from assistant.model.provider.http.watch import Limits, Watch
from assistant.model.provider.keys import Keys
from assistant.model.provider.litellm_library import preload
from assistant.model.provider.outgoing import (
    Style,
    Thoughts,
    lacks_signed,
    wire_messages,
    wire_tool,
)
from assistant.model.provider.stream.assembly import Assembly
from assistant.model.provider.stream.chunks import Finish, close, delta_of, tapped
from assistant.model.provider.wording import CHOOSE, Endpoint
from assistant.settings.answering import ModelSettings

Json = dict[str, Any]

THINKERS = re.compile(r"deepseek|kimi|moonshot", re.IGNORECASE)
"""Models that think between their calls, and want to be shown again what they thought."""
WANTS_THOUGHTS = re.compile(
    r"reasoning_content\W.{0,60}(missing|required|must be)|missing.{0,20}reasoning_content",
    re.IGNORECASE,
)
WANTS_NO_THOUGHTS = re.compile(
    r"(unsupported|unknown|unexpected|unrecognized|extra|not (permitted|allowed|supported))"
    r".{0,80}reasoning_content"
    r"|reasoning_content\W.{0,80}(un(supported|known|expected|recognized)|not |extra)",
    re.IGNORECASE,
)
"""A provider's ways of saying that it must be, or must not be, sent what was thought."""


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
        self._thoughts: Thoughts = "if any" if THINKERS.search(self.name) else "never"
        self._sees = settings.sees  # None: nobody has said
        self._unopened = False  # it closes its reasoning without having opened it
        self._limits = Limits(
            settings.timeout_seconds, settings.first_token_seconds, settings.answer_seconds
        )

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

    @property
    def sees(self) -> bool:
        """Whether it may be sent pictures, by the setting, litellm, or what its provider said.

        Of a model on Ollama litellm does not know, and of one that nobody knows it is hoped.
        """
        if self._sees is None and self._info and not self._on_ollama:
            self._sees = bool(self._info.get("supports_vision"))
        return self._sees is not False

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the answer over HTTP. Raises ModelError."""
        try:
            yield from self._stream(messages, tools)
        except ModelError as error:
            if not (self._learns_from(error) or self._turns_blind(error, messages)):
                raise
            yield from self._stream(messages, tools)

    def _learns_from(self, error: ModelError) -> bool:
        """Whether the provider refused for a field more or less, which is now known."""
        if error.kind is not ModelFailure.BAD_REQUEST:
            return False
        before = self._thoughts
        if WANTS_NO_THOUGHTS.search(error.message):
            self._thoughts = "never"
        elif WANTS_THOUGHTS.search(error.message):
            self._thoughts = "always"
        return self._thoughts != before

    def _turns_blind(self, error: ModelError, messages: Sequence[Message]) -> bool:
        """Whether the provider refused for pictures of earlier turns, which it is sent no more.

        Raises ModelError if the latest message has one.
        """
        shown = [number for number, each in enumerate(messages) if each.pictures]
        if not (shown and self.sees and NO_PICTURES.search(error.message)):
            return False
        self._sees = False
        if any(each.role == "user" for each in messages[shown[-1] + 1 :]):
            return True
        raise ModelError(
            f"{self.name} sees no pictures", CHOOSE[0].upper() + CHOOSE[1:], kind=error.kind
        ) from error

    def _stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> Generator[Piece, None, None]:
        request = self._request(messages, tools)
        ids = (call.id for message in messages for call in message.tool_calls)
        made = Assembly([tool.name for tool in tools], ids, unopened=self._unopened)
        finish = Finish()
        usage: Any = None
        with (
            Watch(self._limits) as watch,
            contextlib.closing(self._chunks(request, watch, finish)) as chunks,
        ):
            for chunk in chunks:
                usage = getattr(chunk, "usage", None) or usage
                delta = delta_of(chunk)
                if delta.size:
                    watch.spoke()
                yield from made.add(delta)
                if made.too_long:
                    break
        yield from made.finish()
        if made.wordless and finish.reason is None:
            raise self._said_nothing(made, watch)
        self._unopened = made.unopened
        yield made.reply(finish.reason, self._usage(usage))

    def _said_nothing(self, made: Assembly, watch: Watch) -> ModelError:
        """Why an answer ended without a word and without an end."""
        if made.too_long:
            return cut_off(self._endpoint, "unread")
        return silent(self._endpoint) if watch.foreign else broke_off(self._endpoint)

    def _chunks(self, request: Json, watch: Watch, finish: Finish) -> Generator[Any, None, None]:
        """The chunks of the response, each read under the watch. Raises ModelError."""
        response: Any = None
        try:
            with watch.over_requests():
                response = tapped(preload().completion(**request), finish)
            while (chunk := _next(response, watch)) is not None:
                yield chunk
            finish.settle(response)
            if watch.overheard:
                finish.reason = watch.finish
            if finish.reason is None and (error := self._ended_by(watch)):
                raise error
        except (ModelError, GeneratorExit):
            raise
        except Exception as error:  # what any provider's library raises
            raise self._ended_by(watch) or classify(error, self._endpoint) from error
        finally:
            close(response)

    def _ended_by(self, watch: Watch) -> ModelError | None:
        """Why the answer ended in its middle, where that is known: a limit, the provider's word."""
        if watch.passed:
            return cut_off(self._endpoint, watch.passed)
        told = watch.told()
        return classify_told(told, self._endpoint) if told else None

    @cached_property
    def _provider(self) -> str:
        try:
            provider: str = preload().get_llm_provider(self.name)[1]
        except Exception as error:  # it raises a bare Exception for a name it does not know
            raise classify(error, Endpoint(self.name, self._settings.api_base)) from error
        return provider

    @cached_property
    def _endpoint(self) -> Endpoint:
        return Endpoint(self.name, self._settings.api_base, self._keys.variable)

    @property
    def _keys(self) -> Keys:
        return Keys(self.name, self._provider, self._api_key_env)

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
        style = self._style()
        request: Json = {
            "model": self.name,
            "custom_llm_provider": self._provider,
            "messages": wire_messages(messages, style),
            "stream": True,
            "stream_options": {"include_usage": True},
            "timeout": self._settings.timeout_seconds,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            "api_key": self._keys.key(self._endpoint),
        }
        if tools:
            request["tools"] = [wire_tool(spec) for spec in tools]
            request["_skip_mcp_handler"] = True  # else it imports mcp to see if they are: 0.6 s
        if self._settings.api_base:
            request["api_base"] = self._settings.api_base
        if self._settings.max_output_tokens:
            request["max_tokens"] = self._settings.max_output_tokens
        if self._on_ollama:
            request["num_ctx"] = self.context_window
        if not (style.signs and lacks_signed(messages)):
            request |= self._thinking()
        return request

    def _thinking(self) -> Json:
        """How much to think; with room for the answer, where litellm would leave little."""
        told = thinking_parameters(self._settings, self._provider)
        most = self._info.get("max_output_tokens") if told else None
        if most and self._provider == "anthropic" and not self._settings.max_output_tokens:
            told["max_tokens"] = most
        return told

    def _style(self) -> Style:
        claude = self._provider == "anthropic" or "claude" in self.name
        return Style(
            marks=claude,
            signs=claude,
            thoughts=self._thoughts,
            own_ids=self._provider in ("gemini", "vertex_ai", "vertex_ai_beta"),
            sees=self.sees,
        )

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


def _next(response: Any, watch: Watch) -> Any:
    """The next chunk; None at the end. Some adapters send the request only now."""
    with watch.over_requests():
        return next(response, None)
