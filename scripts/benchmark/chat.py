"""The chat in a real terminal: the time to its prompt, and to its requests."""

import os
import time
from dataclasses import dataclass
from statistics import median

import pexpect

from assistant.memory.daemon import lifecycle
from assistant.workspace.folder import Workspace
from scripts.benchmark.measure import ASSISTANT, clocked, rival
from scripts.benchmark.page.report import Report, Result
from tests.support.provider import Provider, Received

TIMES = 5


@dataclass(frozen=True, slots=True)
class Sent:
    """Seconds from the start of a chat to its prompt and to its first request, and from Enter to
    the request of the second message."""

    prompt: float
    first: float
    second: float


def chat(report: Report, workspace: Workspace) -> None:
    """Type a message as soon as there is a prompt, for a model on a local server; then another."""
    chats, imports = [], []
    for _ in range(TIMES):
        imports.append(clocked(lambda: rival("litellm"))[0])
        chats.append(_chat(workspace))
    lifecycle.ask_to_yield(workspace)
    prompt, least = median(sent.prompt for sent in chats), median(imports)
    first, second = median(sent.first for sent in chats), median(sent.second for sent in chats)
    later = median(sent.first - alone for sent, alone in zip(chats, imports, strict=True))
    report.add(
        Result("chat's prompt visible", f"{prompt:.2f} s", "", "≤ 0.4 s", prompt, 0.4),
        Result("chat's first request leaves", f"{first:.2f} s",
               f"`import litellm` {least:.2f} s: {later:+.2f} s", "≤ + 0.3 s", later, 0.3),
        Result("the next message's request leaves", f"{second:.2f} s", "", "≤ 0.3 s", second, 0.3),
    )  # fmt: skip


def _chat(workspace: Workspace) -> Sent:
    arrivals: list[float] = []
    with Provider(respond=lambda received: _noted(received, arrivals)) as provider:
        start = time.perf_counter()
        child = pexpect.spawn(
            f"{ASSISTANT} -w {workspace.root} chat",
            env=_environment(provider.url),
            dimensions=(40, 120),
            encoding="utf-8",
            timeout=120,
        )
        child.delaybeforesend = None
        child.expect("›")
        visible = time.perf_counter()
        child.send("Hello\r")
        child.expect("Good day")
        child.expect("›")
        entered = time.perf_counter()
        child.send("And hello again\r")
        child.expect("Good day")
        child.expect("›")
        child.send("/quit\r")
        child.expect(pexpect.EOF)
    return Sent(visible - start, arrivals[0] - start, arrivals[1] - entered)


def _noted(received: Received, arrivals: list[float]) -> str:
    arrivals.append(time.perf_counter())
    return "Good day."


def _environment(url: str) -> dict[str, str]:
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": url}
    # the test's terminal does not report the cursor's position
    terminal = {"TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}
    return {**os.environ, **model, **terminal, "OPENAI_API_KEY": "none"}
