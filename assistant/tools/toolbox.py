"""The tools of one conversation: which are offered, whether a call may run, and running it.

The loop's three steps: `review` a call; if it asks, put the verdict before the owner and `settle`
it; `run` it. None of them raises for a mistake of the model's: it gets an error result.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import Field

from assistant.errors import AssistantError, ToolError
from assistant.events import Event
from assistant.messages import ToolCall, estimate_tokens
from assistant.model.base import ToolSpec
from assistant.quoting import live
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import in_all, stand_ins
from assistant.tools.base import CORE, PART, RESULT_LIMIT, Plan, Question, Tool, ToolResult, unless
from assistant.tools.policy import Action, Decision, Policy
from assistant.tools.rules import DENIED
from assistant.tools.schema import compact_call, tool

LOADER = "load_tools"
FIRST = ("recall", "remember", "read_file", "note")
"""The tools that a small model has in any case, as far as its window goes."""
READ_ON = "read_on"
KEPT = 4
"""Long results that are kept to be read on."""


def nothing() -> None:
    """There is nothing to be done."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to happen to a call.

    `detail` is what the owner is shown when it asks; `reason` is what the model is told when it
    is denied.
    """

    call: ToolCall
    action: Action
    compact: str
    detail: str = ""
    reason: str = ""
    plan: Plan | None = None

    @property
    def question(self) -> Question | None:
        """What the owner is to be asked, if the call may run and is a question."""
        return self.plan.question if self.action == "run" and self.plan else None

    @property
    def work(self) -> Callable[[str], Generator[Event, None, ToolResult]] | None:
        """What runs it, given its id, if it may run and shows what it does."""
        return self.plan.work if self.action == "run" and self.plan else None


class Toolbox:
    """Tools under a policy: those that it denies altogether are not offered.

    `off_the_record` leaves only those that write nothing. `closing` ends what the tools began.
    While `interrupt` is set, what only looks is let go of.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        policy: Policy | None = None,
        redactor: Redactor | None = None,
        *,
        off_the_record: bool = False,
        closing: Callable[[], None] = nothing,
        interrupt: threading.Event | None = None,
    ) -> None:
        self._tools = {each.name: each for each in tools}
        self._policy = policy or Policy()
        self._redactor = redactor or Redactor()
        self._off_the_record = off_the_record
        self._closing = closing
        self._interrupt = interrupt or threading.Event()
        self._groups = {CORE}
        self._fetched: list[str] = []
        self.most_tokens: int | None = None
        """What descriptions of tools may cost of the model's window; those that do not fit are
        fetched one by one."""
        self._long: dict[int, str] = {}

    def close(self) -> None:
        """End what the tools have begun and not ended."""
        self._closing()

    def add(self, tool: Tool) -> None:
        """Offer one more."""
        self._tools[tool.name] = tool

    def without(
        self, names: Collection[str], more: Iterable[Tool], interrupt: threading.Event
    ) -> "Toolbox":
        """The same tools under the same policy, less those of these names, and with more."""
        kept = [each for each in self._tools.values() if each.name not in names]
        return Toolbox(
            [*kept, *more],
            self._policy,
            self._redactor,
            off_the_record=self._off_the_record,
            interrupt=interrupt,
        )

    def specs(self) -> list[ToolSpec]:
        """What the model is offered in this round."""
        return [each.spec for each in (*self._offered(), *self._loader(), *self._reader())]

    def review(self, call: ToolCall) -> Verdict:
        """Whether the call runs, asks or is denied; changes nothing."""
        compact = self._redactor.redact(compact_call(call.name, call.arguments))
        try:
            plan = self._plan(call)
            action = self._policy.judge(call.name, plan)
            detail = ""
            if action == "ask":
                detail = self._redactor.redact(plan.detail() or in_full(call.arguments))
                if plan.secrets:
                    detail = f"It is given {', '.join(plan.secrets)}.\n{detail}"
                if _digest(call, plan, detail) in self._policy.granted:
                    action = "run"
        except Exception as error:  # the border: whatever a tool raises, the model is told
            return Verdict(call, "deny", compact, reason=self._told(error))
        reason = DENIED if action == "deny" else ""
        return Verdict(call, action, compact, detail, reason, plan)

    def settle(self, verdict: Verdict, decision: Decision) -> Verdict:
        """The verdict on a call that asked, after the owner's decision."""
        if decision.kind == "no" or verdict.plan is None:
            why = f": {self._redactor.redact(decision.reason)}" if decision.reason else ""
            return replace(verdict, action="deny", reason=f"The owner did not allow this call{why}")
        if decision.kind == "always":
            self._policy.granted.add(_digest(verdict.call, verdict.plan, verdict.detail))
        return replace(verdict, action="run")

    def run(self, verdict: Verdict) -> ToolResult:
        """Carry out a verdict. KeyboardInterrupt passes through; nothing else does."""
        if verdict.action != "run" or verdict.plan is None:
            reason = verdict.reason or "This call waits for the owner's approval."
            return ToolResult(reason, error=True, compact=_first_line(reason))
        try:
            result = self._done(verdict.call.name, verdict.plan)
        except Exception as error:  # the border: whatever a tool raises, the model is told
            return self.failed(error)
        return self.cleaned(result)

    def failed(self, error: Exception) -> ToolResult:
        """What the model is told of an error."""
        told = self._told(error)
        return ToolResult(told, error=True, compact=_first_line(told))

    def cleaned(self, result: ToolResult) -> ToolResult:
        """A result without secrets, and no longer than the model is given."""
        clean = self._redactor.redact
        content = clean(result.content)
        if len(content) > RESULT_LIMIT:
            number = max(self._long, default=0) + 1
            self._long[number] = content
            self._long.pop(number - KEPT, None)
            content = self._part(number, 0, PART - result.tail)
            if result.tail:
                content += f"\n[… and its end:]\n{self._long[number][-result.tail :]}"
        diff = clean(result.diff)[:RESULT_LIMIT]
        return replace(result, content=content, compact=clean(result.compact), diff=diff)

    def _part(self, number: int, offset: int, size: int = PART) -> str:
        """A part of a long result, and how to read on."""
        text = self._long[number]
        end = offset + size
        if end >= len(text):
            return text[offset:]
        return (
            f"{text[offset:end]}\n[Cut: characters {offset:,} to {end:,} of {len(text):,}. Read on "
            f"with {READ_ON}, result={number}, offset={end}.]"
        )

    def _reader(self) -> list[Tool]:
        """`read_on`, while there are long results."""

        def read_on(
            result: Annotated[int, Field(description="The number of the long result.")],
            offset: Annotated[int, Field(ge=0, description="The character to read on from.")],
        ) -> ToolResult:
            """Read on in a result that was cut."""
            if result not in self._long or offset >= len(self._long[result]):
                raise ToolError("there is no such part of a result", "Call the tool again")
            return ToolResult(self._part(result, offset), compact=f"from {offset:,}")

        return [tool(read_on, restores=False)] if self._long else []

    def _done(self, name: str, plan: Plan) -> ToolResult:
        if name in self._tools and self._tools[name].stoppable:
            return unless(self._interrupt, plan.run)
        return plan.run()

    def _plan(self, call: ToolCall) -> Plan:
        if call.fault:
            raise ToolError(call.fault)
        found = self._available()
        found |= {each.name: each for each in (*self._loader(), *self._reader())}
        if self._policy.rules.switched_off(call.name):
            raise ToolError(DENIED)
        if call.name not in found:
            raise ToolError(_unknown(call.name, list(found)))
        chosen = found[call.name]
        self._groups.add(chosen.group)
        given = in_all(live, call.arguments)
        if not chosen.restores:
            return chosen.plan(in_all(self._redactor.redact, given))
        plan = chosen.plan(in_all(self._redactor.restore, given))
        named = stand_ins(json.dumps(given, default=str))
        if not chosen.reveals:
            named &= set(plan.secrets)
        return replace(plan, secrets=tuple(sorted(named)))

    def _available(self) -> dict[str, Tool]:
        return {
            name: each
            for name, each in self._tools.items()
            if each.available()
            and not (each.writes and self._off_the_record)
            and not self._policy.rules.switched_off(name)
        }

    def _offered(self) -> list[Tool]:
        """The tools of the loaded groups, as many as there is room for: those that were fetched
        last, those of memory, then the others in their order."""
        loaded = [each for each in self._available().values() if each.group in self._groups]
        if self.most_tokens is None:
            return loaded
        first = (*reversed(self._fetched), *FIRST)
        ranks = {name: rank for rank, name in reversed(list(enumerate(first)))}
        kept: set[str] = set()
        left = self.most_tokens
        for each in sorted(loaded, key=lambda tool: ranks.get(tool.name, len(first))):
            left -= _tokens(each.spec)
            if left < 0 and kept:
                break
            kept.add(each.name)
        return [each for each in loaded if each.name in kept]

    def _loader(self) -> list[Tool]:
        """`load_tools`, while there are groups, or tools without room, left to fetch."""
        waiting: dict[str, list[str]] = {}
        offered = {each.name for each in self._offered()}
        for each in self._available().values():
            if each.group not in self._groups:
                waiting.setdefault(each.group, []).append(each.name)
            elif each.name not in offered:
                waiting[each.name] = [each.name]
        if not waiting or self._policy.rules.switched_off(LOADER):
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
            if waiting[group] == [group]:
                self._fetched.append(group)
            else:
                self._groups.add(group)
            names = ", ".join(waiting[group])
            return ToolResult(f"You can now call {names}.", compact=f"loaded {names}")

        load_tools.__doc__ = f"Fetch more tools, by group: {listed}."
        return [tool(load_tools)]

    def _told(self, error: Exception) -> str:
        if isinstance(error, AssistantError):
            return self._redactor.redact(str(error))
        return self._redactor.redact(f"The tool failed: {type(error).__name__}: {error}")


def _digest(call: ToolCall, plan: Plan, detail: str) -> str:
    """What is equal for calls that look the same in every respect to who approves them."""
    looks = [call.name, call.arguments, detail, plan.danger, plan.subjects, plan.places]
    return hashlib.sha256(json.dumps(looks, sort_keys=True, default=str).encode()).hexdigest()


def in_full(arguments: Mapping[str, Any]) -> str:
    """Every argument whole, a line each, for the owner to read before a yes."""
    return "\n".join(
        f"{name}: {json.dumps(value, ensure_ascii=False, default=str)}"
        for name, value in arguments.items()
    )


def _unknown(name: str, names: list[str]) -> str:
    nearest = get_close_matches(name, names, n=1)
    hint = f"; did you mean {nearest[0]}?" if nearest else "."
    return f"There is no tool {name!r}{hint} The tools are {', '.join(sorted(names))}."


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:160]


def _tokens(spec: ToolSpec) -> int:
    """What the description of a tool costs, as requests have it."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return estimate_tokens(json.dumps({"type": "function", "function": function}))
