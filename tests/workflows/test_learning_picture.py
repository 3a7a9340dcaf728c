"""The picture of learning: what it shows, to whom, at which cost, in page and API; nothing private of others appears."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Team
from accounts.personas import make_service_subject
from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from memory import services
from memory.api import learning as memory_api
from memory.models import Entry
from memory.services import CallOrigin, MemoryCaller
from memory.views import learning as memory_views
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast, KeyClient, Person
from tests.support.steps import count_steps
from workflows.models import Run, Task, Workflow


pytestmark = pytest.mark.django_db

PAGE, API = "/memory/learning/", "/api/v1/memory/learning"
SHARED = "global:app"
DRAWN_RUNS = 60  # for a test that has more; the product draws 500


def in_run(person: Person, run: Run, *, step: str = "s") -> MemoryCaller:
    return MemoryCaller(person.principal, person.team.id, origin=CallOrigin(str(run.pk), "n", step))


def teach(person: Person, run: Run, key: str, value: Any, namespace: str = SHARED) -> Any:
    return services.remember(in_run(person, run), namespace=namespace, key=key, value=value)


def use(
    person: Person, run: Run, key: str, namespace: str = SHARED, *, injected: bool = True
) -> None:
    services.recall(in_run(person, run), namespace=namespace, key=key, injected=injected)


def make_runs(person: Person, workflow: Workflow, count: int = 2, **fields: Any) -> list[Run]:
    """Return runs of the last minutes, oldest first."""
    runs = [
        make_run(person, workflow, inputs={"text": f"question {n}"}, **fields) for n in range(count)
    ]
    with tenant([person.team.id]):
        for minutes, run in enumerate(reversed(runs)):
            Run.objects.unscoped().filter(pk=run.pk).update(
                created_at=timezone.now() - timedelta(minutes=minutes)
            )
    return runs


def read_api(reader: Person, /, **query: Any) -> Any:
    response = reader.client.get(API, query)
    assert response.status_code == 200, response.content
    return response.json()


def list_links(report: Any) -> set[tuple[str, str, bool]]:
    return {(one["source_run"], one["target_run"], one["injected"]) for one in report["uses"]}


def test_entries_lead_from_the_run_that_wrote_them_to_those_that_used_them(alice: Person):
    workflow = make_workflow(alice)
    first, second, third = make_runs(alice, workflow, 3)
    teach(alice, first, "learning:1", {"learnings": ["Pivots are random"]})
    teach(alice, first, "error:1", {"errors": ["Port 5432 was closed"]})
    teach(alice, first, "task:1", {"summary": "Sort: succeeded."})
    use(alice, second, "learning:1")
    use(alice, third, "learning:1", injected=False)
    use(alice, third, "error:1")

    report = read_api(alice)

    lessons = {one["key"]: (one["run"], one["kind"], one["text"]) for one in report["lessons"]}
    assert lessons == {
        "learning:1": (str(first.pk), "learning", "Pivots are random"),
        "error:1": (str(first.pk), "error", "Port 5432 was closed"),
        "task:1": (str(first.pk), "task", "Sort: succeeded."),
    }
    assert list_links(report) == {
        (str(first.pk), str(second.pk), True),
        (str(first.pk), str(third.pk), False),
        (str(first.pk), str(third.pk), True),
    }
    assert [one["id"] for one in report["runs"]] == [str(run.pk) for run in (third, second, first)]


def test_page_is_named_by_its_title(alice: Person):
    [run] = make_runs(alice, make_workflow(alice), 1)
    page = {"title": "Red mill", "content": "It stands in Basel. " * 50}

    services.write_pages(in_run(alice, run), namespace=SHARED, pages=[page])

    assert [lesson["text"] for lesson in read_api(alice)["lessons"]] == ["Red mill"]


def test_run_that_changed_the_value_is_the_one_that_taught_it(alice: Person):
    first, second, third, fourth = make_runs(alice, make_workflow(alice), 4)
    teach(alice, first, "diet", "No peanuts")
    use(alice, second, "diet")
    teach(alice, third, "diet", "No peanuts and no milk")
    use(alice, fourth, "diet")

    assert list_links(read_api(alice)) == {
        (str(first.pk), str(second.pk), True),
        (str(third.pk), str(fourth.pk), True),
    }


def test_value_that_a_person_wrote_was_taught_by_no_run(alice: Person):
    first, second = make_runs(alice, make_workflow(alice))
    entry = teach(alice, first, "diet", "No peanuts")
    caller = MemoryCaller(alice.principal, alice.team.id)
    services.edit(caller, entry_id=entry.id, if_revision=1, value="No nuts at all")
    use(alice, second, "diet")

    assert list_links(read_api(alice)) == set()


def test_namespaces_are_joined_in_one_picture(alice: Person):
    first, second = make_runs(alice, make_workflow(alice))
    mine = f"user:{alice.user.pk}"
    teach(alice, first, "learning:1", "For everybody here")
    teach(alice, first, "learning:2", "For me alone", mine)
    use(alice, second, "learning:1")
    use(alice, second, "learning:2", mine)

    report = read_api(alice)

    assert {one["namespace"] for one in report["lessons"]} == {SHARED, mine}
    assert len(report["uses"]) == 2


def test_nothing_private_of_others_appears_not_even_as_a_number(
    alice: Person, bob: Person, carol: Person
):
    workflow = make_workflow(alice)
    (his,) = make_runs(bob, workflow, 1)
    (hers,) = make_runs(alice, workflow, 1)
    private = f"user:{bob.user.pk}"
    teach(bob, his, "learning:private", "Bob-canary-1", private)
    teach(bob, his, "learning:shared", "Bob-shared-2")
    use(alice, hers, "learning:shared")

    for person in (alice, carol):
        report = json.dumps(read_api(person))
        page = person.client.get(PAGE).content.decode()
        for text in (report, page):
            assert str(his.pk) not in text
            assert "Bob-canary-1" not in text
            assert "Bob-shared-2" not in text
    assert read_api(alice)["lessons"] == read_api(carol)["lessons"] == []
    own = read_api(bob)
    assert {one["text"] for one in own["lessons"]} == {"Bob-canary-1", "Bob-shared-2"}


def test_run_of_mine_shows_no_memory_that_i_may_not_view(alice: Person, bob: Person):
    """A lesson in somebody's private namespace stays hidden although the run that wrote it is visible."""
    (run,) = make_runs(alice, make_workflow(alice), 1)
    private = f"user:{bob.user.pk}"
    caller = MemoryCaller(bob.principal, bob.team.id, origin=CallOrigin(str(run.pk), "n", "s"))
    services.remember(caller, namespace=private, key="learning:1", value="Bob-canary")

    assert read_api(alice)["lessons"] == []
    assert "Bob-canary" not in alice.client.get(PAGE).content.decode()


def test_filters_choose_workflow_person_and_time(alice: Person):
    first, second = make_workflow(alice, name="First"), make_workflow(alice, name="Second")
    (old,) = make_runs(alice, first, 1)
    (new,) = make_runs(alice, second, 1)
    with tenant([alice.team.id]):
        Run.objects.unscoped().filter(pk=old.pk).update(
            created_at=timezone.now() - timedelta(days=10)
        )

    def ids(**query: Any) -> list[str]:
        return [one["id"] for one in read_api(alice, **query)["runs"]]

    week_ago = (timezone.localdate() - timedelta(days=7)).isoformat()
    assert ids() == [str(new.pk), str(old.pk)]
    assert ids(workflow=str(first.pk)) == [str(old.pk)]
    assert ids(since=week_ago) == [str(new.pk)]
    assert ids(until=week_ago) == [str(old.pk)]
    assert ids(person=str(alice.user.pk)) == [str(new.pk), str(old.pk)]
    assert ids(person="nobody") == []
    assert f"run={old.pk}" not in alice.client.get(PAGE, {"period": "7"}).content.decode()


def test_page_draws_and_lists_the_same_links(alice: Person):
    first, second = make_runs(alice, make_workflow(alice, name="Answers <b>"))
    with tenant([alice.team.id]):
        Task.objects.create(
            team=alice.team, title="Sort the list", workflow=first.workflow, run=first,
            subject=first.subject, subject_user=first.subject_user, started_by=first.started_by,
        )  # fmt: skip
    teach(alice, first, "learning:1", {"learnings": ["Pivots are <i>random</i>"]})
    use(alice, second, "learning:1")

    page = re.sub(r"\s+", " ", alice.client.get(PAGE).content.decode())
    alone = alice.client.get(PAGE, {"run": str(second.pk)}).content.decode()

    assert page.count('vector-effect="non-scaling-stroke"') == 1
    assert "Pivots are &lt;i&gt;random&lt;/i&gt;" in page
    assert "Answers &lt;b&gt;" in page
    assert "Sort the list" in page
    assert "led to:" in page
    assert "learned from:" in page
    assert "The selected run" in alone
    assert "data-lit" in alone


def test_forgotten_entry_keeps_its_place_and_loses_its_text(alice: Person):
    first, second = make_runs(alice, make_workflow(alice))
    entry = teach(alice, first, "learning:1", "Forget-canary")
    teach(alice, second, "learning:2", "Something else that stays")
    use(alice, second, "learning:1")
    services.forget(MemoryCaller(alice.principal, alice.team.id), entry_id=entry.id)

    report = read_api(alice)

    assert [(one["forgotten"], one["text"]) for one in report["lessons"]] == [
        (True, ""),
        (False, "Something else that stays"),
    ]
    assert len(report["uses"]) == 1
    assert "Forget-canary" not in alice.client.get(PAGE).content.decode()


def count_queries(read: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as queries:
        read()
    return len(queries)


def test_number_of_queries_does_not_depend_on_the_number_of_runs(alice: Person):
    workflow = make_workflow(alice)

    def grow(count: int) -> None:
        runs = make_runs(alice, workflow, count)
        for number, run in enumerate(runs):
            teach(alice, run, f"learning:{run.pk}", f"Lesson {number} of many others")
            use(alice, runs[-1], f"learning:{run.pk}")

    counts = []
    for count in (2, 6):
        grow(count)
        alice.client.get(PAGE)  # what a process asks for once
        counts.append(
            (count_queries(lambda: read_api(alice)), count_queries(lambda: alice.client.get(PAGE)))
        )

    assert counts[0] == counts[1]
    assert max(counts[0]) <= 60


def test_picture_of_many_runs_is_bounded(alice: Person, monkeypatch: pytest.MonkeyPatch):
    """Twice as many runs cost as much as those that are drawn."""
    for module in (memory_api, memory_views):
        monkeypatch.setattr(module, "MAX_RUNS", DRAWN_RUNS)
    workflow = make_workflow(alice)
    pattern = make_run(alice, workflow, inputs={"text": "hello"})
    teach(alice, pattern, "learning:first", "The first lesson of many")
    with tenant([alice.team.id]):
        assert Entry.objects.unscoped().count() == 1

    steps, queries = [], []
    for _time in range(2):
        copy_run(pattern, DRAWN_RUNS + 20)
        read_api(alice)  # what a process asks for once
        queries.append(count_queries(lambda: read_api(alice)))
        with count_steps() as counted:
            report = read_api(alice)
        steps.append(counted.count)

    assert queries[0] == queries[1]
    assert steps[1] < 1.1 * steps[0]
    assert (len(report["runs"]), report["is_all"]) == (DRAWN_RUNS, False)
    assert "Only the newest part is drawn" in alice.client.get(PAGE).content.decode()


def copy_run(pattern: Run, count: int) -> None:
    fields = [
        field.attname
        for field in Run._meta.concrete_fields
        if field.attname not in ("id", "created_at")
    ]
    with tenant([pattern.team_id]):
        Run.objects.unscoped().bulk_create(
            Run(**{name: getattr(pattern, name) for name in fields}) for _ in range(count)
        )


@dataclass(frozen=True)
class Program:
    """A client with a key that a person created, with team and principal, as a person has them."""

    client: KeyClient
    creator: Person

    @property
    def team(self) -> Team:
        return self.creator.team

    @property
    def principal(self) -> KeyPrincipal:
        return KeyPrincipal(self.client.key)

    @property
    def own_memory(self) -> str:
        return f"user:{make_service_subject(self.client.key.service_account_id)}"


@pytest.fixture
def program(cast: Cast, api_key: Callable[..., KeyClient]) -> Program:
    """A program with a key that alice created."""
    return Program(api_key(cast.alice), cast.alice)


def make_key_runs(program: Program, workflow: Workflow, subject: str, count: int = 2) -> list[Run]:
    fields = {"subject": subject, "started_by": None, "api_key": program.client.key}
    return make_runs(program.creator, workflow, count, **fields)


def teach_for(program: Program, run: Run, key: str, value: str, namespace: str) -> None:
    origin = CallOrigin(str(run.pk), "n", key)
    caller = MemoryCaller(program.principal, program.team.id, origin=origin)
    services.remember(caller, namespace=namespace, key=key, value=value)


@pytest.fixture
def taught(cast: Cast, program: Program) -> tuple[Run, Run]:
    """Two runs of the key for Ben. The first one wrote for Ben, for the program and for all; the second one used it."""
    first, second = make_key_runs(program, make_workflow(cast.alice), "ben")
    teach_for(program, first, "learning:1", "Ben-canary", "user:ben")
    teach_for(program, first, "error:1", "Program-canary", program.own_memory)
    teach_for(program, first, "task:1", "Shared-canary", SHARED)
    origin = CallOrigin(str(second.pk), "n", "s")
    reader = MemoryCaller(program.principal, program.team.id, origin=origin)
    services.recall(reader, namespace="user:ben", key="learning:1", injected=True)
    return first, second


def test_runs_of_a_key_are_in_its_own_picture_with_what_they_wrote_for_whom_it_names(
    program: Program, taught: tuple[Run, Run]
):
    first, second = taught

    report = read_api(program)  # type: ignore[arg-type]  # has a client, too

    assert {one["id"] for one in report["runs"]} == {str(first.pk), str(second.pk)}
    assert {one["text"] for one in report["lessons"]} == {
        "Ben-canary",
        "Program-canary",
        "Shared-canary",
    }
    assert list_links(report) == {(str(first.pk), str(second.pk), True)}
    assert report["keys"] == []


def test_picture_of_a_key_has_nothing_of_other_keys_and_people(
    cast: Cast, program: Program, taught: tuple[Run, Run], api_key: Callable[..., KeyClient]
):
    other = Program(api_key(cast.alice), cast.alice)
    (run,) = make_key_runs(other, make_workflow(cast.alice, name="Other"), "ben", 1)
    teach_for(other, run, "learning:2", "Other-canary", other.own_memory)

    assert "Other-canary" not in json.dumps(read_api(program))  # type: ignore[arg-type]
    report = read_api(other)  # type: ignore[arg-type]
    assert [one["text"] for one in report["lessons"]] == ["Other-canary"]
    account = str(program.client.key.service_account_id)
    assert read_api(other, service_account=account)["runs"] == []  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["alice", "ada"])
def test_who_manages_keys_sees_counts_of_what_they_taught_and_no_contents(
    cast: Cast, program: Program, taught: tuple[Run, Run], name: str
):
    reader = getattr(cast, name)

    report = read_api(reader)
    page = reader.client.get(PAGE).content.decode()

    assert (report["runs"], report["lessons"], report["uses"]) == ([], [], [])
    assert report["keys"] == [
        {
            "service_account": str(program.client.key.service_account_id),
            "name": "test",
            "runs": 2,
            "lessons": {"task": 1, "error": 1, "learning": 1, "note": 0},
            "uses": 1,
        }
    ]
    assert "What API keys taught" in page
    assert "canary" not in page + json.dumps(report)
    assert str(taught[0].pk) not in page


def test_creator_of_a_key_chooses_its_picture_and_sees_no_private_memory_in_it(
    cast: Cast, program: Program, taught: tuple[Run, Run]
):
    account = str(program.client.key.service_account_id)

    report = read_api(cast.alice, service_account=account)
    page = cast.alice.client.get(PAGE, {"account": account}).content.decode()

    assert {one["id"] for one in report["runs"]} == {str(run.pk) for run in taught}
    assert {one["text"] for one in report["lessons"]} == {"Program-canary", "Shared-canary"}
    assert f'value="{account}" selected' in page
    assert "Ben-canary" not in page
    assert read_api(cast.ada, service_account=account)["runs"] == []


@pytest.mark.parametrize("name", ["bob", "vic", "carol"])
def test_others_see_nothing_of_what_keys_taught(cast: Cast, taught: tuple[Run, Run], name: str):
    reader = getattr(cast, name)

    assert read_api(reader)["keys"] == []
    assert "What API keys taught" not in reader.client.get(PAGE).content.decode()


def test_run_of_a_page_for_a_member_is_in_the_picture_of_this_member(
    alice: Person, bob: Person, program: Program
):
    (run,) = make_runs(
        alice,
        make_workflow(alice),
        1,
        started_by=None,
        subject_user=bob.user,
        api_key=program.client.key,
    )

    assert [one["id"] for one in read_api(bob)["runs"]] == [str(run.pk)]
    assert read_api(alice)["runs"] == []
