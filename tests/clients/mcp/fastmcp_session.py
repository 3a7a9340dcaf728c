"""Runs in the environment of fastmcp: lists the tools, calls one with progress, and remembers two persons apart."""

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


def connect(url: str, key: str) -> Any:
    headers = {"Authorization": f"Bearer {key}"}
    return Client(StreamableHttpTransport(url, headers=headers))


async def search(client: Any) -> list[str]:
    result = await client.call_tool("memory_search", {"query": "peanuts"})
    return [memory["text"] for memory in result.structured_content["memories"]]


async def main(url: str, key: str) -> dict[str, Any]:
    told: list[str] = []

    async def tell(_progress: float, _total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with connect(f"{url}?user=fay", key) as client:
        tools = [tool.name for tool in await client.list_tools()]
        greeting = await client.call_tool("greeting", {"name": "Fay"}, progress_handler=tell)
        await client.call_tool("memory_store", {"key": "food", "text": "Fay avoids peanuts."})
        known = await search(client)
        async with connect(f"{url}?user=gus", key) as other:
            known_of_other = await search(other)
        await client.call_tool("memory_forget", {"key": "food"})
        refused = await client.call_tool("greeting", {}, raise_on_error=False)
        return {
            "tools": tools,
            "greeting": greeting.structured_content["outputs"],
            "told": told,
            "known": known,
            "known_of_other": known_of_other,
            "known_afterwards": await search(client),
            "refused": refused.content[0].text,
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(**json.loads(sys.argv[1])))))
