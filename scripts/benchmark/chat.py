"""The chat in a real terminal: how soon its prompt is there, how soon the first request leaves."""

import os
import time
from statistics import median

import pexpect

from assistant.memory import owner
from assistant.workspace import Workspace
from scripts.benchmark.measure import ASSISTANT, clocked, rival
from scripts.benchmark.report import Report, Result
from tests.provider import Provider, Received

TIMES = 5


def prompt(report: Report, place: Workspace) -> None:
    """Type a message as soon as there is a prompt, for a model on a local server."""
    shown, left, imports = [], [], []
    for _ in range(TIMES):
        imports.append(clocked(lambda: rival("litellm"))[0])
        visible, sent = _one(place)
        shown.append(visible)
        left.append(sent)
    owner.ask_to_yield(place)
    visible, sent, least = median(shown), median(left), median(imports)
    report.add(
        Result("chat's prompt visible", f"{visible:.2f} s", "", "≤ 0.4 s", visible, 0.4),
        Result("chat's first request leaves", f"{sent:.2f} s",
               f"`import litellm` {least:.2f} s: {sent - least:+.2f} s", "≤ + 0.3 s",
               sent - least, 0.3),
    )  # fmt: skip


def _one(place: Workspace) -> tuple[float, float]:
    """Seconds from the start of the process to its prompt, and to its first request."""
    arrived: list[float] = []

    def respond(received: Received) -> str:
        arrived.append(time.perf_counter())
        return "Hello."

    with Provider(respond=respond) as provider:
        command = f"{ASSISTANT} -w {place.root} chat"
        start = time.perf_counter()
        child = pexpect.spawn(
            command, env=_environment(provider.url), dimensions=(40, 120), encoding="utf-8"
        )
        child.expect("›", timeout=60)
        child.delaybeforesend = None
        visible = time.perf_counter()
        child.send("Hello\r")
        child.expect("Hello\\.", timeout=120)
        child.expect("›", timeout=60)
        child.send("/quit\r")
        child.expect(pexpect.EOF, timeout=60)
    return visible - start, arrived[0] - start


def _environment(url: str) -> dict[str, str]:
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": url}
    return {**os.environ, **model, "OPENAI_API_KEY": "none", "TERM": "xterm-256color"}
