"""Limits of teams and API keys: exact for starts at the same time, and refused in plain words."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import ApiKey, AuditEntry
from accounts.services import issue_key, revoke_key
from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast, KeyClient, Person
from workflows.errors import BudgetExceeded, InvalidValue
from workflows.models import Run, Step, Workflow
from workflows.models.run import RunStatus
from workflows.services.budgets.limits import RunLimits, set_team_limits
from workflows.services.budgets.report import load_team_budget
from workflows.services.runs.deletion import delete_run
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db
RUNS = "/api/v1/workflows/{}/runs"


def limit(person: Person, **limits: int) -> None:
    set_team_limits(person.principal, person.team.pk, RunLimits(**limits))


def make_client(person: Person, **limits: int) -> KeyClient:
    return KeyClient(
        *issue_key(
            principal=person.principal,
            team=person.team,
            name="ci",
            scopes={"runs:read", "runs:write", "workflows:read"},
            limits=limits,
        )
    )


def start(client: Client, workflow: Workflow) -> Any:
    body = json.dumps({"inputs": {"text": "hi"}, "version": "draft"})
    return client.post(RUNS.format(workflow.pk), body, content_type="application/json")


def count_runs(team_id: Any) -> int:
    with tenant([team_id]):
        return Run.objects.unscoped().count()


def end_all(team_id: Any, **fields: Any) -> None:
    from django.utils import timezone

    with tenant([team_id]):
        Run.objects.unscoped().update(
            status=RunStatus.SUCCEEDED, finished_at=timezone.now(), **fields
        )


def add_step(person: Person, kind: str, **fields: Any) -> Run:
    """A finished run of today with one step."""
    run = make_run(person, make_workflow(person))
    with tenant([person.team.pk]):
        Step.objects.create(
            team_id=run.team_id, run=run, node_key="n", kind=kind, status="succeeded", **fields
        )
    end_all(person.team.pk)
    return run


def test_run_beyond_the_limit_of_the_day_is_refused_in_plain_words(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    limit(cast.alice, runs_per_day=2)
    client = make_client(cast.alice)

    answers = [start(client, workflow) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [202, 202, 429]
    error = answers[-1].json()["error"]
    assert (error["type"], error["retryable"]) == ("BudgetExceeded", True)
    assert error["message"].startswith("This team has reached its limit of runs per day: 2.")
    assert 0 < int(answers[-1]["Retry-After"]) <= 86_401
    assert count_runs(cast.team_a.pk) == 2


def test_earlier_runs_of_the_day_count_when_a_limit_is_set(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    client = make_client(cast.alice)
    start(client, workflow)
    limit(cast.alice, runs_per_day=2)

    assert [start(client, workflow).status_code for _ in range(2)] == [202, 429]


def test_deleting_runs_gives_back_no_starts(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    limit(cast.alice, runs_per_day=1)
    client = make_client(cast.alice)
    start(client, workflow)
    end_all(cast.team_a.pk)
    with tenant([cast.team_a.pk]):
        Run.objects.unscoped().delete()

    assert start(client, workflow).status_code == 429


def test_starts_before_a_limit_stay_when_their_runs_are_deleted(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    client = make_client(cast.alice)
    for _ in range(2):
        start(client, workflow)
    end_all(cast.team_a.pk)
    make_run(cast.alice, workflow)
    with tenant([cast.team_a.pk]):
        rows = Run.objects.unscoped().select_related("api_key", "workflow")
        deleted = rows.filter(status=RunStatus.SUCCEEDED)[0]
    delete_run(cast.alice.principal, deleted)

    assert load_team_budget(cast.alice.principal, cast.team_a.pk).use.runs_per_day == 3
    limit(cast.alice, runs_per_day=4)
    assert [start(client, workflow).status_code for _ in range(2)] == [202, 429]


def test_refused_start_is_not_counted(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    limit(cast.alice, runs_per_day=5, concurrent_runs=1)
    client = make_client(cast.alice)
    statuses = [start(client, workflow).status_code for _ in range(4)]

    assert statuses == [202, 429, 429, 429]
    assert load_team_budget(cast.alice.principal, cast.team_a.pk).use.runs_per_day == 1


def test_concurrent_runs_are_free_again_when_one_ends(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    limit(cast.alice, concurrent_runs=1)
    client = make_client(cast.alice)
    start(client, workflow)
    refused = start(client, workflow)
    end_all(cast.team_a.pk)

    assert (refused.status_code, refused["Retry-After"]) == (429, "5")
    assert start(client, workflow).status_code == 202


def test_limit_of_one_key_stops_no_other(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    small, other = make_client(cast.alice, runs_per_day=1), make_client(cast.alice)

    statuses = [start(client, workflow).status_code for client in (small, small, other, other)]

    assert statuses == [202, 429, 202, 202]


def test_tokens_of_ended_runs_count_at_once(cast: Cast) -> None:
    limit(cast.alice, tokens_per_day=100)
    workflow = make_workflow(cast.alice)
    add_step(cast.alice, "llm", prompt_tokens=60, completion_tokens=39)
    first = start(make_client(cast.alice), workflow)
    add_step(cast.alice, "llm", prompt_tokens=1)
    second = start(make_client(cast.alice), workflow)

    assert (first.status_code, second.status_code) == (202, 429)
    assert "tokens per day: 100" in second.json()["error"]["message"]


def test_seconds_of_code_count(cast: Cast) -> None:
    limit(cast.alice, code_seconds_per_day=10)
    workflow = make_workflow(cast.alice)
    add_step(cast.alice, "code", elapsed=10.5)
    add_step(cast.alice, "http-request", elapsed=500)

    answer = start(make_client(cast.alice), workflow)

    assert answer.status_code == 429
    budget = load_team_budget(cast.alice.principal, cast.team_a.pk)
    assert budget.use.code_seconds_per_day == 10


def test_seconds_of_code_in_a_sub_workflow_count_without_counting_a_run(cast: Cast) -> None:
    parent = make_run(cast.alice, make_workflow(cast.alice))
    child = add_step(cast.alice, "code", elapsed=3.0)
    with tenant([cast.team_a.pk]):
        Run.objects.unscoped().filter(pk=child.pk).update(parent=parent)

    use = load_team_budget(cast.alice.principal, cast.team_a.pk).use

    assert (use.code_seconds_per_day, use.runs_per_day) == (3, 1)


def test_other_team_is_not_affected(cast: Cast) -> None:
    limit(cast.alice, runs_per_day=1)
    workflow = make_workflow(cast.carol)
    client = make_client(cast.carol)

    assert [start(client, workflow).status_code for _ in range(3)] == [202] * 3


def test_installation_limits_every_team_and_owners_only_lower_it(cast: Cast, settings: Any) -> None:
    settings.TEAM_LIMITS = {**settings.TEAM_LIMITS, "runs_per_day": 3}
    workflow = make_workflow(cast.alice)
    with pytest.raises(InvalidValue, match="allows 3 at most"):
        limit(cast.alice, runs_per_day=4)
    limit(cast.alice, runs_per_day=2)
    start_run(cast.alice.principal, workflow=workflow, inputs={"text": "x"})
    start_run(cast.alice.principal, workflow=workflow, inputs={"text": "x"})

    with pytest.raises(BudgetExceeded, match="runs per day: 2"):
        start_run(cast.alice.principal, workflow=workflow, inputs={"text": "x"})


def test_api_shows_limits_and_use(cast: Cast) -> None:
    limit(cast.alice, runs_per_day=9)
    client = make_client(cast.alice, tokens_per_day=50)
    start(client, make_workflow(cast.alice))

    own, team = client.get("/api/v1/limits").json(), cast.alice.client.get("/api/v1/limits").json()

    assert own["team"] is None
    assert team["keys"] == own["keys"]
    assert own["keys"][0]["limits"]["tokens_per_day"] == 50
    assert team["team"]["limits"]["runs_per_day"] == 9
    assert team["team"]["use"] == {
        "runs_per_day": 1,
        "concurrent_runs": 1,
        "tokens_per_day": 0,
        "code_seconds_per_day": 0,
    }


def test_page_shows_use_and_lets_an_owner_change_limits(cast: Cast) -> None:
    owner, admin = cast.alice.client, cast.ada.client
    saved = owner.post("/team/limits/", {"runs_per_day": "1000", "tokens_per_day": ""})
    wrong = owner.post("/team/limits/", {"runs_per_day": "0"})
    refused = admin.post("/team/limits/", {"runs_per_day": "1"})

    page = admin.get("/team/limits/").content.decode()
    assert (saved.status_code, wrong.status_code, refused.status_code) == (302, 422, 403)
    assert "1,000" in page
    assert "Save limits" not in page
    assert "Save limits" in owner.get("/team/limits/").content.decode()


def test_key_with_limits_is_made_on_its_page(cast: Cast) -> None:
    cast.alice.client.post(
        "/team/keys/",
        {"name": "small", "preset": "run", "requests_per_minute": "60", "runs_per_day": "5"},
    )

    with tenant([cast.team_a.pk]):
        key = ApiKey.objects.unscoped().get(name="small")
    assert (key.requests_per_minute, key.runs_per_day, key.tokens_per_day) == (60, 5, None)


def change(client: Client, key: ApiKey, **limits: int) -> Any:
    body = json.dumps(limits)
    return client.put(f"/api/v1/keys/{key.pk}/limits", body, content_type="application/json")


def reload(key: ApiKey) -> ApiKey:
    with tenant([key.team_id]):
        return ApiKey.objects.unscoped().get(pk=key.pk)


def test_limits_of_a_key_are_changed_by_the_api_and_hold_at_once(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    client = make_client(cast.alice, runs_per_day=1, tokens_per_day=50)
    before = [start(client, workflow).status_code for _ in range(2)]

    changed = change(cast.ada.client, client.key, runs_per_day=2)

    after = [start(client, workflow).status_code for _ in range(2)]
    assert (before, after) == ([202, 429], [202, 429])
    assert (changed.json()["runs_per_day"], changed.json()["tokens_per_day"]) == (2, None)
    with tenant([cast.team_a.pk]):
        entry = AuditEntry.objects.unscoped().get(action="key.limits_changed")
    assert entry.detail == {"runs_per_day": 2, "tokens_per_day": None}


def test_limits_of_a_key_are_not_changed_by_a_wrong_value_or_after_its_end(cast: Cast) -> None:
    key = make_client(cast.alice, runs_per_day=1).key
    wrong = change(cast.ada.client, key, runs_per_day=0)
    revoke_key(cast.alice.principal, key_id=key.pk)
    late = change(cast.ada.client, key, runs_per_day=5)
    page = cast.ada.client.post(f"/team/keys/{key.pk}/limits/", {"runs_per_day": "5"})

    key = reload(key)
    assert (wrong.status_code, late.status_code, page.status_code) == (422, 422, 422)
    assert "revoked" in late.json()["error"]["message"]
    assert "revoked" in page.content.decode()
    assert key.runs_per_day == 1


def test_limits_of_a_key_are_changed_on_a_page(cast: Cast) -> None:
    key = make_client(cast.alice, runs_per_day=1, tokens_per_day=50).key
    admin, page = cast.ada.client, f"/team/keys/{key.pk}/limits/"
    shown = admin.get(page).content.decode()
    wrong = admin.post(page, {"runs_per_day": "0"})
    saved = admin.post(page, {"runs_per_day": "7", "tokens_per_day": ""})

    key = reload(key)
    assert ('value="1"' in shown, 'value="50"' in shown) == (True, True)
    assert (wrong.status_code, saved.status_code) == (422, 302)
    assert (key.runs_per_day, key.tokens_per_day) == (7, None)
    assert all(
        page in admin.get(path).content.decode() for path in ("/team/keys/", "/team/limits/")
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("limits", [{"runs_per_day": 5}, {"concurrent_runs": 5}])
def test_starts_at_the_same_time_never_exceed_a_limit(cast: Cast, limits: dict[str, int]) -> None:
    workflow = make_workflow(cast.alice)
    limit(cast.alice, **limits)
    principal = cast.alice.principal

    def begin(_number: int) -> bool:
        try:
            with tenant([cast.team_a.pk]):  # one transaction, as a request is
                start_run(principal, workflow=workflow, inputs={"text": "x"})
        except BudgetExceeded:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        started = sum(pool.map(begin, range(20)))

    assert (started, count_runs(cast.team_a.pk)) == (5, 5)
