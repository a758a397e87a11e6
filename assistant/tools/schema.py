"""Make a tool of a typed function: JSON schema, argument coercion and clear errors.

The function's docstring is the tool's description, its annotations are the schema (describe a
parameter with `Annotated[int, Field(description="…")]`), and pydantic validates each call.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model

from assistant.display import shortened
from assistant.errors import ToolError
from assistant.model.base import ToolSpec
from assistant.tools.base import CORE, Danger, Plan, Tool, ToolResult, always

Function = Callable[..., Plan | ToolResult | str]

COMPACT_VALUE = 80
"""The most characters of an argument in a call's one-line form."""


def tool(
    function: Function,
    *,
    danger: Danger = Danger.SAFE,
    group: str = CORE,
    writes: bool = False,
    restores: bool = True,
    reveals: bool = False,
    stoppable: bool = False,
    available: Callable[[], bool] = always,
) -> Tool:
    """Return a tool with the name, description and parameters of `function`.

    A function that returns a `Plan` decides its danger for each call. For any other, the call
    itself is the plan, at the level `danger`, and the owner's rules match its first argument.
    """
    model = _arguments_model(function)
    spec = ToolSpec(
        function.__name__,
        inspect.cleandoc(function.__doc__ or ""),
        _strip_titles(model.model_json_schema()),
    )
    return Tool(
        spec,
        partial(_plan, function, model, danger),
        group,
        writes,
        restores,
        reveals,
        stoppable,
        available,
    )


def compact_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Render a call on one line: the tool, its first argument bare, the others named."""
    words = [_abbreviated(value) for value in list(arguments.values())[:1]]
    words += [f"{key}={_abbreviated(value)}" for key, value in list(arguments.items())[1:]]
    return " ".join([name, *words])[: 2 * COMPACT_VALUE]


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


def _plan(
    function: Function, model: type[BaseModel], danger: Danger, arguments: Mapping[str, Any]
) -> Plan:
    values = coerce(model, arguments)
    if get_type_hints(function)["return"] is Plan:
        plan = function(**values)
        assert isinstance(plan, Plan)
        return plan
    subjects = tuple(str(value) for value in list(values.values())[:1])
    return Plan(lambda: _result(function(**values)), danger, subjects)


def _result(answer: Plan | ToolResult | str) -> ToolResult:
    if isinstance(answer, str):
        return ToolResult(answer, compact=_abbreviated(answer))
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
                faults.append(f"`{name}`: {fault['msg']}, not {_abbreviated(fault['input'])!r}")
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


def _abbreviated(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return shortened(" ".join(text.split()), COMPACT_VALUE)
