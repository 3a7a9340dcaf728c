"""What must hold afterwards, read from the database and from the ledger."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bench.chaos.ledger import Ledger
from bench.chaos.system import System
from bench.chaos.workload import EFFECTS


ENDED = ("succeeded", "partial-succeeded", "failed", "stopped")


@dataclass(frozen=True)
class Outcome:
    """Counts over the runs of one scenario. ``errors`` counts the reasons of failed runs."""

    runs: int
    lost: int  # without an end
    failed: int
    parked: int
    wrong_outputs: int
    gaps: int  # runs whose events have a gap, a repetition or several ends
    doubled_steps: int  # steps with two results
    repeated_calls: int
    repeated_after_end: int  # calls of a step that had a result already
    other_keys: int  # repeated calls with a key of their own
    held_leases: int
    errors: dict[str, int] = field(default_factory=dict)


def check(system: System, ledger: Ledger, run_ids: dict[int, Any]) -> Outcome:
    """Check the runs, which are given by their numbers."""
    ids = list(run_ids.values())
    rows = system.fetch(
        "select id, status, error, outputs, last_seq, lease_until from workflows_run where id = any(%s)", (ids,)
    )  # fmt: skip
    rows_by_id = {row[0]: row for row in rows}
    numbers = {run_id: number for number, run_id in run_ids.items()}
    ended = [row for row in rows if row[1] in ENDED]
    finished_at = _read_ends(system, numbers)
    repeated, after_end, other_keys = 0, 0, 0
    for (node, number), calls in ledger.group_calls().items():
        if number not in run_ids:
            continue
        repeated += len(calls) - 1
        other_keys += len({call.key for call in calls}) - 1
        end = finished_at.get((number, node))
        after_end += sum(1 for call in calls if end is not None and call.at > end)
    return Outcome(
        runs=len(ids),
        lost=len(ids) - len(ended),
        failed=sum(row[1] != "succeeded" for row in ended),
        parked=sum("crashed three times" in row[2] for row in rows),
        wrong_outputs=sum(
            row[1] == "succeeded" and not _is_right(row[3], numbers[run_id])
            for run_id, row in rows_by_id.items()
        ),
        gaps=_count_gaps(system, ids),
        doubled_steps=_count_doubled_steps(system, ids),
        repeated_calls=repeated,
        repeated_after_end=after_end,
        other_keys=other_keys,
        held_leases=sum(row[1] in ENDED and row[5] is not None for row in rows),
        errors=dict(Counter(row[2][:120] for row in ended if row[1] != "succeeded")),
    )


def count_unfinished(system: System, ids: list[Any]) -> int:
    query = "select count(*) from workflows_run where id = any(%s) and status <> all(%s)"
    return int(system.fetch(query, (ids, list(ENDED)))[0][0])


def _is_right(outputs: Any, number: int) -> bool:
    expected = {"double": number * 2, "recalled": 1}
    return all(outputs.get(name) == value for name, value in expected.items()) and all(
        str(outputs.get(name, "")).startswith(f"answer {name} of run {number}")
        for name in ("first", "second")
    )


def _read_ends(system: System, numbers: dict[Any, int]) -> dict[tuple[int, str], float]:
    """Return when each node with an effect got its result, in epoch seconds."""
    rows = system.fetch(
        "select run_id, node_key, started_at + elapsed from workflows_step "
        "where run_id = any(%s) and node_key = any(%s) and status = 'succeeded'",
        (list(numbers), list(EFFECTS)),
    )
    return {(numbers[run_id], node): float(end) for run_id, node, end in rows}


def _count_gaps(system: System, ids: list[Any]) -> int:
    rows = system.fetch(
        "select count(*) from workflows_run r where r.id = any(%s) and ("
        "  (select count(*) from workflows_runevent e where e.run_id = r.id) <> r.last_seq"
        "  or (select max(seq) from workflows_runevent e where e.run_id = r.id) <> r.last_seq"
        "  or (select count(*) from workflows_runevent e where e.run_id = r.id and e.name = 'run_finished') <> 1)",
        (ids,),
    )
    return int(rows[0][0])


def _count_doubled_steps(system: System, ids: list[Any]) -> int:
    rows = system.fetch(
        "select count(*) from (select 1 from workflows_step where run_id = any(%s) and status = 'succeeded' "
        "group by run_id, node_key, rounds having count(*) > 1) doubled",
        (ids,),
    )
    return int(rows[0][0])
