"""A personal assistant for the terminal whose long-term memory is plain markdown.

The flow, and the room each step lives in::

    markdown file            workspace.py            the owner's files; the truth
      → chunks               memory/chunks.py        a list item, a paragraph: the unit of recall
      → vectors              memory/embedder.py      onnxruntime, compiled by memory/compile.py
      → index                memory/catalog.py, memory/vectors.py   SQLite + FTS5, Chroma; a cache
      → recall               memory/recall.py, memory/ranking.py    the passages worth their tokens
      → context              agent/context.py        the system prompt, section by section
      → model                model/                  any provider, or the offline responder
      → tools                tools/                  what the model may do, and its limits
      → transcript           session/transcript.py   append-only JSON lines
      → compaction           session/compaction.py   old turns become dated facts and a summary
    → markdown file          memory/ledger.py        the one writer of memory

Read `conversation.py` first: one turn goes through the whole cycle there.
"""

__version__ = "0.1.0"
