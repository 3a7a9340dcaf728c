"""Out as a file and in again: the same memory elsewhere, and nothing that nobody may bring."""

import io
import random
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import verify
from accounts.errors import NotAllowed
from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied, NotFound
from memory.core.provider import MAX_TOP_K
from memory.models import Change, Entry, Group, Policy, Revision
from tests.memory.fake_host import FakeHost
from tests.memory.services.conftest import at_door, in_run, trail
from tests.memory.services.exchanging import (
    AT,
    SHARED,
    brought,
    entry,
    exported,
    file_of,
    lines,
    revision,
    space,
)
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

WORDS = [
    "tea",
    "coffee",
    "garden",
    "river",
    "mountain",
    "train",
    "ticket",
    "doctor",
    "piano",
    "winter",
    "summer",
    "bicycle",
    "kitchen",
    "letter",
    "harbour",
    "museum",
    "violin",
    "breakfast",
    "holiday",
    "neighbour",
    "market",
    "window",
    "cinema",
    "forest",
]


ENTRIES = 90


def filled(person: Person, entries: int = ENTRIES) -> list[str]:
    """Groups that somebody left, changed values and groups, forgotten and quarantined ones; the questions."""
    dice, door = random.Random(7), at_door(person)
    for number in range(entries):
        services.remember(
            door,
            namespace=SHARED,
            key=f"k{number}",
            value=" ".join(dice.choices(WORDS, k=dice.randint(4, 14))),
            metadata={"group": f"g{number % 6}"} if number % 5 else {},
            tier=("long_term", "long_term", "quarantine")[number % 3]
            if number % 4
            else "long_term",
            importance=dice.random(),
        )
    for number in range(0, entries, 9):
        services.forget(door, namespace=SHARED, key=f"k{number}", reason="too old")
    for number in range(1, entries, 11):
        services.remember(
            door,
            namespace=SHARED,
            key=f"k{number}",
            value=" ".join(dice.choices(WORDS, k=6)),
            metadata={"group": f"g{(number + 3) % 6}"},
            reason="told anew",
        )
    return [" ".join(dice.choices(WORDS, k=dice.randint(1, 4))) for _ in range(60)]


def answers(person: Person, questions: list[str]) -> list[list[tuple[str, float | None]]]:
    door = at_door(person)
    return [
        [
            (one.key, one.score)
            for one in services.recall(door, namespace=SHARED, query_text=asked, top_k=MAX_TOP_K)
        ]
        for asked in questions
    ]


def past(person: Person) -> list[tuple[Any, ...]]:
    """Every revision of every entry, but for who is said to have made it."""
    with tenant([person.team.pk]):
        rows = Revision.objects.unscoped().filter(entry__namespace__text=SHARED)
        return sorted(
            rows.values_list(
                "entry__key", "number", "operation", "value", "tier", "importance", "reason", "at",
                "position", "entry__created_at", "entry__revision",
            ),
            key=str,
        )  # fmt: skip


def test_imported_into_an_empty_team_answers_as_the_exported_did(cast: Cast) -> None:
    alice, carol = cast.alice, cast.carol
    questions = filled(alice)
    before = answers(alice, questions)
    assert sum(bool(found) for found in before) > 50

    data = exported(services.export_namespace(at_door(alice), namespace=SHARED))
    report = brought(carol, io.BytesIO(data))

    assert (report.problems, report.refused_count, report.overwritten_count) == ([], 0, 0)
    assert report.new_count == lines(data)[0]["counts"]["entries"] - len(range(0, ENTRIES, 9))
    assert answers(carol, questions) == before
    assert past(carol) == past(alice)
    with tenant([carol.team.pk]):
        actors = set(Revision.objects.unscoped().values_list("actor", flat=True))
    assert actors == {f"file:{alice.principal.actor}"}


def test_what_is_told_after_an_import_stands_where_it_would_have_stood(cast: Cast) -> None:
    questions = filled(cast.alice)
    data = exported(services.export_namespace(at_door(cast.alice), namespace=SHARED))
    brought(cast.carol, io.BytesIO(data))

    for person in (cast.alice, cast.carol):
        for number in range(6):
            services.remember(
                at_door(person), namespace=SHARED, key=f"new{number}",
                value="tea in the garden by the river", metadata={"group": f"g{number}"},
            )  # fmt: skip

    assert answers(cast.carol, questions) == answers(cast.alice, questions)
    places = []
    for person in (cast.alice, cast.carol):
        with tenant([person.team.pk]):
            groups = Group.objects.unscoped().order_by("name")
            places.append(list(groups.values_list("name", "last_position")))
    assert places[0] == places[1]


def test_import_undoes_as_one_and_comes_again(cast: Cast) -> None:
    questions = filled(cast.alice, 60)
    services.remember(at_door(cast.alice), namespace="global:second", key="one", value=1)
    data = exported(services.export_team(at_door(cast.alice)))
    carol = at_door(cast.carol)
    services.remember(carol, namespace=SHARED, key="k1", value="mine", importance=0.1)

    report = brought(cast.carol, io.BytesIO(data), on_conflict="theirs")
    assert (len(report.changes), report.overwritten_count) == (2, 1)
    assert services.recall(carol, namespace="global:second")
    gone = services.undo_import(carol, changes=report.changes)

    assert gone == report.new_count + 1
    assert [one.value for one in services.recall(carol, namespace=SHARED)] == ["mine"]
    assert services.recall(carol, namespace="global:second") == []
    again = brought(cast.carol, io.BytesIO(data), on_conflict="theirs")
    assert (again.new_count, again.overwritten_count) == (report.new_count, 1)
    assert {k for found in answers(cast.carol, questions) for k, _score in found} == {
        k for found in answers(cast.alice, questions) for k, _score in found
    }
    assert verify(cast.carol.team.pk).intact


def test_dry_run_says_what_would_come_and_leaves_nothing(cast: Cast) -> None:
    filled(cast.alice, 40)
    data = exported(services.export_namespace(at_door(cast.alice), namespace=SHARED))

    would = brought(cast.carol, io.BytesIO(data), dry_run=True)

    with tenant([cast.carol.team.pk]):
        assert not Entry.objects.unscoped().exists()
        assert not Change.objects.unscoped().exists()
    assert (would.dry_run, would.changes) == (True, [])
    assert trail(cast.carol.team.pk) == [("memory.rehearsed", "import", True)]
    did = brought(cast.carol, io.BytesIO(data))
    assert (did.new_count, did.targets[0].new_count) == (
        would.new_count,
        would.targets[0].new_count,
    )


@pytest.mark.parametrize(
    ("on_conflict", "updated_at", "value", "counts"),
    [
        ("mine", "2999-01-01T00:00:00Z", "mine", (0, 0, 1)),
        ("theirs", "2001-01-01T00:00:00Z", "theirs", (0, 1, 0)),
        ("newer", "2001-01-01T00:00:00Z", "mine", (0, 0, 1)),
        ("newer", "2999-01-01T00:00:00Z", "theirs", (0, 1, 0)),
    ],
)
def test_conflict_goes_as_it_was_asked_for(
    alice: Person, on_conflict: str, updated_at: str, value: str, counts: tuple[int, int, int]
) -> None:
    kept = services.remember(at_door(alice), namespace=SHARED, key="k", value="mine")
    file = file_of(space(), entry(value="theirs", updated_at=updated_at))

    report = brought(alice, file, on_conflict=on_conflict)

    found = services.get_entry(at_door(alice), entry_id=kept.id)
    assert (found.value, (report.new_count, report.overwritten_count, report.kept_count)) == (
        value,
        counts,
    )
    assert found.revision == 1 + counts[1]


def test_overwritten_memory_gets_the_files_history_after_its_own(alice: Person) -> None:
    """Nothing is lost on either side, what was here is found as of then, and all of it is undone as one."""
    caller = at_door(alice)
    kept = services.remember(caller, namespace=SHARED, key="k", value="mine")
    services.remember(caller, namespace=SHARED, key="k", value="mine, later")
    before = timezone.now()
    line = entry(value="c", revision=3, updated_at="2999-01-01T00:00:00Z")
    past = [revision(line["id"], number, value) for number, value in enumerate("abc", 1)]

    report = brought(alice, file_of(space(), line, *past), on_conflict="theirs")

    found = services.list_revisions(caller, entry_id=kept.id)
    assert [(one.number, one.value) for one in reversed(found)] == [
        (1, "mine"),
        (2, "mine, later"),
        (3, "a"),
        (4, "b"),
        (5, "c"),
    ]
    told = [one for one in found if one.value in ("a", "b")]
    assert {(one.actor, one.run_id) for one in told} == {("file:user:elsewhere", "")}
    assert [one.reason for one in told] == ["2026-05-01T10:00+00:00 in the file: said b", "2026-05-01T10:00+00:00 in the file: said a"]  # fmt: skip
    (then,) = services.recall(caller, namespace=SHARED, key="k", as_of=before)
    assert then.value == "mine, later"
    services.undo_import(caller, changes=report.changes)
    assert services.get_entry(caller, entry_id=kept.id).value == "mine, later"


def test_lines_for_reading_alone_are_counted_and_it_is_said_why(alice: Person) -> None:
    line = entry()
    read = {"type": "read", "entry": line["id"], "revision": 1, "run_id": "r1", "at": AT}
    about = {"type": "about", "kind": "conversation", "data": {"turns": []}}

    report = brought(alice, file_of(space(), line, read, read, about))

    assert (report.new_count, report.skipped_count) == (1, 3)
    assert [(count, why.split(":")[0]) for count, why in report.skip_reasons] == [
        (1, "Conversations and runs of the user"),
        (2, "Recalls by runs"),
    ]


def test_what_is_there_already_is_left_alone(alice: Person) -> None:
    filled(alice, 30)
    data = exported(services.export_namespace(at_door(alice), namespace=SHARED))
    before = past(alice)

    report = brought(alice, io.BytesIO(data), on_conflict="theirs")

    assert (report.new_count, report.overwritten_count, report.changes) == (0, 0, [])
    assert report.same_count == 30 - len(range(0, 30, 9))
    assert [one for one in past(alice) if one[-1] == 1] == [one for one in before if one[-1] == 1]


def test_quota_and_policy_refuse_by_line_and_let_the_rest_in(alice: Person) -> None:
    with tenant([alice.team.pk]):
        Policy.objects.unscoped().create(
            team=alice.team, max_entries=2, max_value_bytes=20, allowed_prefixes=["global:"]
        )
    file = file_of(
        space(),
        entry("a", 1),
        entry("b", 2, value="x" * 50),
        entry("c", 3),
        entry("d", 4),
        space("user:ben"),
        entry("e", 5, namespace="user:ben"),
    )

    report = brought(alice, file)

    assert (report.new_count, report.refused_count) == (2, 3)
    assert [(one.line, one.key) for one in report.refusals] == [(4, "b"), (6, "d"), (7, "")]
    assert "20 are allowed" in report.refusals[0].why
    assert "policy" in report.refusals[2].why
    assert {one.key for one in services.recall(at_door(alice), namespace=SHARED)} == {"a", "c"}


def test_nobody_imports_where_they_may_not_write(cast: Cast) -> None:
    theirs = f"user:{cast.alice.user.pk}"
    services.remember(at_door(cast.alice), namespace=theirs, key="k", value="hers")
    talk = "conv:not-mine"
    file = file_of(
        space(theirs), entry(namespace=theirs, value="planted"), space(talk),
        entry("k", 2, namespace=talk), space(), entry("k", 3),
    )  # fmt: skip

    for person, came in (("bob", 1), ("ada", 1), ("vic", 0), ("carol", 1)):
        report = brought(cast.people[person], io.BytesIO(file.getvalue()), on_conflict="theirs")
        assert (report.new_count + report.same_count, report.refused_count) == (came, 3 - came), (
            person
        )

    (found,) = services.recall(at_door(cast.alice), namespace=theirs)
    assert (found.value, found.revision) == ("hers", 1)


def test_history_told_by_a_file_is_attached_to_no_run_change_or_person_here(cast: Cast) -> None:
    alice, bob = cast.alice, cast.bob
    mine = services.remember(in_run(alice), scope="global", key="k", value="learnt")
    line = entry(
        "planted", source={"actor": alice.principal.actor, "run_id": "r1", "node_id": "node"}
    )
    told = {
        name: line[name] for name in ("value", "metadata", "category", "tier", "importance")
    } | {"type": "revision", "entry": line["id"], "number": 1, "operation": "store",
         "actor": alice.principal.actor, "run_id": "r1", "at": AT}  # fmt: skip

    (target,) = brought(bob, file_of(space(), line, told)).targets

    assert target.new_count == 1
    with tenant([bob.team.pk]):
        row = Entry.objects.unscoped().get(key="planted")
        (revision,) = Revision.objects.unscoped().filter(entry=row)
        own = Revision.objects.unscoped().get(entry_id=mine.id)
    assert (row.source_actor, row.source_run) == (f"file:{alice.principal.actor}", "file:r1")
    assert (revision.actor, revision.run_id) == (f"file:{alice.principal.actor}", "file:r1")
    assert revision.change_id != own.change_id


def test_places_far_apart_in_a_file_take_no_room_of_their_own(alice: Person) -> None:
    far = [
        entry(f"k{n}", n + 1, position=n * 10**7 + 1, metadata={"group": "g"}) for n in range(20)
    ]

    assert brought(alice, file_of(space(), *far)).new_count == 20

    with tenant([alice.team.pk]):
        assert Group.objects.unscoped().get().last_position < 200


def test_person_takes_all_that_is_theirs_and_nothing_else(cast: Cast) -> None:
    alice, bob = cast.alice, cast.bob
    own, play = str(alice.user.pk), f"ben@{alice.user.pk}"
    for who, value in ((own, "my secret"), (play, "ben's tea")):
        services.remember(in_run(alice, user_id=who), scope="user", key="k", value=value)
    services.recall(in_run(alice), scope="user", query_text="secret")
    services.remember(in_run(bob), scope="user", key="k", value="bob's")
    services.remember(at_door(alice), namespace=SHARED, key="k", value="everybody's")

    found = lines(exported(services.export_person(at_door(alice), subject=own)))

    assert found[0]["personas"] == ["ben"]
    kinds = [one.get("type") for one in found]
    assert [one["value"] for one in found if one.get("type") == "entry"] == [
        "my secret",
        "ben's tea",
    ]
    assert (kinds.count("read"), found[0]["left_out"]) == (1, 0)
    assert ("memory.exported", f"user:{own}", True) in trail(alice.team.pk)


@pytest.mark.parametrize("name", ["bob", "vic", "ada", "carol"])
def test_nobody_exports_what_is_remembered_about_somebody_else(cast: Cast, name: str) -> None:
    own = str(cast.alice.user.pk)
    services.remember(in_run(cast.alice), scope="user", key="k", value="my secret")

    with pytest.raises(NotFound):
        services.export_person(at_door(cast.people[name]), subject=own)
    with pytest.raises(NotFound):
        services.export_namespace(at_door(cast.people[name]), namespace=f"user:{own}")


def test_own_export_of_another_team_becomes_ones_own_here(cast: Cast) -> None:
    own = str(cast.alice.user.pk)
    services.remember(in_run(cast.alice), scope="user", key="k", value="green tea")
    data = exported(services.export_person(at_door(cast.alice), subject=own))

    refused = brought(cast.carol, io.BytesIO(data))
    assert (refused.new_count, refused.refused_count) == (0, 1)
    report = brought(cast.carol, io.BytesIO(data), as_mine=True)

    assert [(one.name_in_file, one.to, one.new_count) for one in report.targets] == [
        (f"user:{own}", f"user:{cast.carol.user.pk}", 1)
    ]
    (found,) = services.recall(in_run(cast.carol), scope="user")
    assert found.value == "green tea"


def test_team_export_says_how_much_is_left_out(cast: Cast) -> None:
    services.remember(in_run(cast.bob), scope="user", key="k", value="bob's")
    services.remember(at_door(cast.alice), namespace=SHARED, key="k", value="everybody's")

    made = services.export_team(at_door(cast.ada))

    found = lines(exported(made))
    assert (made.header.left_out, found[0]["left_out"]) == (1, 1)
    assert [one["value"] for one in found if one.get("type") == "entry"] == ["everybody's"]
    for person in (cast.bob, cast.vic):
        with pytest.raises(NotAllowed):
            services.export_team(at_door(person))


def test_export_is_in_the_trail_by_namespace_with_how_many(alice: Person) -> None:
    filled(alice, 12)

    exported(services.export_namespace(at_door(alice), namespace=SHARED))

    with tenant([alice.team.pk]):
        row = AuditEntry.objects.unscoped().get(action="memory.exported")
    assert (row.subject, row.detail["keys"]) == (SHARED, 12)
    assert row.detail["bytes"] > 1_000


def test_undo_of_an_import_that_is_not_ones_own_is_refused(cast: Cast) -> None:
    report = brought(cast.alice, file_of(space(), entry()))

    for person in (cast.vic, cast.carol):
        with pytest.raises((NotFound, AccessDenied)):
            services.undo_import(at_door(person), changes=report.changes)
    assert len(services.recall(at_door(cast.alice), namespace=SHARED)) == 1


@pytest.mark.parametrize(
    ("scopes", "status", "found"),
    [
        ({"memory:write"}, 404, []),
        ({"memory:write", "runs:read"}, 404, []),
        ({"memory:write", "memory:read"}, 200, ["entry"]),
        ({"memory:write", "memory:read", "runs:read"}, 200, ["entry", "about"]),
    ],
)
def test_key_takes_of_a_person_it_names_what_it_may_read(
    alice: Person,
    api_key: Any,
    scopes: set[str],
    status: int,
    found: list[str],
    fake_host: FakeHost,
) -> None:
    caller = in_run(alice, outside=True, user_id="mia")
    services.remember(caller, scope="user", key="k", value="mia's secret")
    fake_host.records = [("turn", {"said": "hello"})]

    answer = api_key(alice, scopes=scopes).get("/api/v1/memory/subjects/mia/export")

    assert answer.status_code == status
    body = answer.getvalue() if status != 200 else b"".join(answer.streaming_content)
    assert (b"mia's secret" in body) == ("entry" in found)
    assert (b"hello" in body) == ("about" in found)
