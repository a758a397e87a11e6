"""What the owner is told of secrets in their message."""

from collections.abc import Iterable


def withheld(stand_ins: Iterable[str]) -> list[str]:
    """One line that names what the model reads in the place of secrets; none without any."""
    listed = ", ".join(sorted(stand_ins))
    if not listed:
        return []
    return [
        f"Secrets in your message stay here and are not kept: the model reads {listed}. "
        "/remember writes a fact down as you say it"
    ]
