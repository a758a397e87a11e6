"""BOOTSTRAP.md: in the prompt of the first turn that is answered, and then gone from there."""

from assistant.agent.prompt.recipe import BOOTSTRAP
from assistant.session.transcript import Transcript
from assistant.workspace.folder import Workspace


def retire(workspace: Workspace, transcript: Transcript) -> str | None:
    """Put the file away once it was answered; what to tell the owner, None if there was none."""
    path = workspace.root / BOOTSTRAP
    if transcript.off_the_record or not path.is_file():
        return None
    kept = workspace.private / f"bootstrap-{transcript.session}.md"
    try:
        path.rename(kept)
    except OSError as error:
        return f"{BOOTSTRAP} cannot be put away: {error.strerror}; remove it yourself"
    return f"{BOOTSTRAP} was carried out once; it is kept as .assistant/{kept.name}"
