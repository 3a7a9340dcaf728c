"""What streaming costs, and how soon a cancelled call leaves its socket: `python -m bench.real_protocol [--json FILE]`.

A model server in a process of its own streams tokens one by one. The CPU time of a token through the product's client is compared with
that of the openai package 2.x alone, on httpx, which is what the product was built on before: its client took 1.2 times as much on it.
Then calls are cancelled while the server streams, stalls, or hasn't answered yet, a run is stopped, and a run of the whole product is
cancelled over its API: measured is the time until the server sees that its client has left.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from urllib.request import urlopen

import httpx2

from bench._common import Bar, install_peer, report, run_script
from bench._services import make_scratch_folder, run_server
from bench._token_server import ENDLESS, SILENT, STALLED, TokenServer, run_token_server
from bench.first_token import PORT, Relay, Target, build_document, set_up
from bench.peers.streaming import LONG, SHORT
from config.net import allow, clients
from workflows.engine.ports import Message, ModelRequest, Origin
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.llm.config import ProviderConfig
from workflows.llm.openai_compatible import OpenAICompatible
from workflows.llm.registry import TeamModels


SCRIPT: Final = Path(__file__).parent / "peers" / "streaming.py"
EARLIER: Final = ["openai==2.54.0", "httpx==0.28.1"]
PASSES: Final = 6  # of each script, which take turns
CANCELLED_CALLS: Final = 20
CANCELLED_RUNS: Final = 10
HEAD_START: Final = 0.05  # seconds that a call goes on before it is cancelled
MOST_SECONDS: Final = 0.2
MOST_OVERHEAD: Final = 1.25

Costs = dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--no-server", action="store_true", help="leave out the whole product")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    with run_token_server() as server:
        # First, because the settings are read once, and are those of the product's home.
        seconds = {} if options.no_server else {"run of the product": measure_product(server)}
        seconds |= asyncio.run(measure_cancelling(server))
        costs = measure_costs(f"http://{server.address}/v1")
    print_costs(costs)
    return report(list_bars(costs, seconds), {"costs": costs, "seconds": seconds}, options.json)


def measure_costs(url: str) -> dict[str, Costs]:
    """Return the CPU time of a token and of a call, the best of several passes that take turns, by client."""
    earlier = install_peer("openai-2", EARLIER)
    measured = {
        "product": (sys.executable, "product"),
        "openai 3 alone": (sys.executable, "package"),
        "openai 2 alone": (earlier, "package"),
    }
    passes: dict[str, list[Costs]] = {name: [] for name in measured}
    for _ in range(PASSES):
        for name, (python, way) in measured.items():
            summaries = run_script(python, SCRIPT, arguments=(way, url))
            passes[name].append(compute_costs(summaries))
    return {name: min(costs, key=lambda each: each["token"]) for name, costs in passes.items()}


def compute_costs(summaries: dict[str, dict[str, float]]) -> Costs:
    """Return the microseconds of a token and of a call without its tokens."""
    short, long = (summaries[name]["cpu_best"] for name in ("short", "long"))
    token = (long - short) / (LONG - SHORT)
    return {"token": token * 1e6, "call": (short - SHORT * token) * 1e6}


def print_costs(costs: dict[str, Costs]) -> None:
    for name, each in costs.items():
        print(f"{name:16} {each['token']:6.0f} µs a token  {each['call'] / 1000:6.1f} ms a call")


def list_bars(costs: dict[str, Costs], seconds: dict[str, list[float]]) -> list[Bar]:
    overhead = costs["product"]["token"] / costs["openai 2 alone"]["token"]
    return [
        Bar("CPU a token, product to openai 2 alone", overhead, MOST_OVERHEAD, "×"),
        *(
            Bar(f"cancelled, {name}: until the socket is closed, longest", max(values), MOST_SECONDS, " s")
            for name, values in seconds.items()
        ),
    ]  # fmt: skip


async def measure_cancelling(server: TokenServer) -> dict[str, list[float]]:
    """Return the seconds until the server saw that its client has left, by what was going on."""
    allowed = allow.parse_allowed([server.address])
    clients._load_allow_list = lambda: allowed  # type: ignore[assignment]
    return {
        **{
            f"server is {kind}": [await cancel_call(server, kind) for _ in range(CANCELLED_CALLS)]
            for kind in (ENDLESS, STALLED, SILENT)
        },
        "stopped run": [await stop_run(server) for _ in range(CANCELLED_CALLS)],
    }


async def cancel_call(server: TokenServer, kind: str) -> float:
    provider = OpenAICompatible(build_config(server))
    request = ModelRequest("openai", kind, (Message("user", "Hi"),), Origin("r", "n", "k"))

    async def read() -> None:
        async for _chunk in provider.stream(request):
            pass

    task = asyncio.ensure_future(read())

    async def cancel() -> None:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    return await measure_leaving(server, cancel)


async def stop_run(server: TokenServer) -> float:
    models = TeamModels([build_config(server)], fallback="error")
    document = build_document()
    document["nodes"][1]["data"]["model"] |= {"name": ENDLESS, "completion_params": {}}
    inputs = {"sys.query": "Hi"}
    handle = WorkflowRunner(document, models=models).start(inputs=inputs)

    async def stop() -> None:
        handle.stop()
        await handle.result()

    return await measure_leaving(server, stop)


def build_config(server: TokenServer) -> ProviderConfig:
    return ProviderConfig(
        "openai", base_url=f"http://{server.address}/v1", api_key="sk-0", default_model=ENDLESS
    )


async def measure_leaving(server: TokenServer, leave: Callable[[], Awaitable[Any]]) -> float:
    await asyncio.to_thread(server.wait_until_asked)
    await asyncio.sleep(HEAD_START)
    started_at = time.monotonic()
    ended_at, _ = await asyncio.gather(asyncio.to_thread(server.wait_until_left), leave())
    return ended_at - started_at


def measure_product(server: TokenServer) -> list[float]:
    """Return the seconds from the request that cancels a run until the server saw that the worker has left."""
    with (
        make_scratch_folder() as scratch,
        patch.dict(os.environ, {"NET_ALLOW": server.address}),
        run_server(scratch, PORT) as start_url,
        httpx2.Client(timeout=120, trust_env=False) as client,
    ):
        urlopen(start_url).close()
        relay = Relay(upstream="", address=server.address)
        target = set_up(str(Path(scratch) / "home"), relay, client)
        return [cancel_run(target, server) for _ in range(CANCELLED_RUNS)]


def cancel_run(target: Target, server: TokenServer) -> float:
    api = f"{target.url}/api/v1"
    url, body = f"{api}/workflows/{target.workflow}/runs", {"query": "Hi", "user": "ana"}
    run = target.client.post(url, headers=target.headers, json=body).raise_for_status().json()
    server.wait_until_asked()
    wait_for_text(target, f"{api}/runs/{run['id']}/events")
    started_at = time.monotonic()
    target.client.post(f"{api}/runs/{run['id']}/cancel", headers=target.headers).raise_for_status()
    return server.wait_until_left() - started_at


def wait_for_text(target: Target, url: str) -> None:
    with target.client.stream("GET", url, headers=target.headers) as response:
        for line in response.raise_for_status().iter_lines():
            if line.startswith("data: {") and '"offset"' in line:
                return
    raise RuntimeError("the run has ended without a token")


if __name__ == "__main__":
    raise SystemExit(main())
