"""A tool made as docs/extend/add-a-tool.md says, in a package of its own that a new process finds by its entry point."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from config.env import ROOT
from tests.support.documents import document, end, node, start
from workflows.engine.runtime.runner import WorkflowRunner


HOWTO = ROOT / "docs" / "extend" / "add-a-tool.md"
MODULE, *_ = re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.DOTALL)
ENTRY_POINT = re.search(r"```toml\n\[.*?\]\n(.*?)```", HOWTO.read_text(), re.DOTALL)

FIND_AND_CALL = """
import asyncio, json
import django
django.setup()
from workflows.engine.tool_calls import ToolReference
from workflows.engine.tools.port import LocalTools
from workflows.tools.port import load_local_tools

async def main():
    tools = LocalTools(load_local_tools())
    (tool,) = await tools.find([ToolReference("plugin", "count_words")])
    good = await tools.call(tool, {"text": "one three five", "minimum_length": "4"}, idempotency_key="k")
    bad = await tools.call(tool, {"text": 3}, idempotency_key="k")
    print(json.dumps([tool.spec.description, good.text, list(good.data), bad.text]))

asyncio.run(main())
"""


def test_package_with_an_entry_point_brings_its_tool(tmp_path: Path) -> None:
    assert ENTRY_POINT is not None
    (tmp_path / "word_count.py").write_text(MODULE)
    metadata = tmp_path / "word_count-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: word-count\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[mnemoflow]\n{ENTRY_POINT[1].replace(chr(34), '')}"
    )

    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", FIND_AND_CALL],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [
        "Count the words of a text that have a minimum length.",
        '{"words": 2}',
        [{"words": 2}],
        "The arguments are invalid: text is not of type string",
    ]


async def test_runner_takes_the_function_itself() -> None:
    namespace: dict[str, object] = {"__name__": "word_count"}
    exec(compile(MODULE, str(HOWTO), "exec"), namespace)
    count_words = namespace["count_words"]
    assert callable(count_words)
    call = node("t", "tool", provider_type="plugin", provider_id="plugin", tool_name="count_words",
                tool_parameters={"text": {"type": "mixed", "value": "{{#start.q#}}"}})  # fmt: skip
    made = document([start("q"), call, end(o=["t", "json"])], ["start -> t", "t -> end"])

    result = await WorkflowRunner(made, tools=[count_words]).run(inputs={"q": "one two"})

    assert result.outputs == {"o": [{"words": 2}]}
