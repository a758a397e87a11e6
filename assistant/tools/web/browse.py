"""`browse`: one step in a real page, each of them a call of its own that the owner sees."""

from typing import Annotated, Literal

from pydantic import Field

from assistant.errors import ToolError
from assistant.quoting import one_line
from assistant.tools.base import Danger, Plan, Tool, ToolResult
from assistant.tools.schema import tool
from assistant.tools.web.browser import Browser


def browsing_tool(browser: Browser) -> Tool:
    """`browse` in this browser."""

    def browse(
        action: Literal["open", "read", "click", "type"],
        target: Annotated[str, Field(description="An address, or a thing's number.")] = "",
        text: Annotated[str, Field(description="What to type.")] = "",
        enter: Annotated[bool, Field(description="Press Enter after typing.")] = False,
    ) -> Plan:
        """Use a real browser, for pages that `fetch_url` cannot read; you get what is there."""
        danger = Danger.SAFE if action == "read" else Danger.DANGEROUS
        subject = " ".join(filter(None, [action, target, text]))

        def run() -> ToolResult:
            match action:
                case "open":
                    from assistant.tools.web.pages import checked

                    seen = browser.open(checked(target if "://" in target else f"https://{target}"))
                case "read":
                    seen = browser.read()
                case "click":
                    seen = browser.click(_number(target))
                case "type":
                    seen = browser.type(_number(target), text, enter=enter)
            return ToolResult(seen, compact=one_line(seen.partition("\n")[0].lstrip("# "))[:80])

        return Plan(run, danger, (subject,))

    return tool(browse, reveals=True)


def _number(target: str) -> int:
    if not target.strip("[] ").isdecimal():
        raise ToolError("`target` is the number of a thing on the page, as `read` shows it")
    return int(target.strip("[] "))
