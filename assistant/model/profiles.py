"""Several models in order, each behind a breaker: retries, cooldowns, fallbacks.

litellm's Router was measured and not taken: with one deployment a group it cools down on 401 only
and sends a 402, 403, 429 or 500 again on every call, it cannot show a retry while it waits, and
its classes of error are made up per provider (`failures.py`). What is needed is this page.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, Reply
from assistant.model.base import (
    UNKNOWN_WINDOW,
    ChatModel,
    Piece,
    RetryPiece,
    TextPiece,
    ToolSpec,
)

HEALING = frozenset(
    {
        ModelFailure.RATE_LIMIT,
        ModelFailure.SERVER,
        ModelFailure.TIMEOUT,
        ModelFailure.CONNECTION,
    }
)
"""Failures that pass by themselves: the same request may be tried again after a while."""
REQUESTS_OWN = frozenset({ModelFailure.OVERFLOW, ModelFailure.BAD_REQUEST})
"""Failures that say nothing against the model."""
FIRST_COOLDOWN = 1.0
LONGEST_COOLDOWN = 60.0
PATIENCE = 120.0
"""Seconds for which one request is tried, if nothing else is said."""
UNSERVED_PATIENCE = 8.0
"""Seconds for a server on this machine where nothing listens: it may be starting anew, but more
likely it is to be started."""
LEAST_JITTER = 0.5
"""A cooldown is shortened at random to this share of it at least, so that those who failed
together do not come back together."""


@dataclass(slots=True)
class Breaker:
    """Whether a profile may be tried. Seconds are those of the model's clock.

    Closed while calls succeed; a failure opens it for the cooldown, which doubles with each
    failure in a row and is shortened by `jitter`, a random number from 0 to 1. After the cooldown
    it is half-open: one call decides.
    """

    failures: int = 0
    blocked_until: float = 0.0
    reason: ModelError | None = None

    def succeed(self) -> None:
        """Close it."""
        self.failures, self.blocked_until, self.reason = 0, 0.0, None

    def fail(self, error: ModelError, now: float, jitter: float = 1.0) -> None:
        """Open it for the cooldown, or as long as the provider asks if that is longer."""
        cooldown = min(FIRST_COOLDOWN * 2**self.failures, LONGEST_COOLDOWN)
        cooldown *= LEAST_JITTER + (1 - LEAST_JITTER) * jitter
        self.failures += 1
        self.blocked_until = now + max(cooldown, error.retry_after or 0.0)
        self.reason = error

    def wait(self, now: float) -> float:
        """Seconds until a call may be made; 0 where waiting would heal nothing."""
        if self.reason is None or self.reason.kind not in HEALING:
            return 0.0
        return max(0.0, self.blocked_until - now)


@dataclass(slots=True)
class _Profile:
    """A model, and the characters of the smallest request that it found too long."""

    model: ChatModel
    breaker: Breaker
    too_long: float = math.inf

    @property
    def window(self) -> int:
        return self.model.context_window or UNKNOWN_WINDOW


class ProfiledModel:
    """The first of `models` that can be had answers.

    A failure that heals is tried again after the profile's cooldown, for `patience` seconds a
    request, but a profile that is ready is preferred to waiting. A request that is too long goes
    on to profiles with a larger window, and is OVERFLOW if there is none, for the conversation to
    be compacted. Any other failure moves on at once. After the reply's first word there is no
    other try: nobody is shown two beginnings. Raises ModelError when no profile is left, or the
    wait would be longer than patience lasts.

    `name`, `context_window` and `extracts` are those of the profile tried last.
    """

    def __init__(
        self,
        models: Sequence[ChatModel],
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._profiles = [_Profile(model, Breaker()) for model in models]
        self._current = models[0]
        self._patience = patience
        self._clock = clock
        self._now = threading.Event()
        self._sleep = sleep or self._now.wait
        self._jitter = jitter

    @property
    def current(self) -> ChatModel:
        """The model tried last."""
        return self._current

    @property
    def name(self) -> str:
        """The name of the model tried last."""
        return self._current.name

    @property
    def context_window(self) -> int | None:
        """The window of the model tried last."""
        return self._current.context_window

    @property
    def extracts(self) -> bool:
        """Whether the model tried last can extract facts."""
        return self._current.extracts

    def try_now(self) -> None:
        """End the wait before the next try, from any thread."""
        self._now.set()

    @property
    def sees(self) -> bool:
        """Whether one of the models may be sent pictures; to the others they are named."""
        return any(each.model.sees for each in self._profiles)

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the answer of the first profile that gives one."""
        size = sum(len(message.content) for message in messages)
        left = [each for each in self._profiles if size < each.too_long] or list(self._profiles)
        started = self._clock()
        errors: list[ModelError] = []
        while left:
            profile, delay = self._choose(left)
            if not errors and messages[-1].role != "tool":
                yield from self._passed_over(left[0], profile)
            if delay and self._clock() + delay > started + self._lasts(errors):
                raise _no_longer(errors, profile, delay, len(self._profiles))
            yield from self._wait(profile, delay, errors)
            error = yield from self._try(profile, messages, tools)
            if error is None:
                return
            errors.append(error)
            if error.kind is ModelFailure.OVERFLOW:
                left = self._larger(left, profile, size)
            elif error.kind not in HEALING:
                left.remove(profile)
        too_long = (error for error in errors if error.kind is ModelFailure.OVERFLOW)
        raise next(too_long, None) or _all_failed(errors[0], len(self._profiles))

    def _larger(self, left: Sequence[_Profile], refused: _Profile, size: int) -> list[_Profile]:
        """The profiles with a larger window than that which refused so many characters."""
        larger = [each for each in left if each.window > refused.window]
        if larger:  # else the conversation is made shorter, and all count again
            for each in self._profiles:
                if each.window <= refused.window:
                    each.too_long = min(each.too_long, size)
        return larger

    def _lasts(self, errors: Sequence[ModelError]) -> float:
        """Seconds for which a request is tried that has failed so."""
        if errors and all(error.unserved for error in errors):
            return min(self._patience, UNSERVED_PATIENCE)
        return self._patience

    def _choose(self, left: Sequence[_Profile]) -> tuple[_Profile, float]:
        """The first profile that is closed or half-open, else the one with the shortest wait."""
        now = self._clock()
        ready = [profile for profile in left if profile.breaker.blocked_until <= now]
        if ready:
            return ready[0], 0.0
        soonest = min(left, key=lambda profile: profile.breaker.wait(now))
        return soonest, soonest.breaker.wait(now)

    def _passed_over(self, first: _Profile, chosen: _Profile) -> Generator[Piece, None, None]:
        """Say, once a turn, that the first model is not asked since an earlier request failed."""
        reason = first.breaker.reason
        if first is not chosen and reason is not None:
            wait = first.breaker.blocked_until - self._clock()
            said = f"{reason.message}, and is left alone for {wait:.0f} s more"
            yield RetryPiece(chosen.model.name, said, 0.0, 0)

    def _wait(
        self, profile: _Profile, delay: float, errors: Sequence[ModelError]
    ) -> Generator[Piece, None, None]:
        """Say that the next try is to this profile, and wait for it."""
        reason = errors[-1] if errors else profile.breaker.reason
        if reason is None or not (errors or delay):
            return
        self._now.clear()
        yield RetryPiece(profile.model.name, reason.message, delay, len(errors))
        self._sleep(delay)

    def _try(
        self, profile: _Profile, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> Generator[Piece, None, ModelError | None]:
        """Stream one profile's answer; the error if it failed before a word was shown."""
        self._current = profile.model
        shown = False
        try:
            with closing(profile.model.stream(messages, tools)) as pieces:
                for piece in pieces:
                    if isinstance(piece, Reply):
                        profile.breaker.succeed()
                    shown = shown or (isinstance(piece, TextPiece) and not piece.text.isspace())
                    yield piece
        except ModelError as error:
            if error.kind not in REQUESTS_OWN:
                profile.breaker.fail(error, self._clock(), self._jitter())
            if shown:
                raise
            return error
        return None


def _no_longer(
    errors: Sequence[ModelError], profile: _Profile, delay: float, profiles: int
) -> ModelError:
    """Patience ends before the next try; what the provider asked for is passed on."""
    reason = errors[-1] if errors else profile.breaker.reason
    assert reason is not None  # else there were nothing to wait for
    if reason.retry_after is None and errors:
        return _all_failed(errors[0], profiles)
    cure = f"Try again in {delay:.0f} s"
    return ModelError(reason.message, cure, kind=reason.kind, retry_after=delay)


def _all_failed(first: ModelError, profiles: int) -> ModelError:
    if profiles == 1:
        return first
    return ModelError(
        f"none of the {profiles} models answered; the first: {first.message}",
        first.cure,
        kind=first.kind,
        retry_after=first.retry_after,
    )
