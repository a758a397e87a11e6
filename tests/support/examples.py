"""How many examples of generated input a test tries."""

from hypothesis import settings


def examples(many: int) -> settings:
    """So many in the slow suites, each time others; a quarter, always the same, by default."""
    return settings(max_examples=many // 4 if settings().derandomize else many)
