"""Summarises the stages of growth: rows with goals, tables and plots."""

from collections.abc import Sequence

from scripts.benchmark.growth import Served, Stage
from scripts.benchmark.page.plots import Chart
from scripts.benchmark.page.report import Report, Result, table

MB = 1e6
MEMORY_GOALS = {1_000: 220, 100_000: 500}


def judge(report: Report, stages: Sequence[Stage]) -> None:
    """Add the rows of the goals for one size."""
    last = stages[-1]
    report.add(
        Result(f"recall in the daemon, {last.chunks:,} chunks, p50", f"{last.recall.p50:.1f} ms",
               _smaller(stages, "p50"), "≤ 15 ms", last.recall.p50, 15),
        Result(f"recall in the daemon, {last.chunks:,} chunks, p95", f"{last.recall.p95:.1f} ms",
               _smaller(stages, "p95"), "≤ 40 ms", last.recall.p95, 40),
        Result(f"rebuild of a deleted Chroma, {last.chunks:,} chunks", f"{last.chroma:.1f} s",
               f"bare upsert {last.bare:.1f} s: {last.chroma / last.bare:.2f} ×", "≤ 1.3 ×",
               last.chroma / last.bare, 1.3),
        Result("texts embedded for it", f"{last.chroma_embedded}", f"{last.chunks:,} chunks", "0",
               last.chroma_embedded, 0),
    )  # fmt: skip
    for each in stages:
        if goal := MEMORY_GOALS.get(each.chunks):
            beside = f"bare Chroma and encoder {each.bare_memory / MB:.0f} MB"
            held = each.daemon / MB
            report.add(
                Result(f"daemon's memory, {each.chunks:,} chunks, no torch", f"{held:.0f} MB",
                       beside, f"≤ {goal} MB", held, goal)
            )  # fmt: skip


def tell(report: Report, stages: Sequence[Stage], served: Sequence[Served]) -> None:
    """Add the tables and plots of growth, with Chroma local and on a server."""
    _tell_growth(report, stages)
    _tell_server(report, stages, served)


def _tell_growth(report: Report, stages: Sequence[Stage]) -> None:
    heads = ("chunks", "catalog", "Chroma filled", "bare upsert", "on disk", "recall p50 / p95",
             "one line added, save to recallable", "texts embedded for it", "daemon",
             "bare Chroma and encoder")  # fmt: skip
    rows = [
        (f"{each.chunks:,}", f"{each.catalog:.2f} s", f"{each.chroma:.2f} s", f"{each.bare:.2f} s",
         f"{each.disk / MB:.1f} MB", each.recall, f"{each.edit * 1000:.0f} ms", each.edit_embedded,
         f"{each.daemon / MB:.0f} MB", f"{each.bare_memory / MB:.0f} MB")
        for each in stages
    ]  # fmt: skip
    report.charts["memory"] = Chart(
        "Resident memory, MB",
        "chunks",
        {
            "daemon": [(each.chunks, each.daemon / MB) for each in stages],
            "bare Chroma + encoder": [(each.chunks, each.bare_memory / MB) for each in stages],
        },
    )
    report.section(
        "Growth",
        "A thousand facts per file. The catalog is built with vectors that were embedded before, "
        "so its time is that of reading, chunking and writing. An edit reads the one file that "
        "changed and embeds what is new in it, whatever the size of the memory. A client that "
        "stays connected asks over the daemon's socket: 200 questions after 20 to warm up.",
        table(heads, rows),
        chart="memory",
    )


def _tell_server(report: Report, stages: Sequence[Stage], served: Sequence[Served]) -> None:
    here = {each.chunks: each for each in stages}
    rows = [
        (f"{each.chunks:,}", each.recall, here[each.chunks].recall, f"{each.chroma:.1f} s",
         f"{here[each.chunks].chroma:.1f} s", f"{each.daemon / MB:.0f} MB",
         f"{here[each.chunks].daemon / MB:.0f} MB")
        for each in served
    ]  # fmt: skip
    report.charts["recall"] = Chart(
        "Recall, ms",
        "chunks",
        {
            "p50": [(each.chunks, each.recall.p50) for each in stages],
            "p95": [(each.chunks, each.recall.p95) for each in stages],
            "p50, server": [(each.chunks, each.recall.p50) for each in served],
            "p95, server": [(each.chunks, each.recall.p95) for each in served],
        },
    )
    report.section(
        "With a Chroma server",
        "The same memories with `index.url` set to a `chroma run` on this machine, which shares "
        "its cores with the daemon.",
        table(("chunks", "recall p50 / p95", "embedded", "filled", "embedded", "daemon",
               "embedded"), rows),
        chart="recall",
    )  # fmt: skip


def _smaller(stages: Sequence[Stage], name: str) -> str:
    told = [f"{getattr(each.recall, name):.1f} ms at {each.chunks:,}" for each in stages[-3:-1]]
    return ", ".join(told)
