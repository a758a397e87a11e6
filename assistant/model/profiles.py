"""Several models in order: retries, cooldowns, fallbacks.

litellm's Router was measured and rejected: with one deployment per group it cools down on 401 only
and resends a 402, 403, 429 or 500 on every call, it cannot report a retry while it waits, and it
invents error classes per provider (`failures.py`). This module is all that is needed.
"""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from assistant.errors import ModelError, ModelFailure
from assistant.events import Retrying, TextDelta
from assistant.messages import Message, Reply
from assistant.model.base import UNKNOWN_WINDOW, ChatModel, Piece, ToolSpec, Wrapper

HEALING = frozenset(
    {
        ModelFailure.RATE_LIMIT,
        ModelFailure.SERVER,
        ModelFailure.TIMEOUT,
        ModelFailure.CONNECTION,
    }
)
"""Transient failures: the same request may be retried after a while."""
REQUESTS_OWN = frozenset({ModelFailure.OVERFLOW, ModelFailure.BAD_REQUEST})
"""Failures caused by the request, not by the model."""
FIRST_COOLDOWN = 1.0
LONGEST_COOLDOWN = 60.0
PATIENCE = 120.0
"""Seconds for which one request is retried."""
UNSERVED_PATIENCE = 8.0
"""Seconds for a local server that does not listen: it may be restarting, but more likely it has to
be started."""


class _Profile:
    """A model and its cooldown. Times are in seconds of the model's clock.

    A failure blocks it for the cooldown, which doubles with each consecutive failure, or for as
    long as the provider asks if that is longer. After that a single call decides.
    """

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.blocked_until = 0.0
        self.reason: ModelError | None = None
        self._failures = 0

    @property
    def window(self) -> int:
        return self.model.context_window or UNKNOWN_WINDOW

    def succeed(self) -> None:
        self._failures, self.blocked_until, self.reason = 0, 0.0, None

    def fail(self, error: ModelError, now: float) -> None:
        cooldown = min(FIRST_COOLDOWN * 2**self._failures, LONGEST_COOLDOWN)
        self._failures += 1
        self.blocked_until = now + max(cooldown, error.retry_after or 0.0)
        self.reason = error

    def wait(self, now: float) -> float:
        """Return the seconds until a call may be made; 0 if waiting would not help."""
        if self.reason is None or self.reason.kind not in HEALING:
            return 0.0
        return max(0.0, self.blocked_until - now)


class ProfiledModel(Wrapper):
    """Answers with the first available of `models`.

    A transient failure is retried after the profile's cooldown, for `patience` seconds per request,
    but a ready profile is preferred to waiting. A request that is too long goes to profiles with a
    larger window, and is OVERFLOW if there is none, so that the conversation is compacted. Any
    other failure moves on to the next profile at once. There is no retry after the reply's first
    word, so that nobody sees two beginnings. Raises ModelError when no profile is left, or the wait
    would exceed the patience.

    Its properties are those of the profile tried last.
    """

    def __init__(
        self,
        models: Sequence[ChatModel],
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self._profiles = [_Profile(model) for model in models]
        self._model = models[0]
        self._patience = patience
        self._clock = clock
        self._now = threading.Event()
        self._sleep = sleep or self._now.wait

    @property
    def sees(self) -> bool:
        """Whether any of the models may be sent pictures; for the others they are only named."""
        return any(profile.model.sees for profile in self._profiles)

    @property
    def tools_in_prompt(self) -> bool:
        """Whether the model tried last has its tools in the prompt."""
        return self._model.tools_in_prompt

    def try_now(self) -> None:
        """End the wait before the next try, and let the next request start without one.
        Thread-safe."""
        for profile in self._profiles:
            profile.blocked_until = 0.0
        self._now.set()

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the response of the first profile that gives one."""
        remaining = list(self._profiles)
        start = self._clock()
        errors: list[ModelError] = []
        while remaining:
            profile = self._choose(remaining)
            delay = profile.wait(self._clock())
            if not errors and messages[-1].role != "tool":
                yield from self._report_skipped(remaining[0], profile)
            reason = errors[-1] if errors else profile.reason
            if reason and delay and self._clock() + delay > start + self._patience_for(errors):
                raise self._out_of_patience(errors, reason, delay)
            if reason and (errors or delay):
                self._now.clear()
                yield Retrying(profile.model.name, reason.message, delay, len(errors))
                self._sleep(delay)
                yield TextDelta("")  # a turn that was stopped meanwhile ends here, unsent
            error = yield from self._try(profile, messages, tools)
            if error is None:
                return
            errors.append(error)
            if error.kind is ModelFailure.OVERFLOW:
                remaining = [other for other in remaining if other.window > profile.window]
            elif error.kind not in HEALING:
                remaining.remove(profile)
        too_long = (error for error in errors if error.kind is ModelFailure.OVERFLOW)
        raise next(too_long, None) or self._all_failed(errors[0])

    def _patience_for(self, errors: Sequence[ModelError]) -> float:
        """Return the seconds for which a request with these failures is retried."""
        if errors and all(error.unserved for error in errors):
            return min(self._patience, UNSERVED_PATIENCE)
        return self._patience

    def _choose(self, remaining: Sequence[_Profile]) -> _Profile:
        """Return the first profile that is not blocked, otherwise the one with the shortest
        wait."""
        now = self._clock()
        ready = (profile for profile in remaining if profile.blocked_until <= now)
        return next(ready, None) or min(remaining, key=lambda profile: profile.wait(now))

    def _report_skipped(self, first: _Profile, chosen: _Profile) -> Generator[Piece, None, None]:
        """Report, once per turn, that the first model is skipped because an earlier request
        failed."""
        if first is not chosen and first.reason is not None:
            wait = first.blocked_until - self._clock()
            text = f"{first.reason.message}, and is skipped for {wait:.0f} s more"
            yield Retrying(chosen.model.name, text, 0.0, 0)

    def _try(
        self, profile: _Profile, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> Generator[Piece, None, ModelError | None]:
        """Stream one profile's response; return the error if it failed before any text was
        shown."""
        self._model = profile.model
        has_text = False
        try:
            with closing(profile.model.stream(messages, tools)) as pieces:
                for piece in pieces:
                    if isinstance(piece, Reply):
                        profile.succeed()
                    has_text = has_text or (
                        isinstance(piece, TextDelta) and not piece.text.isspace()
                    )
                    yield piece
        except ModelError as error:
            if error.kind not in REQUESTS_OWN:
                profile.fail(error, self._clock())
            if has_text:
                raise
            return error
        return None

    def _out_of_patience(
        self, errors: Sequence[ModelError], reason: ModelError, delay: float
    ) -> ModelError:
        """Return the error for giving up before the next try, with the provider's requested
        delay."""
        if reason.retry_after is None and errors:
            return self._all_failed(errors[0])
        cure = f"Try again in {delay:.0f} s"
        return ModelError(reason.message, cure, kind=reason.kind, retry_after=delay)

    def _all_failed(self, first: ModelError) -> ModelError:
        if len(self._profiles) == 1:
            return first
        return ModelError(
            f"none of the {len(self._profiles)} models answered; the first: {first.message}",
            first.cure,
            kind=first.kind,
            retry_after=first.retry_after,
        )
