"""``run_workflow --durable`` as people type it: a process of its own, with a Celery worker of its own."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from config.embedded.programs import build_worker
from config.env import ROOT, env
from tests.engine.test_memory_nodes import SECTION_12
from tests.support import servers
from tests.support.database import database_name, worker_number
from tests.support.nursery import Nurseries


SEED = ROOT.parent / "shared" / "seeds" / "0-xworkflow-memory-system.md"


def document() -> str:
    """The specification's own, byte for byte, where it lies beside the checkout."""
    if not SEED.exists():
        return SECTION_12
    section = SEED.read_text(encoding="utf-8").partition("\n## 12")[2]
    found = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert found
    return found.group(1)


@pytest.fixture
def surroundings(owner_db: psycopg.Connection[Any], valkey_url: str) -> dict[str, str]:
    socket = servers.start_valkey().socket
    return {
        **os.environ,
        **build_worker(env()).environment,  # so that a nursery of workers serves it
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": servers.place().build_database_url("mnemoflow_app", database_name()),
        "BROKER_URL": f"redis+socket://{socket}?virtual_host={worker_number()}",
        "REDIS_URL": valkey_url,
    }


def test_second_run_in_a_conversation_names_what_the_first_was_told(
    surroundings: dict[str, str],
    nurseries: Nurseries,
    tmp_path: Path,
    owner_db: psycopg.Connection[Any],
) -> None:
    path = tmp_path / "section-12.yml"
    path.write_text(document(), encoding="utf-8")

    def say(text: str, conversation: str) -> dict[str, Any]:
        command = [
            sys.executable, "manage.py", "run_workflow", str(path), "--input", f"query={text}",
            "--system", f"conversation_id={conversation}", "--offline", "--json", "--durable",
        ]  # fmt: skip
        out, error = tmp_path / "out", tmp_path / "error"
        out.unlink(missing_ok=True)
        process = nurseries.start(command, surroundings, out, error)
        assert process.wait(120) == 0, error.read_text() + out.read_text()
        return json.loads(out.read_text())

    say("My cat is called Miso.", "c1")
    recalled = say("What is my cat called?", "c1")

    assert recalled["status"] == "succeeded"
    assert "Miso" in recalled["outputs"]["answer"]
    assert "Miso" not in say("What is my cat called?", "c2")["outputs"]["answer"]
    rows = owner_db.execute("select status, attempt, worker from workflows_run").fetchall()
    assert rows == [("succeeded", 1, "")] * 3
