"""Several models in order, each behind a breaker: retries, cooldowns, fallbacks.

litellm's Router was measured and not taken: with one deployment a group it cools down on 401 only
and sends a 402, 403, 429 or 500 again on every call, it cannot show a retry while it waits, and
its classes of error are made up per provider (`failures.py`). What is needed is this page.
"""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, Reply
from assistant.model.base import ChatModel, Piece, ReasoningPiece, RetryPiece, TextPiece, ToolSpec

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
MOST_TRIES = 4
"""Tries of one profile for one request; the cooldowns between them are 1, 2 and 4 s."""


@dataclass(slots=True)
class Breaker:
    """Whether a profile may be tried. Seconds are those of the model's clock.

    Closed while calls succeed; a failure opens it for the cooldown, which doubles with each
    failure in a row. After the cooldown it is half-open: one call decides.
    """

    failures: int = 0
    blocked_until: float = 0.0
    reason: ModelError | None = None

    def succeed(self) -> None:
        """Close it."""
        self.failures, self.blocked_until, self.reason = 0, 0.0, None

    def fail(self, error: ModelError, now: float) -> None:
        """Open it for the cooldown, or as long as the provider asks if that is longer."""
        cooldown = min(FIRST_COOLDOWN * 2**self.failures, LONGEST_COOLDOWN)
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
    model: ChatModel
    breaker: Breaker
    tries: int = 0


class ProfiledModel:
    """The first of `models` that can be had answers.

    A failure that heals is tried again after the profile's cooldown, up to MOST_TRIES a request,
    but a profile that is ready is preferred to waiting; any other failure moves on at once, and
    OVERFLOW is raised at once, for the conversation to be compacted. After the first piece of
    text there is no other try: nobody is shown two beginnings. Raises ModelError when no profile
    is left, or the wait would be longer than LONGEST_COOLDOWN.

    `name`, `context_window` and `extracts` are those of the profile tried last.
    """

    def __init__(
        self,
        models: Sequence[ChatModel],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._profiles = [_Profile(model, Breaker()) for model in models]
        self._current = models[0]
        self._clock = clock
        self._sleep = sleep

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

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the answer of the first profile that gives one."""
        left = list(self._profiles)
        errors: list[ModelError] = []
        for profile in left:
            profile.tries = 0
        while left:
            profile, delay = self._choose(left)
            yield from self._wait(profile, delay, errors)
            error = yield from self._try(profile, messages, tools)
            if error is None:
                return
            errors.append(error)
            if error.kind not in HEALING or profile.tries == MOST_TRIES:
                left.remove(profile)
        raise _all_failed(errors[0], len(self._profiles))

    def _choose(self, left: Sequence[_Profile]) -> tuple[_Profile, float]:
        """The first profile that is closed or half-open, else the one with the shortest wait."""
        now = self._clock()
        ready = [profile for profile in left if profile.breaker.blocked_until <= now]
        if ready:
            return ready[0], 0.0
        soonest = min(left, key=lambda profile: profile.breaker.wait(now))
        return soonest, soonest.breaker.wait(now)

    def _wait(
        self, profile: _Profile, delay: float, errors: Sequence[ModelError]
    ) -> Generator[Piece, None, None]:
        """Say that the next try is to this profile, and wait for it."""
        reason = errors[-1] if errors else profile.breaker.reason
        if reason is None or not (errors or delay):
            return
        if delay > LONGEST_COOLDOWN:
            cure = f"Try again in {delay:.0f} s"
            raise ModelError(reason.message, cure, kind=reason.kind, retry_after=delay)
        yield RetryPiece(profile.model.name, reason.message, delay, len(errors))
        self._sleep(delay)

    def _try(
        self, profile: _Profile, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> Generator[Piece, None, ModelError | None]:
        """Stream one profile's answer; the error if it failed before anything was shown."""
        self._current = profile.model
        profile.tries += 1
        shown = False
        try:
            with closing(profile.model.stream(messages, tools)) as pieces:
                for piece in pieces:
                    if isinstance(piece, Reply):
                        profile.breaker.succeed()
                    shown = shown or isinstance(piece, TextPiece | ReasoningPiece)
                    yield piece
        except ModelError as error:
            if error.kind not in REQUESTS_OWN:
                profile.breaker.fail(error, self._clock())
            if shown or error.kind is ModelFailure.OVERFLOW:
                raise
            return error
        return None


def _all_failed(first: ModelError, profiles: int) -> ModelError:
    if profiles == 1:
        return first
    return ModelError(
        f"none of the {profiles} models answered; the first: {first.message}",
        first.cure,
        kind=first.kind,
        retry_after=first.retry_after,
    )
