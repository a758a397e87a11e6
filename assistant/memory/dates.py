"""Dates in headings, facts and questions."""


def heading_date(text: str) -> str | None:
    return None


def mentions(text: str, anchor: str | None) -> tuple[str, ...]:
    return ()
