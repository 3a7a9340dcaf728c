"""Working memory kept elsewhere, through the same door: rights, limits and the trail hold; what can't is refused."""

import asyncio
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory import routing, services
from memory.core.errors import AccessDenied, ProviderError, QuotaExceeded
from memory.core.policy import MemorySecurityPolicy
from memory.core.scopes import parse_namespace
from memory.models import Entry, Policy, Read
from memory.services import CallOrigin, list_reachable
from memory.services.entries.run_notes import clear_run_notes
from memory.services.sandbox.sandbox import SandboxMemory
from tests.factories.workflows import make_run, make_workflow
from tests.memory.services.conftest import at_door, in_run
from tests.memory.services.exchanging import brought, entry, file_of, space
from tests.support.cast import Cast, Person
from workflows.errors import StillRunning
from workflows.models import Run


pytestmark = pytest.mark.django_db

TEAM = "01900000-0000-7000-8000-000000000001"


def of_workflow(person: Person, group: str = "g") -> Any:
    return in_run(person, workflow_id="w1", group_id=group)


def rows(person: Person) -> int:
    with tenant([person.team.pk]):
        return Entry.objects.unscoped().count() + Read.objects.unscoped().count()


def details(person: Person) -> list[tuple[str, dict[str, Any]]]:
    with tenant([person.team.pk]):
        found = AuditEntry.objects.unscoped().filter(action__startswith="memory.").order_by("seq")
        return list(found.values_list("action", "detail"))


@pytest.mark.usefixtures("in_redis")
def test_every_verb_reaches_the_provider_and_the_trail(alice: Person):
    run = of_workflow(alice)

    services.remember(run, scope="workflow", key="k", value="green tea")
    again = services.remember(run, scope="workflow", key="k", value="black tea")
    services.remember(run, scope="workflow", key="other", value="coffee")

    assert again.revision == 2
    hits = services.recall(run, scope="workflow", query_text="tea")
    assert [(hit.key, hit.value) for hit in hits] == [("k", "black tea")]
    text = "ai:memory:w1:g"
    assert [one.value for one in services.list_values(run, namespace=text, key="k")] == [
        "green tea",
        "black tea",
    ]
    page = services.list_entries(at_door(alice), namespace=text, text="COFF")
    assert ([one.key for one in page.entries], page.total) == (["other"], 1)
    forgotten = services.forget(run, scope="workflow", key="k")
    assert (forgotten.count, forgotten.change_id) == (1, None)
    assert services.clear(run, scope="workflow").count == 1
    assert services.recall(run, scope="workflow") == []
    assert rows(alice) == 0
    trail = details(alice)
    assert [action for action, _ in trail] == [
        *(["memory.stored"] * 3),
        *("memory.recalled", "memory.listed", "memory.listed"),
        *("memory.forgotten", "memory.cleared", "memory.recalled"),
    ]
    assert {detail["provider"] for _, detail in trail} == {"redis"}
    assert (trail[1][1]["before"], trail[1][1]["after"]) == (1, 2)


@pytest.mark.usefixtures("in_redis")
def test_scopes_without_a_rule_stay_where_they_were(alice: Person):
    services.remember(in_run(alice), scope="user", key="k", value=1)

    assert rows(alice) == 1


@pytest.mark.usefixtures("in_redis")
def test_who_may_is_asked_before_the_provider_is(cast: Cast):
    services.remember(of_workflow(cast.alice), scope="workflow", key="k", value="alice's")

    stranger = of_workflow(cast.carol)
    assert services.recall(stranger, scope="workflow") == []  # the same words in another team
    with pytest.raises(AccessDenied):
        services.recall(of_workflow(cast.alice, group="other"), namespace="ai:memory:w1:g")
    with pytest.raises(AccessDenied):
        services.remember(
            replace(of_workflow(cast.people["vic"]), reach=None), scope="workflow", key="k", value=1
        )


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.usefixtures("in_redis")
def test_import_into_what_is_kept_elsewhere_is_refused_and_writes_nothing(
    alice: Person, dry_run: bool
):
    text = "ai:memory:w1:g"
    services.remember(of_workflow(alice), scope="workflow", key="k", value="mine")
    file = file_of(space(text), entry("k", namespace=text), entry("new", 2, namespace=text))

    report = brought(alice, file, on_conflict="mine", dry_run=dry_run)

    (refusal,) = report.refusals
    assert (refusal.namespace, refusal.key, refusal.line) == (text, "", 2)
    assert "external provider" in refusal.why
    assert (report.new_count, report.overwritten_count, report.refused_count) == (0, 0, 2)
    there = services.recall(of_workflow(alice), scope="workflow")
    assert [(one.key, one.value) for one in there] == [("k", "mine")]


@pytest.mark.usefixtures("in_redis")
def test_limit_of_the_team_is_the_providers(alice: Person):
    with tenant([alice.team.pk]):
        Policy.objects.unscoped().create(team=alice.team, max_entries=1)
    services.remember(of_workflow(alice), scope="workflow", key="k", value=1)

    with pytest.raises(QuotaExceeded):
        services.remember(of_workflow(alice), scope="workflow", key="k2", value=1)

    assert details(alice)[-1][0] == "memory.refused"


@pytest.mark.usefixtures("in_redis")
def test_notes_there_are_cleared_when_the_run_ends_and_erased_with_the_person(alice: Person):
    run_id = str(uuid4())
    known = {"user_id": str(alice.user.pk), "run_id": run_id}
    run = replace(
        in_run(alice), identity=known, reach=list_reachable(known), origin=CallOrigin(run_id)
    )
    services.remember(run, scope="run", key="note", value="x")
    assert [one.key for one in services.recall(run, scope="run")] == ["note"]

    assert clear_run_notes(alice.team.pk, run_id) == 1

    assert services.recall(run, scope="run") == []


@pytest.mark.usefixtures("in_redis")
def test_erasure_that_is_refused_for_a_run_leaves_memory_elsewhere(alice: Person):
    going = make_run(alice, make_workflow(alice), status="running")
    known = {"user_id": str(alice.user.pk), "run_id": str(going.pk)}
    run = replace(
        in_run(alice), identity=known, reach=list_reachable(known), origin=CallOrigin(str(going.pk))
    )
    services.remember(run, scope="run", key="note", value="x")

    with pytest.raises(StillRunning), transaction.atomic():
        services.erase(at_door(alice), subject=str(alice.user.pk))

    assert [one.value for one in services.recall(run, scope="run")] == ["x"]
    with tenant([alice.team.pk]):
        Run.objects.unscoped().filter(pk=going.pk).update(
            status="failed", finished_at=timezone.now()
        )
    receipt = services.erase(at_door(alice), subject=str(alice.user.pk))
    assert receipt.tables["elsewhere"] == 1
    assert services.recall(run, scope="run") == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_redis")
def test_sandbox_reads_there_and_writes_nothing_there(alice: Person):
    services.remember(of_workflow(alice), scope="workflow", key="k", value="real")

    class Kept(list[Any]):
        def load(self) -> Any:
            return self

        add = list.extend

    memory = SandboxMemory(of_workflow(alice), Kept())
    step: Any = {"identity": {}, "origin": CallOrigin("r1", "n", "s")}

    async def tried() -> Any:
        await memory.store(scope="workflow", key="k", value="tried", **step)
        return await memory.recall(scope="workflow", key="k", **step)

    found = asyncio.run(tried())

    assert [one.value for one in found] == ["tried"]
    real = services.recall(of_workflow(alice), scope="workflow", key="k")
    assert [one.value for one in real] == ["real"]


def test_provider_that_is_away_is_an_error_with_its_row(alice: Person, settings: Any):
    settings.MEMORY_REDIS_URL = "redis://127.0.0.1:9"
    settings.MEMORY_PLACES = ("workflow=redis",)

    of_step = of_workflow(alice)
    of_program = replace(of_step, origin=CallOrigin())

    for caller in (of_step, of_program):
        with pytest.raises(ProviderError):
            services.remember(caller, scope="workflow", key="k", value=1)

    # The step waits for the provider, and is tried again until it is back.
    ((action, detail),) = details(alice)
    assert (action, detail["error"], detail["op"]) == (
        "memory.refused",
        "ProviderAway",
        "memory.stored",
    )


def test_rule_of_one_team_is_no_other_teams(alice: Person, settings: Any, valkey_url: str):
    settings.MEMORY_REDIS_URL = valkey_url
    settings.MEMORY_PLACES = (f"workflow@{alice.team.pk}=redis",)
    named, policy = parse_namespace("ai:memory:w:g"), MemorySecurityPolicy()

    kept = routing.find_external_provider(alice.team.pk, named, policy)
    assert kept is not None
    assert kept.name == "redis"
    assert routing.find_external_provider(uuid4(), named, policy) is None


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("run", "is not scope=provider"),
        ("nonsense=redis", "Unknown memory scope"),
        ("run@me=redis", "run@me=redis"),
        ("run=nobody", "no memory provider"),
        ("run=in_memory", "one process only"),
        ("user=redis", "stays in PostgreSQL"),
        ("conversation=redis", "stays in PostgreSQL"),
        ("global=redis", "stays in PostgreSQL"),
        ("run=http", "needs its team"),
        (f"run@{TEAM}=http", "an http or https address"),
    ],
)
def test_rule_that_cannot_be_kept_stops_the_start(settings: Any, rule: str, why: str):
    settings.MEMORY_PLACES = (rule,)

    with pytest.raises(ImproperlyConfigured, match=why):
        routing.check_rules()


def test_rule_for_another_installation_is_taken(settings: Any):
    settings.MEMORY_HTTP_URL, settings.MEMORY_HTTP_KEY = "https://memory.example.org", "key"
    settings.MEMORY_PLACES = (f"run@{TEAM}=http", "run=postgres")

    routing.check_rules()
