"""The environments of clients whose requirements don't fit ours: a virtual environment for each, made by `make clients`.

They are in an ignored folder. Without one, its tests are skipped and say how to make it; `make test-clients` makes them
all, and then a missing one is a failure.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from config.env import ROOT


FOLDER: Final = ROOT / ".clients"
REQUIRED: Final = "CLIENTS_REQUIRED"  # in the environment of `make test-clients`

# Name → what is installed there, exactly: what a client does changes with its version.
ENVIRONMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "fastmcp": ("fastmcp==4.2.3",),  # as people have it, whatever version of MCP's package is ours
    # They would bring fifty packages that nothing else needs.
    "openai": (
        "langchain-openai==1.7.4",
        "litellm==1.110.2",
        "llama-index-llms-openai-like==0.8.1",
        "openai==2.54.0",
    ),
    # It generates a client of our own API from its description.
    "openapi-python-client": ("openapi-python-client==0.29.1",),
    # Three of Dify's clients have the same package name.
    "dify-client": ("dify-client==0.1.10",),
    "dify-client-python": ("dify-client-python==1.0.3",),
    "dify-api-client": ("dify-api-client==0.0.23",),
    "dify-oapi2": ("dify-oapi2==1.1.2",),
}

# Name → packages of npm. Without npm, as on a machine that has only Python, they can't be tested.
NODE_ENVIRONMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "dify-node": ("dify-client@2.3.2", "dify-ai-provider@1.1.1"),
    "mcp-inspector": ("@modelcontextprotocol/inspector@2.12.0",),
}


def run_script(name: str, script: Path, **arguments: Any) -> Any:
    """Run a script in an environment. Its arguments go in as JSON, and the JSON that it prints last comes back."""
    python = find_python(name)
    command = [str(python), str(script), json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def run_node_script(name: str, script: Path, **arguments: Any) -> Any:
    """Run a script in an environment of npm, as ``run_script`` does. Modules beside it come along."""
    node = find_node(name)
    # Packages are looked for in the folders above a module.
    for module in script.parent.glob("*.mjs"):
        shutil.copy(module, FOLDER / name / module.name)
    command = [node, str(FOLDER / name / script.name), json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def run_node_program(
    name: str, program: str, *arguments: str, home: Path
) -> subprocess.CompletedProcess[str]:
    """Run a program that an environment of npm installs, and return how it ended. Its files of its own go to ``home``."""
    command = [find_node(name), str(FOLDER / name / "node_modules" / ".bin" / program), *arguments]
    environment = {**os.environ, "HOME": str(home)}
    return subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment)


def find_node(name: str) -> str:
    """Return the interpreter for an environment of npm. Without npm the test is skipped, or without the environment."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip("npm isn't installed, so its clients can't be tested.")
    if not _get_stamp(name).exists():
        _give_up(f"The clients of {name} aren't installed; `make test-clients` does it.")
    return node


def find_python(name: str) -> Path:
    """Return the interpreter of an environment. Without it the test is skipped, or fails where it is required."""
    python = FOLDER / name / "bin" / "python"
    if not _get_stamp(name).exists():
        _give_up(f"The client {name} isn't installed; `make test-clients` does it.")
    return python


def _give_up(message: str) -> None:
    """Skip the test, or fail it where all clients are required."""
    if os.environ.get(REQUIRED):
        pytest.fail(message)
    pytest.skip(message)


def install_all() -> None:
    """Make the environments that are missing or have other versions."""
    for name, requirements in ENVIRONMENTS.items():
        stamp, content = _get_stamp(name), "\n".join(requirements)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == content:
            continue
        print(f"Installing {', '.join(requirements)} …")
        venv.create(FOLDER / name, clear=True, with_pip=True)
        pip = [str(FOLDER / name / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        # Most of what is installed is never imported, so nothing is compiled ahead.
        options = ["install", "--quiet", "--progress-bar", "off", "--no-compile"]
        if subprocess.run([*pip, *options, *requirements]).returncode != 0:
            sys.exit(f"{name} could not be installed.")
        stamp.write_text(content, encoding="utf-8")


def install_node_packages() -> None:
    """Make the environments of npm, where there is npm."""
    npm = shutil.which("npm")
    for name, packages in NODE_ENVIRONMENTS.items():
        stamp, content = _get_stamp(name), "\n".join(packages)
        if npm is None:
            print(f"npm isn't installed: {', '.join(packages)} can't be tested.")
            continue
        if stamp.exists() and stamp.read_text(encoding="utf-8") == content:
            continue
        print(f"Installing {', '.join(packages)} …")
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        (FOLDER / name).mkdir(parents=True)
        options = ["install", "--no-audit", "--no-fund", "--silent", "--prefix", str(FOLDER / name)]
        if subprocess.run([npm, *options, *packages]).returncode != 0:
            sys.exit(f"{name} could not be installed.")
        stamp.write_text(content, encoding="utf-8")


def _get_stamp(name: str) -> Path:
    return FOLDER / name / "installed"


if __name__ == "__main__":
    install_all()
    install_node_packages()
