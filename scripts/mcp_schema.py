"""Write what the SDK says of our MCP server, for the server to answer before it imports the SDK.

`python -m scripts.mcp_schema`; a test holds the stored one to it.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel

from assistant.integrations.mcp_tools import MemoryTools, server
from assistant.integrations.mcp_wire import Terms
from assistant.memory.protocol import Keeper
from assistant.workspace.folder import Workspace

STORED = Path("assistant/integrations/mcp_schema.json")


def schema(place: Workspace) -> dict[str, Any]:
    """The handshake and the tools, as the SDK's own server sends them."""

    def never() -> Keeper:
        raise AssertionError("the schema needs no memory")

    async def asked() -> dict[str, Any]:
        made = server(MemoryTools(place, Terms(), never))
        async with Client(made, mode="legacy") as client:
            tools = (await client.list_tools()).tools
            templates = (await client.list_resource_templates()).resource_templates
            capabilities = client.server_capabilities
        return {
            "versions": list(HANDSHAKE_PROTOCOL_VERSIONS),
            "capabilities": _wire(capabilities),
            "tools": [_wire(tool) for tool in tools],
            "templates": [_wire(template) for template in templates],
        }

    return asyncio.run(asked())


def _wire(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


if __name__ == "__main__":
    found = schema(Workspace(Path("/nowhere")))
    STORED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
