"""Questions of the model's: shown behind bars, answered by an option, its number, or own words."""

from assistant.cli.terminal.dialogue import Dialogue, Line
from assistant.cli.terminal.rows import barred
from assistant.events import QuestionAsked
from assistant.tools.base import Question

TITLE = "The assistant asks"
OPEN, ONE, SEVERAL = (
    "your answer: ",
    "a number, or your own words: ",
    "numbers, or your own words: ",
)


def answer(asked: QuestionAsked, dialogue: Dialogue) -> str:
    """Put a question before the owner; what they mean, empty if they close it with Ctrl-D."""
    question = Question(asked.question, asked.options, asked.several)
    columns, _ = dialogue.size
    rows = (Line(row) for row, _ in barred(question.rendered, columns))
    dialogue.show([Line(TITLE, "title"), *rows])
    dialogue.settle()
    prompt = SEVERAL if asked.several else ONE if asked.options else OPEN
    said = ""
    try:
        while not said.strip():
            said = dialogue.answer(prompt, asked.options)
    except EOFError:
        return ""
    return question.meant(said)
