"""A step that really kills its process: its run is given up, and the others' runs end well."""

import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.durability.conftest import ENDED, Cluster, answer_from_now_on, asked
from tests.durability.faults.conftest import Import, ask, edges, node, template
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.services.runs.runs import start_run


def build_line(text: str) -> dict[str, object]:
    return {
        "version": "0.1.0",
        "nodes": [
            node("start", "start", variables=[{"variable": "q", "type": "text-input", "label": "q"}]),
            template("shown", text + " {{ q | lower }}", ("q", ["start", "q"])),
            node("end", "end", outputs=[{"variable": "o", "value_selector": ["shown", "output"]}]),
        ],
        "edges": edges("start shown", "shown end"),
    }  # fmt: skip


def send_to_all(processes: Sequence[psutil.Process], how: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(how)


@pytest.fixture
def deadly(cluster: Cluster, tmp_path: Path) -> None:
    """A template about arsenic kills its process: a worker as a fault, and what a worker starts by a plug-in."""
    package = tmp_path / "plugins"
    metadata = package / "deadly-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: deadly\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[mnemoflow]\ndeadly = deadly\n")
    (package / "deadly.py").write_text(
        "from tests.durability.faults.plugin import poison_templates\n"
        "poison_templates({'poison': 'arsenic'})\n"
    )
    fault = {"TEST_PLUGIN": "tests.durability.faults.plugin", "FAULT": '{"poison": "arsenic"}'}
    cluster.environment |= {"PYTHONPATH": str(package), **fault}


@pytest.mark.slow
def test_step_that_kills_three_processes_is_given_up_and_others_are_unharmed(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI, deadly: None
) -> None:
    answer_from_now_on(ledger, "done")
    arsenic, water = import_workflow(build_line("arsenic")), import_workflow(build_line("water"))
    run = start_run(cast.alice.principal, workflow=arsenic, inputs={"q": "x"})
    others = [
        start_run(cast.alice.principal, workflow=water, inputs={"q": str(number)})
        for number in range(5)
    ]
    deaths = 0

    cluster.start("one")
    while cluster.row(run)["status"] not in ENDED:
        if cluster.processes["one"].poll() is None:
            cluster.until(
                lambda: (
                    cluster.processes["one"].poll() is not None
                    or cluster.row(run)["status"] in ENDED
                )
            )
            continue
        deaths += 1
        cluster.expire_leases()
        cluster.start("one")
    rows = [cluster.until_ended(other) for other in others]

    assert deaths == 2, "the third death is that of a process of its own"
    assert "crashed three times" in cluster.row(run)["error"]
    assert cluster.processes["one"].poll() is None
    assert [(row["status"], row["outputs"]) for row in rows] == [
        ("succeeded", {"o": f"water {number}"}) for number in range(5)
    ]
    for each in (run, *others):
        cluster.check(each)


def test_runs_over_which_workers_died_by_chance_end_well_in_a_process_of_their_own(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, "done")
    water = import_workflow(build_line("water"))
    runs = [
        start_run(cast.alice.principal, workflow=water, inputs={"q": str(number)})
        for number in range(5)
    ]
    cluster.db.execute(
        "update workflows_run set status = 'running', attempt = 2, kill_count = 1, worker = 'gone', "
        "started_at = now(), lease_until = now() - interval '1 s'"
    )

    cluster.start("one")
    rows = [cluster.until_ended(run) for run in runs]

    assert [(row["status"], row["kill_count"]) for row in rows] == [("succeeded", 2)] * 5
    assert cluster.count_said("isolated_worker_started")


def test_worker_that_dies_with_its_isolated_process_blames_no_run(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, held)
    slow = import_workflow(
        {
            "version": "0.1.0",
            "nodes": [
                node("start", "start", variables=[]),
                ask("slow", "slow"),
                node("end", "end", outputs=[]),
            ],
            "edges": edges("start slow", "slow end"),
        }
    )
    run = start_run(cast.alice.principal, workflow=slow)
    cluster.db.execute(
        "update workflows_run set status = 'running', attempt = 2, kill_count = 1, worker = 'gone', "
        "started_at = now(), lease_until = now() - interval '1 s'"
    )
    cluster.start("one")
    cluster.until(lambda: asked(ledger, "slow"))
    isolated = psutil.Process(cluster.processes["one"].pid).children(recursive=True)

    # Frozen, none of them sees that the worker is gone and hands the run over.
    send_to_all(isolated, signal.SIGSTOP)
    cluster.kill("one")
    send_to_all(isolated, signal.SIGKILL)
    assert cluster.row(run)["worker"].endswith(":isolated")
    cluster.expire_leases()
    answer_from_now_on(ledger, "done")
    cluster.start("two")
    row = cluster.until_ended(run)

    assert (row["status"], row["attempt"]) == ("succeeded", 4)
    cluster.check(run)
