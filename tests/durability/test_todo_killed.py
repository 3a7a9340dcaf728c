"""The todo loop with real workers: it pauses for a question, is killed twice with -9, and repeats no finished call."""

from collections import Counter
from pathlib import Path

import pytest

from memory.services.entries.run_notes import get_run_metadata
from tests.durability.conftest import Cluster, answer_from_now_on
from tests.durability.test_agent_killed import (
    calls,
    document,
    list_finished,
    read_ledger,
    start_agent,
)
from tests.fakes.openai_server import Answer, FakeOpenAI, Request
from tests.support.cast import Cast
from workflows.models import Run
from workflows.services.runs.waits import answer_wait


__all__ = ["calls"]  # the fixture


NUMBERS = (7, 8, 9, 10)


def report(completion: str, action: str = "无", note: str = "无") -> Answer:
    return Answer(f"完成度评估: {completion}\n执行动作: {action}\n下一步建议: 无\n笔记: {note}")


def has_no_notes(run: Run) -> bool:
    metadata = get_run_metadata(run.team_id, run.pk)
    return metadata is not None and metadata.notes == ()


def is_about(request: Request, task: str) -> bool:
    return f"【当前任务】\n{task}" in request.last_message


def follow_the_plan(request: Request) -> Answer:
    prompt = request.last_message
    if is_about(request, "询问"):
        return report("0.9", "[询问用户:几行？]", "已询问")
    for number in NUMBERS:
        if is_about(request, f"记录{number}\n"):
            # The first call fails, and is corrected.
            value = number if "失败" in prompt else "seven"
            return report("1", f"[note:{value}]", "已记录")
    if is_about(request, "检查"):
        return report("100%")
    if "所有TODO" in prompt:
        return Answer("完成了")
    todos = ["询问", *(f"记录{number}" for number in NUMBERS), "检查"]
    return Answer("TODO列表:\n" + "\n".join(f"{n}. {text}" for n, text in enumerate(todos, 1)))


@pytest.mark.slow
def test_todo_loop_survives_a_question_and_two_killed_workers(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI, calls: Path, held: Answer
) -> None:
    answer_from_now_on(ledger, follow_the_plan)
    source = document()
    source["nodes"][1]["data"] |= {"strategy": "todo", "query": "帮我做一个表格"}
    run = start_agent(cast, ledger, source)
    cluster.start("one")
    cluster.until(lambda: cluster.row(run)["status"] in ("paused", "failed"))
    assert cluster.row(run)["status"] == "paused", cluster.row(run)["error"]
    cluster.kill("one")
    [(wait, form, part)] = cluster.db.execute(
        "select id, form, part from workflows_runwait where run_id = %s", (run.pk,)
    ).fetchall()
    paused = get_run_metadata(run.team_id, run.pk)

    answer_wait(cast.alice.principal, run, wait_id=wait, values={"answer": "三行"}, action="")
    finished: list[str] = []
    for kill, task, name in ((1, "记录9", "two"), (3, "检查", "three")):
        # The worker dies anywhere between this call and the answer about the task, which never comes.
        answer_from_now_on(
            ledger,
            lambda request, task=task: (
                held if is_about(request, task) else follow_the_plan(request)
            ),
        )
        cluster.start(name)
        cluster.until(lambda count=kill: len(read_ledger(calls)) >= count)
        cluster.kill(name)
        finished = list_finished(cluster, run)
        cluster.expire_leases()
    answer_from_now_on(ledger, follow_the_plan)
    cluster.start("four")
    row = cluster.until_ended(run)

    assert (form["type"], form["content"], part) == ("question", "几行？", "todo.1.1.action.1")
    assert paused is not None
    assert [each.status for each in paused.todos] == ["running", *["pending"] * 5]
    assert row["status"] == "succeeded"
    assert row["outputs"]["text"] == "完成了"
    # Each of them had finished steps, so that no step was the death of both.
    assert row["kill_count"] == 1
    noted = read_ledger(calls)
    counts = Counter(entry["key"].rsplit(":", 1)[-1] for entry in noted)
    assert sorted({entry["n"] for entry in noted}) == [*NUMBERS]
    assert len(noted) <= len(NUMBERS) + 2
    # A call in whose middle the worker was killed is made again, and no other.
    assert {part: counts[part] for part in counts if part in finished} == {
        part: 1 for part in counts if part in finished
    }
    parts = list_finished(cluster, run)
    assert len(parts) == len(set(parts))
    assert parts[: len(finished)] == finished
    # The notes are cleared after the end of the run has been stored.
    cluster.until(lambda: has_no_notes(run))
    metadata = get_run_metadata(run.team_id, run.pk)
    assert metadata is not None
    assert metadata.goal == "帮我做一个表格"
    assert [each.status for each in metadata.todos] == ["completed"] * 6
    cluster.check(run)
