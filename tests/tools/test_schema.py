from typing import Annotated, Any

import pytest
from pydantic import Field

from assistant.display import compact_call
from assistant.errors import ToolError
from assistant.tools.base import Plan, ToolResult, tool


def paint(
    colour: Annotated[str, Field(description="Which colour.")],
    coats: Annotated[int, Field(ge=1)] = 1,
    dry: bool = False,
    walls: list[str] = [],  # noqa: B006
    sizes: dict[str, float] = {},  # noqa: B006
) -> str:
    """Paint walls."""
    return repr((colour, coats, dry, walls, sizes))


def run(arguments: dict[str, Any]) -> str:
    return tool(paint).plan(arguments).run().content


def test_the_schema_is_made_from_the_signature_and_the_docstring() -> None:
    spec = tool(paint).spec
    assert (spec.name, spec.description) == ("paint", "Paint walls.")
    assert spec.parameters["required"] == ["colour"]
    assert spec.parameters["additionalProperties"] is False
    assert spec.parameters["properties"]["colour"] == {
        "description": "Which colour.",
        "type": "string",
    }
    assert spec.parameters["properties"]["coats"] == {"default": 1, "minimum": 1, "type": "integer"}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"coats": "5"}, ("red", 5, False, [], {})),
        ({"coats": 2.0}, ("red", 2, False, [], {})),
        ({"dry": "true"}, ("red", 1, True, [], {})),
        ({"dry": "False"}, ("red", 1, False, [], {})),
        ({"coats": None, "dry": None}, ("red", 1, False, [], {})),
        ({"walls": '["north", "south"]'}, ("red", 1, False, ["north", "south"], {})),
        ({"sizes": '{"north": "2.5"}'}, ("red", 1, False, [], {"north": 2.5})),
        ({"colour": 7}, ("7", 1, False, [], {})),
    ],
)
def test_what_models_send_is_taken_for_what_they_mean(
    given: dict[str, Any], meant: tuple[Any, ...]
) -> None:
    assert run({"colour": "red", **given}) == repr(meant)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ["`colour` is required", "colour: string (required)", "coats: integer"]),
        ({"colour": "red", "coats": "many"}, ["`coats`", "integer", "'many'"]),
        ({"colour": "red", "coats": 0}, ["`coats`", "greater than or equal to 1"]),
        ({"colour": "red", "coat": 2}, ["there is no parameter `coat`", "coats"]),
        ({"colour": "red", "walls": "[north"}, ["`walls`", "list", "'[north'"]),
        ({"colour": "red", "walls": '{"north": 1}'}, ["`walls`", "list"]),
        ({"colour": ["red"]}, ["`colour`", "string"]),
        ({"colour": "red", "sizes": {"north": "big"}}, ["`sizes.north`", "number", "'big'"]),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_expected(
    given: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(ToolError) as caught:
        run(given)
    for word in words:
        assert word in caught.value.message


def test_a_plain_function_plans_itself() -> None:
    plan = tool(paint).plan({"colour": "red"})
    assert (plan.dangerous, plan.subjects) == (False, ("red",))


def test_a_planning_function_is_not_run_by_planning() -> None:
    ran = []

    def act(what: str) -> Plan:
        """Act."""
        return Plan(lambda: (ran.append(what), ToolResult("done"))[1], dangerous=True)

    plan = tool(act).plan({"what": "x"})
    assert (plan.dangerous, ran) == (True, [])
    assert plan.run().content == "done"
    assert ran == ["x"]


def test_a_call_is_one_short_line() -> None:
    assert compact_call("paint", {"colour": "red", "coats": 2}) == "paint red coats=2"
    long = compact_call("write_file", {"path": "a", "text": "line\n" * 1000})
    assert "\n" not in long
    assert len(long) <= 160
