"""The rounds of an agent: on the page of its run, live and ended, in the editor, and by API."""

import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of
from workflows.models import Run, RunEvent, Step, StepPart


pytestmark = pytest.mark.django_db

AGENT = {
    "type": "agent",
    "title": "Researcher",
    "model": {"provider": "offline", "name": "offline", "mode": "chat"},
}
DOCUMENT = {
    "version": "0.1.0",
    "nodes": [
        {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
        {"id": "agent", "data": AGENT},
        {"id": "end", "data": {"type": "end", "title": "End", "outputs": []}},
    ],
    "edges": [
        {"id": "e1", "source": "start", "target": "agent"},
        {"id": "e2", "source": "agent", "target": "end"},
    ],
}


def part(run: Run, name: str, at: float, **fields: Any) -> None:
    kind = (
        "agent-tool" if ".tool." in name else "agent-prompt" if name == "prompt" else "agent-model"
    )
    given = {"node_key": "agent", "part": name, "kind": kind, "status": "succeeded", **fields}
    with tenant([run.team_id]):
        StepPart.objects.create(team_id=run.team_id, run=run, started_at=at, **given)
    event(run, name, "completed", kind)


def event(run: Run, name: str, status: str, kind: str, **data: Any) -> None:
    with tenant([run.team_id]):
        seq = RunEvent.objects.unscoped().filter(run=run).count() + 1
        RunEvent.objects.create(
            team_id=run.team_id,
            run=run,
            seq=seq,
            name="agent_log",
            data={
                "node": "agent",
                "part": name,
                "kind": kind,
                "status": status,
                "rounds": [],
                **data,
            },
        )


def add_rounds(run: Run) -> None:
    part(run, "prompt", 1.0, outputs={"messages": [{"text": "the secret of the prompt"}]})
    part(
        run, "1.model", 1.5, elapsed=1.0, prompt_tokens=30, completion_tokens=12,
        outputs={"text": "I will look it up", "reasoning": "Who knows?", "tool_calls": []},
    )  # fmt: skip
    part(
        run, "1.tool.1", 2.5, elapsed=3.0,
        inputs={"name": "web_page", "arguments": {"url": "https://example.com"}},
        outputs={"text": "The page says hello", "is_error": False, "is_untrusted": True},
    )  # fmt: skip
    part(
        run, "1.tool.2", 5.5, elapsed=0.0,
        inputs={"name": "calculator", "arguments": "1 +"},
        outputs={"text": "The arguments are not valid JSON", "is_error": True},
    )  # fmt: skip


@pytest.fixture
def run(alice: Person) -> Run:
    workflow = make_workflow(alice, source=DOCUMENT)
    run = make_run(alice, workflow, status="succeeded", finished_at=timezone.now())
    add_rounds(run)
    part(run, "2.model", 5.6, elapsed=1.0, prompt_tokens=8, outputs={"text": "It says hello"})
    with tenant([run.team_id]):
        Step.objects.create(
            team_id=run.team_id, run=run, node_key="agent", kind="agent", status="succeeded"
        )
    return run


def rounds_of(cast: Cast, run: Run, name: str = "workflows:run") -> str:
    """The markup of the rounds alone."""
    page = markup_of(cast.alice.client.get(reverse(name, args=[run.pk])))
    return page.split('id="run-rounds"', 1)[1].split('id="steps-title"')[0]


def states_of(markup: str) -> list[tuple[str, str]]:
    return re.findall(r'class="round-call" data-kind="(\w+)" data-state="(\w+)"', markup)


def test_page_shows_thoughts_calls_and_results_in_rounds(cast: Cast, run: Run) -> None:
    rounds = rounds_of(cast, run)

    assert "<h2>Rounds of Researcher</h2>" in rounds
    assert re.findall(r'class="round-number num"[^>]*>(\d)<', rounds) == ["1", "2"]
    assert states_of(rounds) == [
        ("model", "completed"),
        ("tool", "completed"),
        ("tool", "failed"),
        ("model", "completed"),
    ]
    for shown in ("I will look it up", "Who knows?", "https://example.com", "The page says hello",
                  "From outside", "42 tokens", "3.00 s", "Failed"):  # fmt: skip
        assert shown in rounds
    assert "the secret of the prompt" not in rounds


def test_limit_of_rounds_is_named_and_the_closing_answer_is_no_round(cast: Cast, run: Run) -> None:
    with tenant([run.team_id]):
        Step.objects.unscoped().filter(run=run).update(outputs={"finish_reason": "max_rounds"})

    rounds = rounds_of(cast, run)

    assert "Stopped at the limit of rounds: 1<" in rounds
    assert re.findall(r'class="round-number num"[^>]*>(.)<', rounds) == ["1", "✓"]


def test_calls_are_drawn_one_after_the_other_on_the_time_line(cast: Cast, run: Run) -> None:
    bars = re.findall(r'<rect x="([\d.]+)" y="1" width="([\d.]+)"', rounds_of(cast, run))

    assert [(float(start), float(width)) for start, width in bars] == [
        (0, 20),
        (20, 60),
        (80, 0.6),
        (80, 20),
    ]


def test_live_run_shows_the_call_that_is_running(cast: Cast, alice: Person) -> None:
    run = make_run(alice, make_workflow(alice, source=DOCUMENT), status="running")
    add_rounds(run)
    event(run, "2.model", "running", "agent-model", at=6.0, title="offline")

    rounds = rounds_of(cast, run, "workflows:run_rounds")

    assert [state for _kind, state in states_of(rounds)] == [
        "completed",
        "completed",
        "failed",
        "running",
    ]
    assert 'hx-trigger="rounds-changed"' in rounds


def test_ended_run_shows_no_call_as_running(cast: Cast, alice: Person) -> None:
    ended = {"status": "stopped", "finished_at": timezone.now()}
    run = make_run(alice, make_workflow(alice, source=DOCUMENT), **ended)
    event(run, "1.model", "running", "agent-model", at=6.0)
    event(run, "2.model", "failed", "agent-model", at=7.0, error="The model is busy")

    rounds = rounds_of(cast, run)

    assert states_of(rounds) == [("model", "failed")]
    assert "The model is busy" in rounds


def test_step_in_the_editor_shows_the_rounds(cast: Cast, run: Run) -> None:
    address = reverse("workflows:last_step", args=[run.workflow_id, "agent"])

    assert len(states_of(markup_of(cast.alice.client.get(address)))) == 4


def test_api_lists_the_calls_in_their_order(cast: Cast, run: Run) -> None:
    address = f"/api/v1/runs/{run.pk}/steps/agent/parts"

    parts = cast.alice.client.get(address).json()["items"]

    assert [each["part"] for each in parts] == [
        "prompt", "1.model", "1.tool.1", "1.tool.2", "2.model",
    ]  # fmt: skip
    assert parts[2]["inputs"]["arguments"] == {"url": "https://example.com"}
    assert (parts[1]["node"], parts[1]["prompt_tokens"]) == ("agent", 30)
    assert cast.alice.client.get(f"{address}?rounds=1").json()["items"] == []
    assert cast.alice.client.get(f"{address}?rounds=x").status_code == 404


@pytest.mark.parametrize("who", ["bob", "carol"])
def test_nobody_else_sees_the_rounds(cast: Cast, run: Run, who: str) -> None:
    client = getattr(cast, who).client

    addresses = [
        reverse("workflows:run_rounds", args=[run.pk]),
        f"/api/v1/runs/{run.pk}/steps/agent/parts",
    ]

    assert [client.get(address).status_code for address in addresses] == [404, 404]
