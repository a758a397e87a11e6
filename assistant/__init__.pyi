from assistant.api import (
    Assistant,
    AssistantError,
    Forgotten,
    Held,
    JournalEntry,
    Memory,
    MemoryStatus,
    Passage,
    Recall,
    Remembered,
)

__all__ = [
    "Assistant",
    "AssistantError",
    "Forgotten",
    "Held",
    "JournalEntry",
    "Memory",
    "MemoryStatus",
    "Passage",
    "Recall",
    "Remembered",
]

__version__: str
