"""A silent model can be stopped; a talking one is read no further than it is listened to."""

import threading
from collections.abc import Generator

import pytest

from assistant.agent.loop import Interruption, listen
from assistant.errors import ModelError, ModelFailure
from assistant.events import TextDelta
from assistant.messages import Reply
from assistant.model.base import Piece

Pieces = Generator[Piece, None, None]


def test_the_pieces_come_as_they_are() -> None:
    pieces: list[Piece] = [TextDelta("a"), TextDelta("b"), Reply("ab")]
    assert list(listen((piece for piece in pieces), Interruption())) == pieces


def test_a_silent_model_is_left_behind_and_hangs_up_when_it_speaks() -> None:
    speak, closed = threading.Event(), threading.Event()

    def silent() -> Pieces:
        try:
            yield TextDelta("hm")
            speak.wait()
            yield TextDelta("too late")
        finally:
            closed.set()

    interruption = Interruption()
    stream = listen(silent(), interruption)
    assert next(stream) == TextDelta("hm")
    interruption.queue("stop")
    interruption.hurry()
    assert list(stream) == []
    assert not closed.is_set()
    speak.set()
    assert closed.wait(60)


def test_what_the_model_raises_is_raised_here() -> None:
    def failing() -> Pieces:
        yield TextDelta("half")
        raise ModelError("gone", kind=ModelFailure.SERVER)

    stream = listen(failing(), Interruption())
    next(stream)
    with pytest.raises(ModelError, match="gone"):
        next(stream)


def test_nothing_is_read_ahead() -> None:
    read: list[int] = []

    def counting() -> Pieces:
        for number in range(3):
            read.append(number)
            yield TextDelta(str(number))

    stream = listen(counting(), Interruption())
    next(stream)
    assert read == [0]
    stream.close()
    assert read == [0]
