"""Histories that an earlier release recorded are resumed by this one: what was finished is not done again.

A history is the document of a run and the rows of its journal at the moment when its worker died. To record the one of a
release: ``RECORD_HISTORY=tests/durability/faults/histories/RELEASE.json pytest -k recorded_now``.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from config.ids import uuid7
from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.durability.faults.conftest import (
    TWELVE_OUTPUTS,
    Import,
    start_with_fault,
    twelve_nodes,
    until_dead,
)
from tests.durability.faults.test_commit_points import check_rows
from tests.fakes.openai_server import FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Run
from workflows.services.runs.runs import start_run


HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))
TABLES = ("workflows_runevent", "workflows_step", "workflows_steppart", "workflows_stepintent")
OWN = frozenset({"id", "run_id", "team_id"})  # columns that belong to one database
DIED_AT = 6  # the commit after which the worker dies


def record(cluster: Cluster, run: Run) -> dict[str, Any]:
    history: dict[str, Any] = {"document": twelve_nodes(), "rows": {}}
    for table in TABLES:
        rows = cluster.db.execute(
            f"select to_jsonb(t) from {table} t where run_id = %s order by id", (run.pk,)
        ).fetchall()
        history["rows"][table] = [
            {name: value for name, value in row.items() if name not in OWN} for (row,) in rows
        ]
    return history


def write(cluster: Cluster, run: Run, history: dict[str, Any]) -> None:
    """Give a queued run the history, as if its worker had just died."""
    for table, rows in history["rows"].items():
        for row in rows:
            # New ids in the old order, which is the order in which the rows were written.
            ids = {"id": str(uuid7()), "run_id": str(run.pk), "team_id": str(run.team_id)}
            whole = {**row, **ids}
            names = ", ".join(whole)
            cluster.db.execute(
                f"insert into {table} ({names}) select {names} "
                f"from jsonb_populate_record(null::{table}, %s)",
                (Jsonb(whole),),
            )
    cluster.db.execute(
        "update workflows_run set status = 'running', attempt = 1, worker = 'gone', started_at = now(), "
        "lease_until = now() - interval '1 s', last_seq = %s where id = %s",
        (len(history["rows"]["workflows_runevent"]), run.pk),
    )


def resume(
    cluster: Cluster, cast: Cast, make: Import, ledger: FakeOpenAI, history: dict[str, Any]
) -> None:
    run = start_run(cast.alice.principal, workflow=make(history["document"]))
    write(cluster, run, history)
    ledger.requests.clear()

    cluster.start("later release")
    row = cluster.until_ended(run)

    assert (row["status"], row["error"], row["outputs"]) == ("succeeded", "", TWELVE_OUTPUTS)
    finished = {
        step["node_key"] for step in history["rows"]["workflows_step"] if not step["rounds"]
    }
    assert "one" in finished
    assert {name: asked(ledger, name) for name in finished} == dict.fromkeys(finished, 0)
    check_rows(cluster, run)


def test_history_recorded_now_is_resumed(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI, tmp_path: Path
) -> None:
    answer_from_now_on(ledger, "done")
    run = start_run(cast.alice.principal, workflow=import_workflow(twelve_nodes()))
    marker = str(tmp_path / "marker")
    start_with_fault(cluster, "earlier", at=DIED_AT, when="after", marker=marker)
    until_dead(cluster, "earlier")
    history = record(cluster, run)
    cluster.db.execute(
        "update workflows_run set status = 'stopped', lease_until = null, finished_at = now() where id = %s",
        (run.pk,),
    )
    if target := os.environ.get("RECORD_HISTORY"):
        Path(target).write_text(json.dumps(history, indent=1, sort_keys=True) + "\n")

    resume(cluster, cast, import_workflow, ledger, history)


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_history_of_an_earlier_release_is_resumed(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI, path: Path
) -> None:
    answer_from_now_on(ledger, "done")

    resume(cluster, cast, import_workflow, ledger, json.loads(path.read_text()))
