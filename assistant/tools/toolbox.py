"""The tools of a conversation: which are offered, whether a call may run, and running it.

The loop takes three steps: `review` a call; if the verdict is to ask, show it to the owner and
`settle` it; `run` the call. No step raises an error for the model's mistakes: the model gets an
error result.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from assistant.display import compact_call
from assistant.errors import AssistantError, ToolError
from assistant.events import Event, QuestionAsked, drained
from assistant.messages import ToolCall
from assistant.model.base import ToolSpec
from assistant.quoting import live
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import in_all, stand_ins
from assistant.settings.sections import HookSettings, PolicySettings
from assistant.tools.base import (
    CORE,
    INTERRUPTED,
    PART,
    RESULT_LIMIT,
    Plan,
    Runner,
    Tool,
    ToolResult,
    part_of,
    tool,
    unless,
)
from assistant.tools.policy import DENIED, Action, Decision, Rules

LOADER = "load_tools"
FIRST = ("recall", "remember", "read_file", "note")
"""Tools offered to a small model first, as far as its context window allows."""


MOST_GIVEN = 100_000
"""Maximum bytes of a call that a hook is given, and of a result a quarter as many characters: Linux
limits an environment variable to 128 KiB."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The owner's commands to run before and after calls (`[[hooks]]`), and their runner; by
    default there are none."""

    settings: Sequence[HookSettings] = ()
    directories: Sequence[Path] = ()
    run: Runner | None = None

    def before(self, call: ToolCall, plan: Plan) -> None:
        """Run the hooks before a call.

        Raises ToolError, with the output, if one fails: the call must not run.
        """
        for hook in self._matching("before", call, plan):
            output, succeeded = self._run(hook, call, {})
            if not succeeded:
                raise ToolError(f"a hook of the owner's refused this call: {output or hook.run}")

    def after(self, call: ToolCall, plan: Plan, result: ToolResult) -> str:
        """Run the hooks after a call; return their output, or why they did not run."""
        variables = {
            "RESULT": result.content[: MOST_GIVEN // 4],
            "FAILED": "1" if result.error else "",
        }
        printed = []
        for hook in self._matching("after", call, plan):
            try:
                printed.append(self._run(hook, call, variables)[0])
            except ToolError as error:  # the call has run nevertheless
                printed.append(str(error))
        return "\n".join(filter(None, printed))

    def _matching(self, when: str, call: ToolCall, plan: Plan) -> Iterator[HookSettings]:
        for hook in self.settings:
            rules = PolicySettings(deny=getattr(hook, when))
            if Rules(rules, self.directories).deny(call.name, plan):
                yield hook

    def _run(
        self, hook: HookSettings, call: ToolCall, variables: Mapping[str, str]
    ) -> tuple[str, bool]:
        assert self.run is not None
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        if len(arguments.encode("utf-8", "replace")) > MOST_GIVEN:
            raise ToolError(f"this call is too long for the owner's hook `{hook.run}`")
        given = {"TOOL": call.name, "ARGUMENTS": arguments, **variables}
        return self.run(hook.run, given, outside=hook.outside)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a call.

    `detail` is shown to the owner when asked; `reason` tells the model why it is denied.
    """

    call: ToolCall
    action: Action
    compact: str
    detail: str = ""
    reason: str = ""
    plan: Plan | None = None

    @property
    def question(self) -> QuestionAsked | None:
        """The question for the owner, if the call is a question and may run."""
        return self.plan.question if self.action == "run" and self.plan else None


@dataclass(eq=False)
class Toolbox:
    """Tools under a policy; tools that the policy always denies are not offered.

    `granted` are digests of the calls that the owner always allows. `off_the_record` leaves only
    tools that write nothing. While `interrupt` is set, `stoppable` calls are abandoned. `hooks` run
    before and after calls. `close` ends everything that the tools have started.

    `most_tokens` is the maximum for tool descriptions in the model's window; tools that do not fit
    are loaded one by one. `part` is the maximum of characters of a long result that the model is
    given at once. `texts` returns the conversation's long texts in full, for reading on: the first
    is number 1, and the next result comes after the last.
    """

    tools: Iterable[Tool]
    rules: Rules = field(default_factory=Rules)
    redactor: Redactor = field(default_factory=Redactor)
    _: KW_ONLY
    granted: set[str] = field(default_factory=set)
    off_the_record: bool = False
    interrupt: threading.Event = field(default_factory=threading.Event)
    hooks: Hooks = field(default_factory=Hooks)
    close: Callable[[], None] = lambda: None
    most_tokens: int | None = None
    part: int = PART
    texts: Callable[[], Sequence[str]] = tuple

    def __post_init__(self) -> None:
        self._tools = {tool.name: tool for tool in self.tools}
        self._loaded = [CORE]
        """The offered groups, and single tools to offer first, in the order of loading."""

    def add(self, tool: Tool) -> None:
        """Offer another tool."""
        self._tools[tool.name] = tool

    def without(
        self, names: Collection[str], more: Iterable[Tool], interrupt: threading.Event
    ) -> "Toolbox":
        """Return a toolbox under the same policy, without these names and with more tools."""
        remaining = [tool for tool in self._tools.values() if tool.name not in names]
        tools = [*remaining, *more]
        return replace(self, tools=tools, interrupt=interrupt, close=lambda: None)

    def specs(self) -> list[ToolSpec]:
        """Return the tools that the model is offered in this round."""
        return [tool.spec for tool in (*self._offered(), *self._loader(), *self._reader())]

    def review(self, call: ToolCall) -> Verdict:
        """Decide whether the call runs, needs approval or is denied; changes nothing."""
        compact = self.redactor.redact(compact_call(call.name, call.arguments))
        try:
            plan = self._plan(call)
            action = self.rules.judge(call.name, plan)
            detail = ""
            if action == "ask":
                detail = self.redactor.redact(plan.detail() or in_full(call.arguments))
                if plan.secrets:
                    detail = f"It is given {', '.join(plan.secrets)}.\n{detail}"
                if _digest(call, plan, detail) in self.granted:
                    action = "run"
        except Exception as error:  # at this boundary, any error goes to the model
            return Verdict(call, "deny", compact, reason=self._error_text(error))
        reason = DENIED if action == "deny" else ""
        return Verdict(call, action, compact, detail, reason, plan)

    def settle(self, verdict: Verdict, decision: Decision) -> Verdict:
        """Return the verdict after the owner's decision on it."""
        if decision.kind == "no" or verdict.plan is None:
            reason = f": {self.redactor.redact(decision.reason)}" if decision.reason else ""
            return replace(
                verdict, action="deny", reason=f"The owner did not allow this call{reason}"
            )
        if decision.kind == "always":
            self.granted.add(_digest(verdict.call, verdict.plan, verdict.detail))
        return replace(verdict, action="run")

    def work(self, verdict: Verdict) -> Generator[Event, None, ToolResult]:
        """Run an allowed call, yielding its events; return an error result instead of raising."""
        call, plan = verdict.call, verdict.plan
        if verdict.action != "run" or plan is None:
            return _failed(verdict.reason or "This call waits for the owner's approval.")
        try:
            tool = self._tools.get(call.name)
            self.hooks.before(call, plan)
            if plan.work is not None:
                result = yield from plan.work(call.id)
            elif tool and tool.stoppable:
                result = unless(self.interrupt, plan.run)
            else:
                result = plan.run()
            clean = self.clean(result)
            if printed := self.hooks.after(call, plan, clean):
                content = f"{result.content}\n[A hook says: {printed}]"
                clean = self.clean(replace(result, content=content))
        except KeyboardInterrupt:
            text = f"[{INTERRUPTED}; it may have taken effect]"
            return ToolResult(text, error=True, compact=INTERRUPTED, interrupted=True)
        except Exception as error:  # at this boundary, any error goes to the model
            return _failed(self._error_text(error))
        return clean

    def run(self, verdict: Verdict) -> ToolResult:
        """Run an allowed call like `work`, without its events."""
        return drained(self.work(verdict))

    def clean(self, result: ToolResult) -> ToolResult:
        """Redact secrets in a result and limit its length."""
        clean = self.redactor.redact
        content, whole = clean(result.content), ""
        if len(content) > self.part + RESULT_LIMIT - PART:
            whole, tail = content, min(result.tail, self.part // 3)
            content = part_of(whole, len(self.texts()) + 1, 0, self.part - tail)
            if tail:
                content += f"\n[… and its end:]\n{whole[-tail:]}"
        diff = clean(result.diff)[:RESULT_LIMIT]
        compact, pictures = clean(result.compact), result.pictures
        if pictures and any(secret in result.content for secret in self.redactor.known().values()):
            content, pictures = f"{content}\n[Left out: a picture, which may show a secret.]", ()
        return replace(
            result, content=content, compact=compact, diff=diff, whole=whole, pictures=pictures
        )

    def _reader(self) -> list[Tool]:
        """Return `read_on` if there are long texts."""

        def read_on(
            result: Annotated[int, Field(description="The number of the long result.")],
            offset: Annotated[int, Field(ge=0, description="The character to read on from.")],
        ) -> ToolResult:
            """Read on in a result that was cut."""
            text = texts[result - 1] if 0 < result <= len(texts) else ""
            if offset >= len(text):
                raise ToolError("there is no such part of a result", "Call the tool again")
            return ToolResult(part_of(text, result, offset, self.part), compact=f"from {offset:,}")

        texts = self.texts()
        is_needed = any(len(text) > self.part for text in texts)
        return [tool(read_on, restores=False)] if is_needed else []

    def _plan(self, call: ToolCall) -> Plan:
        if call.fault:
            raise ToolError(call.fault)
        tools = self._available()
        tools |= {extra.name: extra for extra in (*self._loader(), *self._reader())}
        if self.rules.switched_off(call.name):
            raise ToolError(DENIED)
        if call.name not in tools:
            raise ToolError(_unknown_tool(call.name, list(tools)))
        selected = tools[call.name]
        if selected.group not in self._loaded:
            self._loaded.append(selected.group)
        arguments = in_all(live, call.arguments)
        if not selected.restores:
            return selected.plan(in_all(self.redactor.redact, arguments))
        plan = selected.plan(in_all(self.redactor.restore, arguments))
        named = stand_ins(json.dumps(arguments, default=str))
        if not selected.reveals:
            named &= set(plan.secrets)
        return replace(plan, secrets=tuple(sorted(named)))

    def _available(self) -> dict[str, Tool]:
        return {
            name: tool
            for name, tool in self._tools.items()
            if tool.available()
            and not (tool.writes and self.off_the_record)
            and not self.rules.switched_off(name)
        }

    def _offered(self) -> list[Tool]:
        """Return the tools of the loaded groups that fit the token limit: last loaded first, then
        those of memory, then the others in order."""
        loaded = [
            candidate for candidate in self._available().values() if candidate.group in self._loaded
        ]
        if self.most_tokens is None:
            return loaded
        priority = (*reversed(self._loaded), *FIRST)
        ranks = {name: rank for rank, name in reversed(list(enumerate(priority)))}
        fitting: set[str] = set()
        remaining = self.most_tokens
        for candidate in sorted(loaded, key=lambda tool: ranks.get(tool.name, len(priority))):
            remaining -= candidate.spec.tokens
            if remaining < 0 and fitting:
                break
            fitting.add(candidate.name)
        return [candidate for candidate in loaded if candidate.name in fitting]

    def _loader(self) -> list[Tool]:
        """Return `load_tools` while there are groups or tools left to load."""
        waiting: dict[str, list[str]] = {}
        offered = {candidate.name for candidate in self._offered()}
        for candidate in self._available().values():
            if candidate.group not in self._loaded:
                waiting.setdefault(candidate.group, []).append(candidate.name)
            elif candidate.name not in offered:
                waiting[candidate.name] = [candidate.name]
        if not waiting or self.rules.switched_off(LOADER):
            return []
        listed = "; ".join(
            group if names == [group] else f"{group} ({', '.join(names)})"
            for group, names in waiting.items()
        )

        def load_tools(
            group: Annotated[str, Field(description="The name of a group.")],
        ) -> ToolResult:
            if group not in waiting:
                raise ToolError(f"there is no group {group!r}; there are {listed}")
            self._loaded.append(group)
            names = ", ".join(waiting[group])
            return ToolResult(f"You can now call {names}.", compact=f"loaded {names}")

        load_tools.__doc__ = f"Fetch more tools, by group: {listed}."
        return [tool(load_tools)]

    def _error_text(self, error: Exception) -> str:
        if isinstance(error, AssistantError):
            return self.redactor.redact(str(error))
        return self.redactor.redact(f"The tool failed: {type(error).__name__}: {error}")


def _digest(call: ToolCall, plan: Plan, detail: str) -> str:
    """Return a digest that is equal for calls that look identical to the person approving them."""
    looks = [call.name, call.arguments, detail, plan.dangerous, plan.subjects, plan.paths]
    return hashlib.sha256(json.dumps(looks, sort_keys=True, default=str).encode()).hexdigest()


def in_full(arguments: Mapping[str, Any]) -> str:
    """Render every argument in full, one per line, for the owner's approval."""
    return "\n".join(
        f"{name}: {json.dumps(value, ensure_ascii=False, default=str)}"
        for name, value in arguments.items()
    )


def _unknown_tool(name: str, names: list[str]) -> str:
    nearest = get_close_matches(name, names, n=1)
    hint = f"; did you mean {nearest[0]}?" if nearest else "."
    return f"There is no tool {name!r}{hint} The tools are {', '.join(sorted(names))}."


def _failed(text: str) -> ToolResult:
    return ToolResult(text, error=True, compact=text.partition("\n")[0][:160])
