"""A personal assistant for the terminal whose long-term memory is plain markdown.

The flow, and the module or package of each step::

    markdown file            workspace/folder.py     the owner's files; the truth
      → chunks               memory/text/            a list item, a paragraph: the unit of recall
      → vectors              memory/embedding/       onnxruntime, compiled by compile.py
      → index                memory/index/           SQLite, Chroma; a cache
      → recall               memory/search/          the passages worth their tokens
      → context              agent/prompt.py         the system prompt, section by section
      → model                model/                  any provider, or the offline responder
      → tools                tools/                  what the model may do, and its limits
      → transcript           session/transcript.py   append-only JSON lines
      → compaction           agent/compaction.py     old turns become dated facts and a summary
    → markdown file          memory/writing/         the one writer of memory

Read `conversation.py` first: one turn goes through the whole cycle there. From Python:
`from assistant import Memory, Assistant`.
"""

__version__ = "0.1.0"

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


def __getattr__(name: str) -> object:
    """Load a public name on first access."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("assistant.api"), name)
