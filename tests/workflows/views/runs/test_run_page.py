"""The page of a run: why it is only partially succeeded, which values were pinned, and which attempt it is."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Person
from tests.support.markup import markup_of
from workflows.models import Run, RunEvent, Step
from workflows.models.run import RunStatus
from workflows.views.runs.branches import describe_branch


pytestmark = pytest.mark.django_db

UNDONE = "1 of 2 to-dos were not done: “Use it”. Last error: Failed: broken: out of order"


def make_ended_run(person: Person, status: str = RunStatus.SUCCEEDED, **fields: Any) -> Run:
    return make_run(
        person, make_workflow(person), status=status, finished_at=timezone.now(), **fields
    )


def add_step(run: Run, node: str, **fields: Any) -> None:
    with tenant([run.team_id]):
        Step.objects.create(
            team_id=run.team_id, run=run, node_key=node,
            **{"kind": "agent", "title": node.title(), "status": "succeeded", **fields},
        )  # fmt: skip


def get_page(person: Person, run: Run) -> str:
    return markup_of(person.client.get(f"/runs/{run.pk}/"))


def test_partially_succeeded_run_says_which_step_left_what_undone(alice: Person) -> None:
    run = make_ended_run(alice, RunStatus.PARTIAL, exceptions_count=1)
    add_step(run, "planner", error=UNDONE, error_type="TodosNotDone")
    add_step(run, "writer")

    page = get_page(alice, run)

    # Above it there may be what is said on every page, such as that no worker is there.
    body = page.split('id="run-body"')[1]
    notice = body.split("notice notice-warn")[1].split("</section>")[0]
    assert f"Planner: {UNDONE}" in " ".join(notice.split())
    assert "Writer" not in notice
    steps = page.split('id="steps-title"')[1]
    assert steps.count("Partially succeeded") == 1


def test_partially_succeeded_run_names_the_step_that_succeeded_after_retries(alice: Person) -> None:
    run = make_ended_run(alice, RunStatus.PARTIAL, exceptions_count=1)
    add_step(run, "caller", tries=2)

    page = " ".join(get_page(alice, run).split())

    assert "Caller: succeeded after 2 attempts" in page


def test_pinned_values_are_marked_in_the_list_and_on_the_page(alice: Person) -> None:
    run = make_ended_run(alice, mocks={"pinned": {"outputs": {"text": "x"}}})
    add_step(run, "pinned")
    add_step(run, "other")

    page, runs = get_page(alice, run), markup_of(alice.client.get("/runs/"))

    head, steps = page.split('id="steps-title"')
    assert ">Pinned<" in head
    rows = steps.split("<tr>")
    assert [">Pinned</span>" in row for row in rows if "Pinned" in row or "Other" in row] == [
        True,
        False,
    ]
    assert ">Pinned<" in runs


def test_kind_of_node_may_be_pinned(alice: Person) -> None:
    run = make_ended_run(alice, mocks={"agent": {"outputs": {"text": "x"}}})
    add_step(run, "planner")

    assert ">Pinned</span>" in get_page(alice, run).split('id="steps-title"')[1]


@pytest.mark.parametrize(
    ("claims", "lost", "attempt"), [(3, 0, 1), (2, 1, 2)], ids=["waited twice", "lost a worker"]
)
def test_waiting_is_no_attempt(alice: Person, claims: int, lost: int, attempt: int) -> None:
    run = make_ended_run(alice, attempt=claims, kill_count=lost)

    page = get_page(alice, run)
    body: Any = alice.client.get(f"/api/v1/runs/{run.pk}").json()

    assert ("Attempt 2" in page, "Attempt 3" in page) == (lost == 1, False)
    assert body["attempt"] == attempt


FACT = {"id": "0d9f7c3e-0000-4000-8000-000000000001", "key": "m-1", "value": "I like tea."}


def test_what_a_sub_workflow_recalled_stands_on_the_page_of_its_parent(alice: Person) -> None:
    run = make_ended_run(alice)
    add_step(run, "ask", kind="sub-workflow")
    inner = make_workflow(alice, "Inner")
    for key, parent in (("ask", run), ("other", make_ended_run(alice))):
        child = make_run(
            alice, inner, status=RunStatus.SUCCEEDED, finished_at=timezone.now(),
            parent=parent, parent_key=f"{parent.pk}:{key}",
        )  # fmt: skip
        add_step(child, "recall", kind="memory-recall", title="Recall")
        with tenant([run.team_id]):
            RunEvent.objects.create(
                team_id=run.team_id, run=child, seq=1, name="memory_recalled",
                data={"node": "recall", "scope": "user", "query": key,
                      "entries": [{**FACT, "value": f"{key}: I like tea."}]},
            )  # fmt: skip

    page = get_page(alice, run)
    panel = markup_of(
        alice.client.get(f"/workflows/{run.workflow_id}/nodes/ask/last/", {"run": str(run.pk)})
    )
    memory = markup_of(alice.client.get(f"/runs/{run.pk}/memory/"))

    for markup in (page, panel, memory):
        assert "ask: I like tea." in markup
        assert "other: I like tea." not in markup
    for markup in (page, memory):
        assert "Inner › Recall" in markup


def compare(case: int, expected: str, *, holds: bool, **more: Any) -> dict[str, Any]:
    return {
        "case": case,
        "logical_operator": "and",
        "variable_selector": ["sys", "dialogue_count"],
        "comparison_operator": "=",
        "actual_value": 1,
        "expected_value": expected,
        "result": holds,
        **more,
    }


@pytest.mark.parametrize(
    ("compared", "lines"),
    [
        (
            [compare(1, "0", holds=False), compare(2, "1", holds=True)],
            ["Case 2: dialogue_count (1) = 1"],
        ),
        (
            [
                compare(1, "0", holds=False),
                compare(2, "", holds=False, comparison_operator="empty", actual_value=""),
            ],
            [
                "Else: no case matched",
                "Case 1: dialogue_count (1) = 0",
                "Case 2: dialogue_count (“”) is empty",
            ],
        ),
        (
            [
                {
                    **compare(1, "x", holds=True, comparison_operator="contains"),
                    "actual_value_length": 900,
                },
                compare(1, "2", holds=True),
            ],
            ["Case 1: dialogue_count (900 characters) contains x and dialogue_count (1) = 2"],
        ),
    ],
)
def test_branch_is_explained_in_words(compared: list[Any], lines: list[str]) -> None:
    step = Step(
        kind="if-else", inputs={"compared": compared}, outputs={"result": compared[-1]["result"]}
    )

    assert list(describe_branch(step)) == lines


def test_page_explains_a_branch_above_the_details_which_have_the_width_of_the_table(
    alice: Person,
) -> None:
    run = make_ended_run(alice)
    rows = [compare(1, "1", holds=True)]
    add_step(run, "which", kind="if-else", inputs={"compared": rows}, outputs={"result": True})

    details = get_page(alice, run).split('class="step-details"')[1].split("</tr>")[0]

    assert '<td colspan="5">' in details
    explanation, values = details.split("<details>")
    assert "Case 1: dialogue_count (1) = 1" in explanation
    assert "dialogue_count" in values


@pytest.mark.parametrize(
    ("fields", "columns"),
    [
        ({}, []),
        ({"prompt_tokens": 3}, ["Tokens"]),
        ({"outputs": {"usage": {"cost": 0.01}}}, ["Cost"]),
        ({"prompt_tokens": 3, "outputs": {"usage": {"cost": 0.01}}}, ["Tokens", "Cost"]),
    ],
)
def test_table_of_steps_has_no_columns_in_which_no_step_has_anything(
    alice: Person, fields: dict[str, Any], columns: list[str]
) -> None:
    run = make_ended_run(alice)
    add_step(run, "other")
    add_step(run, "asker", **fields)

    table = get_page(alice, run).split('id="steps-table"')[1].split("</table>")[0]

    heads = table.split("</thead>")[0]
    assert [name for name in ("Tokens", "Cost") if f">{name}</th>" in heads] == columns
    [_head, *rows] = table.split("<tr>")[1:]
    assert {row.split("</tr>")[0].count("<td") for row in rows} == {5 + len(columns)}


def test_step_without_tokens_has_no_unit_of_them(alice: Person) -> None:
    """On phones, the unit stands behind every number that isn't empty."""
    run = make_ended_run(alice)
    add_step(run, "other")
    add_step(run, "asker", prompt_tokens=3)

    page = alice.client.get(f"/runs/{run.pk}/").content.decode()

    assert page.count('data-unit="tokens"') == 1
    assert '<td class="num"></td>' in page
