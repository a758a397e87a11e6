"""`scripts/bench [--quick]`: measure everything, print it, and write docs/benchmarks.md.

`--against COMMIT` runs the same commands on the same facts with the code of another commit, and
writes nothing.
"""

import argparse
from pathlib import Path

from assistant.memory.embedding import compile
from assistant.settings.sections import EmbeddingSettings
from scripts.benchmark import (
    against,
    chat,
    commands,
    growth,
    indexing,
    measure,
    one_file,
)
from scripts.benchmark.facts import facts
from scripts.benchmark.page import summary
from scripts.benchmark.page.report import Report
from scripts.benchmark.vectors import FactEmbedder, keep

SIZES = (10, 100, 1_000, 10_000, 100_000)
QUICK_SIZES = SIZES[:-1]
SERVED_FROM = 1_000
ONE_FILE = (1_000, 10_000)
"""Numbers of facts in one file."""
KEPT = measure.CACHE / "bench"


def main() -> None:
    """Measure in order: whole processes, first indexing, growth, a server, the chat."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="stop at 10,000 chunks, write nothing")
    parser.add_argument("--against", metavar="COMMIT", help="compare another commit with this one")
    options = parser.parse_args()
    sizes: tuple[int, ...] = QUICK_SIZES if options.quick else SIZES
    report = Report()
    with measure.room() as directory:
        if options.against:
            sizes = against.SIZES[:2] if options.quick else against.SIZES
            against.against(directory, options.against, sizes)
            return
        _measure(report, directory, sizes)
    print(report.page())
    if sizes is SIZES:
        report.write()


def _measure(report: Report, directory: Path, sizes: tuple[int, ...]) -> None:
    encoder = compile.load(EmbeddingSettings())
    items = facts(sizes[-1])
    kept = keep(items, encoder, KEPT)
    embedder = FactEmbedder(encoder, items, kept)
    commands.help_(report)
    bare = indexing.first(report, directory, encoder)
    workspace, single = commands.prepare(directory / "single", embedder)
    indexing.bare_upsert(directory / "rival", kept, len(single))
    commands.recall(report, workspace, directory / "rival", single)
    commands.edit(report, workspace, single, bare)
    chat.chat(report, workspace)
    one_file.side_by_side(report, directory, ONE_FILE, sizes[-1])
    stages = [growth.stage(directory, embedder, kept, size) for size in sizes]
    growth.context(report, directory, (sizes[0], sizes[-1]))
    served = [growth.served(directory, embedder, each) for each in sizes if each >= SERVED_FROM]
    summary.judge(report, stages)
    summary.tell(report, stages, served)


if __name__ == "__main__":
    main()
