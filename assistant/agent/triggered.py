"""Skills that the owner's message calls for by itself: in the transcript, and so in the prompt."""

from collections.abc import Iterator

from assistant.errors import StorageError
from assistant.events import Event, SkillLoaded
from assistant.model.base import ChatModel
from assistant.session.entries import SkillEntry
from assistant.session.history.turns import history
from assistant.session.transcript import Transcript
from assistant.skills.base import Skills
from assistant.skills.loading import body, bundled


def brought_in(skills: Skills, transcript: Transcript, model: ChatModel) -> Iterator[Event]:
    """Bring in the skills whose triggers the latest message holds.

    One that stands in the history as it is now is not repeated. A model that follows no
    instructions (the offline responder) gets none.
    """
    turns = history(transcript.entries).turns
    if not turns or not model.extracts:
        return
    there = {(e.name, e.text) for t in turns for e in t.entries if isinstance(e, SkillEntry)}
    for skill, trigger in skills.triggered(turns[-1].request):
        try:
            text = body(skill)
        except StorageError:
            continue  # it was removed meanwhile
        if files := bundled(skill):
            text = f"{text}\n\nFiles of this skill: {', '.join(files)}"
        if (skill.name, text) not in there:
            transcript.append(SkillEntry(skill.name, skill.path, trigger, text))
            yield SkillLoaded(skill.name, skill.path, trigger)
