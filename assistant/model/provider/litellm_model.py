"""Any language model that litellm knows, as a `ChatModel`."""

import contextlib
import re
from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, Usage
from assistant.model.base import Piece, ToolSpec
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
from assistant.model.provider.known import Known
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

OLLAMA = "ollama/"
"""litellm drops tools of a model so named when it streams; of `ollama_chat/` it does not."""
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
        self.name = f"ollama_chat/{name.removeprefix(OLLAMA)}" if name.startswith(OLLAMA) else name
        self._known = Known(self.name, settings)
        self._settings = settings
        self._api_key_env = api_key_env
        self._thoughts: Thoughts = "if any" if THINKERS.search(self.name) else "never"
        self._blind = False  # its provider has refused pictures
        self._unopened = False  # it closes its reasoning without having opened it
        self._limits = Limits(
            settings.timeout_seconds, settings.first_token_seconds, settings.answer_seconds
        )

    @property
    def context_window(self) -> int | None:
        """Tokens the model takes: the setting, else what litellm or Ollama knows of it."""
        return self._known.window

    @property
    def calls_tools(self) -> bool:
        """Whether tools may be offered in the provider's own way; it may still refuse them."""
        return self._known.calls_tools

    @property
    def sees(self) -> bool:
        """Whether it may be sent pictures: by the setting, litellm, or what its provider said."""
        return self._known.sees and not self._blind

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
        self._blind = True
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
    def _endpoint(self) -> Endpoint:
        return Endpoint(self.name, self._settings.api_base, self._keys.variable)

    @property
    def _keys(self) -> Keys:
        return Keys(self.name, self._known.provider, self._api_key_env)

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Json:
        style = self._style()
        request: Json = {
            "model": self.name,
            "custom_llm_provider": self._known.provider,
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
        if self._known.on_ollama:
            request["num_ctx"] = self.context_window
        if not (style.signs and lacks_signed(messages)):
            request |= self._thinking()
        return request

    def _thinking(self) -> Json:
        """How much to think; with room for the answer, where litellm would leave little."""
        told = thinking_parameters(self._settings, self._known.provider)
        most = self._known.facts.get("max_output_tokens") if told else None
        if most and self._known.provider == "anthropic" and not self._settings.max_output_tokens:
            told["max_tokens"] = most
        return told

    def _style(self) -> Style:
        claude = self._known.provider == "anthropic" or "claude" in self.name
        return Style(
            marks=claude,
            signs=claude,
            thoughts=self._thoughts,
            own_ids=self._known.provider in ("gemini", "vertex_ai", "vertex_ai_beta"),
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
            self._known.cost(usage),
        )


def _next(response: Any, watch: Watch) -> Any:
    """The next chunk; None at the end. Some adapters send the request only now."""
    with watch.over_requests():
        return next(response, None)
