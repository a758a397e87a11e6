"""Questions go first, and nobody stands still for ever."""

import threading

from assistant.memory.precedence import Precedence

LONG = 60.0


def works(precedence: Precedence, steps: int) -> tuple[threading.Thread, threading.Event]:
    """A thread in the background, and the event that it has begun."""
    begun = threading.Event()

    def work() -> None:
        with precedence.behind():
            begun.set()
            assert list(precedence.between(range(steps))) == list(range(steps))

    thread = threading.Thread(target=work)
    return thread, begun


def test_the_background_stands_still_while_a_question_is_answered() -> None:
    precedence = Precedence(LONG)
    thread, begun = works(precedence, 3)
    with precedence.answering():
        precedence.give_way()  # who answers does not wait for itself
        thread.start()
        assert begun.wait(LONG)
        thread.join(0.05)
        assert thread.is_alive()
    thread.join(LONG)
    assert not thread.is_alive()


def test_however_many_questions_come_the_background_comes_to_its_end() -> None:
    precedence = Precedence(0.001)
    thread, _ = works(precedence, 20)
    with precedence.answering():
        thread.start()
        thread.join(LONG)
        assert not thread.is_alive()
