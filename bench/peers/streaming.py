"""Measures what a streamed answer costs by CPU time: through the product's client, or through the openai package alone.

python streaming.py product|package URL

It prints the summaries of a short and of a long answer, whose difference is the cost of the tokens. It runs with any version of the
package that has an asynchronous client.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final

from bench._common import repeat


SHORT, LONG, ROUNDS = 100, 600, 7
MODEL: Final = "counted"

Stream = Callable[[str, int], Coroutine[Any, Any, int]]  # returns how many tokens came


async def stream_with_product(url: str, count: int) -> int:
    from workflows.engine.ports import Message, ModelRequest, Origin
    from workflows.llm.config import ProviderConfig
    from workflows.llm.openai_compatible import OpenAICompatible

    config = ProviderConfig("openai", base_url=url, api_key="sk-0", default_model=MODEL)
    provider = OpenAICompatible(config, allow=[url.split("/")[2]])
    request = ModelRequest(
        "openai", MODEL, (Message("user", "Hi"),), Origin("r", "n", "k"),
        params={"max_tokens": count},
    )  # fmt: skip
    return sum([bool(chunk.text) async for chunk in provider.stream(request)])


async def stream_with_package(url: str, count: int) -> int:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="sk-0", max_retries=0) as client:
        stream = await client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "Hi"}], max_tokens=count,
            stream=True, stream_options={"include_usage": True},
        )  # fmt: skip
        return sum([bool(e.choices and e.choices[0].delta.content) async for e in stream])


WAYS: Final[dict[str, Stream]] = {"product": stream_with_product, "package": stream_with_package}


def measure(way: str, url: str) -> dict[str, dict[str, float]]:
    def run(count: int) -> None:
        tokens = asyncio.run(WAYS[way](url, count))
        assert tokens == count, f"{tokens} of {count} tokens came"

    return {
        name: repeat(lambda count=count: run(count), ROUNDS).summarize()
        for name, count in (("short", SHORT), ("long", LONG))
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], sys.argv[2])) + "\n")
