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
    for stage in stages:
        if goal := MEMORY_GOALS.get(stage.chunks):
            baseline = f"bare Chroma and encoder {stage.bare_memory / MB:.0f} MB"
            resident = stage.daemon / MB
            report.add(
                Result(f"daemon's memory, {stage.chunks:,} chunks, no torch", f"{resident:.0f} MB",
                       baseline, f"≤ {goal} MB", resident, goal)
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
        (f"{stage.chunks:,}", f"{stage.catalog:.2f} s", f"{stage.chroma:.2f} s",
         f"{stage.bare:.2f} s", f"{stage.disk / MB:.1f} MB", stage.recall,
         f"{stage.edit * 1000:.0f} ms", stage.edit_embedded, f"{stage.daemon / MB:.0f} MB",
         f"{stage.bare_memory / MB:.0f} MB")
        for stage in stages
    ]  # fmt: skip
    report.charts["memory"] = Chart(
        "Resident memory, MB",
        "chunks",
        {
            "daemon": [(stage.chunks, stage.daemon / MB) for stage in stages],
            "bare Chroma + encoder": [(stage.chunks, stage.bare_memory / MB) for stage in stages],
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
    here = {stage.chunks: stage for stage in stages}
    rows = [
        (f"{stage.chunks:,}", stage.recall, here[stage.chunks].recall, f"{stage.chroma:.1f} s",
         f"{here[stage.chunks].chroma:.1f} s", f"{stage.daemon / MB:.0f} MB",
         f"{here[stage.chunks].daemon / MB:.0f} MB")
        for stage in served
    ]  # fmt: skip
    report.charts["recall"] = Chart(
        "Recall, ms",
        "chunks",
        {
            "p50": [(stage.chunks, stage.recall.p50) for stage in stages],
            "p95": [(stage.chunks, stage.recall.p95) for stage in stages],
            "p50, server": [(stage.chunks, stage.recall.p50) for stage in served],
            "p95, server": [(stage.chunks, stage.recall.p95) for stage in served],
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
    figures = [
        f"{getattr(stage.recall, name):.1f} ms at {stage.chunks:,}" for stage in stages[-3:-1]
    ]
    return ", ".join(figures)
