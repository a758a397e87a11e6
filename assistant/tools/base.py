"""The tool interface. A tool plans, then runs; it writes no transcript and prints nothing.

A call takes two steps, so that an approval covers exactly what the owner was shown: `Tool.plan`
validates the arguments and works out what the call would do, without side effects; `Plan.run` does
exactly that, and refuses if the plan's basis has changed.

A tool is made from a typed function: its docstring is the tool's description, its annotations are
the schema (describe a parameter with `Annotated[int, Field(description="…")]`), and pydantic
validates each call.
"""

import inspect
import json
import math
import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Protocol, TypedDict, TypeVar, Unpack, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model

from assistant.display import abbreviated
from assistant.errors import ToolError
from assistant.events import Event, QuestionAsked
from assistant.messages import Picture
from assistant.model.base import ToolSpec

T = TypeVar("T")
TICK = 0.05
"""Seconds between checks for an interrupt by the owner."""
PART = 20_000
"""Maximum characters of a long text that the model is given at once, with a note on reading on."""
RESULT_LIMIT = 24_000
"""Maximum characters of a result that the model is given: a part and its notices. Only the toolbox
truncates further, so that no second cut removes the notice of the first."""
MOST_PICTURES = 4
"""Maximum number of pictures of a result, and of a turn's results, that the model is shown."""
INTERRUPTED = "interrupted by the owner"
READ_ON = "read_on"
"""The tool that continues reading a text that was cut."""
CORE = "core"
"""The group of tools that is always offered; other groups are loaded with `load_tools`."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call, as the model sees it. `error` marks a refusal or a failure.

    `compact` is a one-line summary for a person ("12 matches in 3 files"). The last `tail`
    characters are kept when the middle is cut, and `whole` is then the full text. `diff` shows a
    person what changed in files. `pictures`, with their data, are for models with vision.
    `interrupted` says that the owner pressed Ctrl-C or Esc while the call ran, which ends the turn.
    """

    content: str
    error: bool = False
    compact: str = ""
    tail: int = 0
    diff: str = ""
    whole: str = ""
    pictures: tuple[Picture, ...] = ()
    interrupted: bool = False


def picture_notice(picture: Picture) -> str:
    """Return the text that stands for one of a result's pictures."""
    return f"[{picture}, {picture.name[:6]}]"


def part_of(text: str, number: int, offset: int, size: int) -> str:
    """Return a part of a long text, with a note on how to read on."""
    end = offset + size
    if end >= len(text):
        return text[offset:]
    return (
        f"{text[offset:end]}\n[Cut: characters {offset:,} to {end:,} of {len(text):,}. "
        f"Read on with {READ_ON}, result={number}, offset={end}.]"
    )


def only_in_a_turn() -> ToolResult:
    """Refuse to run: only the loop can ask the owner or show progress."""
    raise ToolError("this can only be done in a turn")


@dataclass(frozen=True, slots=True)
class Plan:
    """A call worked out but not yet run.

    `run` may raise ToolError. A `dangerous` plan needs approval, unless a rule says otherwise. The
    owner's rules match `subjects`, texts such as a command, and `paths`, real absolute paths of
    files. `detail` is shown for an approval, such as the diff of a write. A plan with `secrets`,
    named by their stand-ins, needs approval. A `guarded` plan touches files that steer or remember:
    a rule without a pattern does not exempt it from approval. A plan with a `question` is not run:
    the owner's answer is its result. If a plan has `work`, that is run instead, given the call's
    ID, and yields events as it goes.
    """

    run: Callable[[], ToolResult] = only_in_a_turn
    subjects: tuple[str, ...] = ()
    detail: Callable[[], str] = str
    dangerous: bool = False
    guarded: bool = False
    paths: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    question: QuestionAsked | None = None
    work: Callable[[str], Generator[Event, None, ToolResult]] | None = None


class Runner(Protocol):
    """Runs a shell command, in the sandbox or not; returns its output, and whether it succeeded.

    Raises ToolError if the command cannot be run.
    """

    def __call__(
        self, command: str, variables: Mapping[str, str], *, outside: bool
    ) -> tuple[str, bool]: ...


def always() -> bool:
    """Return True."""
    return True


def awaited(
    answer: "Future[T]",
    seconds: float,
    interrupt: threading.Event,
    going_on: Callable[[], bool] = always,
) -> T:
    """Return the result of a future that another thread completes, or raise its error.

    Raises ToolError when the owner interrupts, and TimeoutError when the time is up or `going_on`
    is false.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return answer.result(TICK)
        except TimeoutError:
            if answer.done():  # its own error, or it completed at the last moment
                return answer.result()
        if interrupt.is_set():
            raise ToolError(INTERRUPTED)
        if time.monotonic() > deadline or not going_on():
            raise TimeoutError


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call. Made from a typed function by `tool`.

    `plan` raises ToolError for invalid arguments. A tool that `writes` is withheld from
    conversations off the record. If it `restores`, stand-ins in the arguments are replaced by their
    secrets; otherwise, as for text that is stored, the tool sees only stand-ins. A tool that
    `reveals` could print or send its arguments, so giving it a secret needs approval. A `stoppable`
    tool changes nothing and may be abandoned midway.
    """

    spec: ToolSpec
    plan: Callable[[Mapping[str, Any]], Plan]
    group: str = CORE
    writes: bool = False
    restores: bool = True
    reveals: bool = False
    stoppable: bool = False
    available: Callable[[], bool] = always

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        return self.spec.name


def unless(interrupt: threading.Event, work: Callable[[], ToolResult]) -> ToolResult:
    """Return the result of `work`, or raise its error. Raises ToolError when the owner interrupts.

    After an interrupt `work` continues in its thread until its own limits and its result is
    dropped, so it must change nothing.
    """
    answer: Future[ToolResult] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # re-raised in the waiting thread
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return awaited(answer, math.inf, interrupt)


Function = Callable[..., Plan | ToolResult | str]


class Traits(TypedDict, total=False):
    """The properties of a `Tool` besides its function."""

    group: str
    writes: bool
    restores: bool
    reveals: bool
    stoppable: bool
    available: Callable[[], bool]


def tool(function: Function, **traits: Unpack[Traits]) -> Tool:
    """Return a tool with the name, description and parameters of `function`.

    A function that returns a `Plan` can mark a call as dangerous. For any other function, the call
    itself is the plan, and the owner's rules match its first argument.
    """
    model = _arguments_model(function)
    spec = ToolSpec(
        function.__name__,
        inspect.cleandoc(function.__doc__ or ""),
        _strip_titles(model.model_json_schema()),
    )
    return Tool(spec, partial(_plan, function, model), **traits)


def coerce(model: type[BaseModel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the arguments to the types of `model`. Raises ToolError that names each wrong one.

    Models send "5", "true", JSON in a string, and null for omitted parameters.
    """
    optional = {name for name, field in model.model_fields.items() if not field.is_required()}
    supplied = {k: v for k, v in arguments.items() if not (v is None and k in optional)}
    try:
        checked = model.model_validate(supplied)
    except ValidationError as error:
        raise ToolError(_explain(model, error)) from error
    return {name: getattr(checked, name) for name in model.model_fields}


def _plan(function: Function, model: type[BaseModel], arguments: Mapping[str, Any]) -> Plan:
    values = coerce(model, arguments)
    if get_type_hints(function)["return"] is Plan:
        plan = function(**values)
        assert isinstance(plan, Plan)
        return plan
    subjects = tuple(str(value) for value in list(values.values())[:1])
    return Plan(lambda: _result(function(**values)), subjects)


def _result(answer: Plan | ToolResult | str) -> ToolResult:
    if isinstance(answer, str):
        return ToolResult(answer, compact=abbreviated(answer))
    assert isinstance(answer, ToolResult)
    return answer


def _arguments_model(function: Function) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        hint = parameter.annotation
        if get_origin(get_type_hints(function)[name]) in (list, dict):
            hint = Annotated[hint, BeforeValidator(_decoded)]
        fields[name] = (hint, ... if parameter.default is parameter.empty else parameter.default)
    settings = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    return create_model(function.__name__, __config__=settings, **fields)


def _decoded(value: Any) -> Any:
    """Decode a list or a mapping that was sent as JSON in a string."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _explain(model: type[BaseModel], error: ValidationError) -> str:
    faults = []
    for fault in error.errors():
        name = ".".join(str(part) for part in fault["loc"])
        match fault["type"]:
            case "missing":
                faults.append(f"`{name}` is required")
            case "extra_forbidden":
                faults.append(f"there is no parameter `{name}`")
            case _:
                faults.append(f"`{name}`: {fault['msg']}, not {abbreviated(fault['input'])!r}")
    return f"{'; '.join(faults)}. {model.__name__} takes {_signature(model)}."


def _signature(model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    required = schema.get("required", [])
    return ", ".join(
        f"{name}: {shape.get('type', 'value')}{' (required)' if name in required else ''}"
        for name, shape in schema.get("properties", {}).items()
    )


def _strip_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove pydantic's titles, which repeat the names and cost prompt tokens."""
    return {
        key: {name: _strip_titles(shape) for name, shape in value.items()}
        if key in ("properties", "$defs")
        else _strip_titles(value)
        if isinstance(value, dict)
        else value
        for key, value in schema.items()
        if key != "title"
    }
