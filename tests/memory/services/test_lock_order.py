"""One order of locks (docs/adr/0009-one-order-of-locks.md): what each service locks is heard and held against it."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.tenancy import tenant
from memory import services
from memory.logic.curation.work import FinishedWork
from memory.models import Namespace
from memory.models.jobs import JobStatus
from memory.services import CallOrigin
from memory.services.entries.bulk import BulkAction, Selection, apply_action
from memory.services.erasure.erasure_jobs import order_erasure
from memory.services.recall.search import EntrySearch
from memory.services.review import proposals, review_decisions
from memory.services.review.review_queue import list_queue
from memory.services.review.review_sample import add_sample_items
from memory.upkeep.erasure import run_erasure
from tests.memory.services.conftest import at_door, in_run
from tests.memory.services.curating import answer, curated, learns, scripted
from tests.memory.services.exchanging import brought, entry, exported, file_of, space
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

# Backwards by id as they are made, and neither forwards nor backwards by name.
PLACES = ("global:m", "global:z", "global:a")

LOCK = re.compile(r'FROM "?(\w+)"?\b.* FOR (?:NO KEY )?UPDATE', re.S)
CLAIMED = re.compile(r"FROM memory_lock_for_write\(.*?p_namespace => '([^']+)'::uuid")
CHANGED = re.compile(r'^(?:UPDATE|DELETE FROM) "?(\w+)"?')
ERASED = re.compile(r"memory_erase_namespace\('([0-9a-f-]{36})'")
CHAIN = 'INSERT INTO "accounts_auditentry"'

# What is taken first stands first; within namespaces the id decides.
CLASSES = (
    ("workflows_run", "workflows_conversation", "workflows_task", "memory_erasure"),
    ("memory_namespace",),
    (
        "memory_change",
        "memory_proposal",
        "memory_curation",
        "memory_emergencyaccess",
        "memory_policy",
        "memory_wikijob",
    ),
    (CHAIN,),
)
RANK = {table: rank for rank, tables in enumerate(CLASSES) for table in tables}

Lock = tuple[int, str]


def locks_in(statements: Iterable[str], ids: dict[str, str]) -> list[Lock]:
    """In the order in which they were taken, each once. ``ids``: of namespaces by what they are called."""
    found: dict[Lock, None] = {}
    for statement in statements:
        found |= dict.fromkeys(_locks_of(statement, ids))
    return list(found)


def _locks_of(statement: str, ids: dict[str, str]) -> list[Lock]:
    if statement.startswith(CHAIN):
        return [(RANK[CHAIN], "")]
    if erased := ERASED.search(statement):
        return [(RANK["memory_namespace"], erased[1])]
    if claimed := CLAIMED.search(statement):
        return [
            (RANK["memory_namespace"], one)
            for one in ids.values()
            if one.replace("-", "") == claimed[1]
        ]
    found = LOCK.search(statement) or CHANGED.search(statement)
    if found is None or found[1] not in RANK:
        return []
    if found[1] != "memory_namespace":
        return [(RANK[found[1]], "")]
    named = [one for text, one in ids.items() if f"'{text}'" in statement or one in statement]
    if len(named) > 1:
        assert 'ORDER BY "memory_namespace"."id" ASC FOR UPDATE' in statement
    return [(RANK["memory_namespace"], one) for one in sorted(named)]


def say(person: Person, place: str, key: str, **more: Any) -> str:
    made = services.remember(
        at_door(person), namespace=place, key=key, value=f"{place} {key}", **more
    )
    return made.id


def _everywhere(person: Person, key: str = "k") -> list[str]:
    return [say(person, place, key) for place in PLACES]


def _held(person: Person) -> list[UUID]:
    found = _everywhere(person)
    for one in found:
        services.move(at_door(person), move="quarantine", entry_ids=[one])
    return [UUID(one) for one in reversed(found)]


def _written_by_a_run(person: Person) -> None:
    for place in PLACES:
        app = place.partition(":")[2]
        run = replace(in_run(person, run_id="r9", app_id=app), origin=CallOrigin("r9", "n"))
        services.remember(run, scope="global", key="k", value="v")


def _store(person: Person) -> Callable[[], Any]:
    say(person, PLACES[0], "k")
    return lambda: say(person, PLACES[0], "k2")


def _looked_then_written(person: Person) -> Callable[[], Any]:
    """As the page for a new page of knowledge does it: one look, one write, one request."""
    place = PLACES[0]
    say(person, place, "k")

    def act() -> None:
        services.get_knowledge_base(at_door(person), namespace=place)
        services.write_pages(at_door(person), namespace=place, pages=[{"title": "Bees"}])

    return act


def _page_edited(person: Person) -> Callable[[], Any]:
    caller = at_door(person)
    pages = [{"title": "Bees", "content": "They hum."}]
    (kept,) = services.write_pages(caller, namespace=PLACES[0], pages=pages)

    def act() -> None:
        page = services.open_page(caller, entry_id=kept.entry.id)
        services.rewrite_page(
            caller,
            entry_id=kept.entry.id,
            if_revision=page.entry.revision,
            changes={"content": "They sting."},
        )

    return act


def _run_undone(person: Person) -> Callable[[], Any]:
    _everywhere(person)
    _written_by_a_run(person)
    return lambda: services.undo_run(at_door(person), run_id="r9")


def _undoing_undone(person: Person) -> Callable[[], Any]:
    _everywhere(person)
    _written_by_a_run(person)
    done = services.undo_run(at_door(person), run_id="r9")
    return lambda: services.undo(at_door(person), change_id=str(done.change_id))


def _many_accepted(person: Person) -> Callable[[], Any]:
    held = _held(person)
    return lambda: review_decisions.accept_many(at_door(person), item_ids=held)


def _many_rejected(person: Person) -> Callable[[], Any]:
    held = _held(person)
    return lambda: review_decisions.reject_many(at_door(person), item_ids=held)


def _many_taken_back(person: Person) -> Callable[[], Any]:
    held = _held(person)
    review_decisions.accept_many(at_door(person), item_ids=held)
    return lambda: review_decisions.revert_decisions(at_door(person), item_ids=held)


def _file() -> Any:
    parts = [
        line
        for number, place in enumerate((PLACES[2], PLACES[0], PLACES[1]), 1)
        for line in (space(place), entry("told", number, namespace=place))
    ]
    return file_of(*parts)


def _imported(person: Person, *, dry_run: bool = False) -> Callable[[], Any]:
    _everywhere(person)
    return lambda: brought(person, _file(), dry_run=dry_run)


def _import_undone(person: Person) -> Callable[[], Any]:
    _everywhere(person)
    done = brought(person, _file())
    return lambda: services.undo_import(at_door(person), changes=done.changes)


def _forgotten_in_bulk(person: Person) -> Callable[[], Any]:
    _everywhere(person)
    chosen = Selection(PLACES[0], search=EntrySearch())
    return lambda: apply_action(
        at_door(person), action=BulkAction.FORGET, selection=chosen, expected=1
    )


def _proposal(person: Person) -> UUID:
    add_sample_items(at_door(person))
    return next(one.id for one in list_queue(at_door(person)).items if one.kind == "add")


def _proposal_applied(person: Person) -> Callable[[], Any]:
    one = _proposal(person)
    return lambda: proposals.apply_proposal(at_door(person), proposal_id=one)


def _proposal_rejected(person: Person) -> Callable[[], Any]:
    one = _proposal(person)
    return lambda: proposals.reject_proposal(at_door(person), proposal_id=one)


def _proposal_undone(person: Person) -> Callable[[], Any]:
    one = _proposal(person)
    proposals.apply_proposal(at_door(person), proposal_id=one)
    return lambda: proposals.undo_proposal(at_door(person), proposal_id=one)


def _curated(person: Person) -> Callable[[], Any]:
    learns(person)
    ask, _asked = scripted(answer(key_learnings=["Water boils at 100 degrees"]))
    return lambda: curated(person, FinishedWork("t"), ask=ask)


def _erased(person: Person) -> Callable[[], Any]:
    say(person, f"user:{person.user.pk}", "k")
    services.remember(in_run(person, conversation_id="c1"), scope="user", key="k2", value=2)
    subject = str(person.user.pk)
    order = order_erasure(at_door(person), subject=subject, confirmation=person.user.email)

    def act() -> None:
        run_erasure(person.team.pk, order.pk)
        with tenant([person.team.pk]):
            order.refresh_from_db()
        assert order.status == JobStatus.DONE

    return act


def _exported(person: Person) -> Callable[[], Any]:
    _everywhere(person)
    return lambda: exported(services.export_team(at_door(person)))


ACTS: dict[str, Callable[[Person], Callable[[], Any]]] = {
    "store": _store,
    "look, then write a page": _looked_then_written,
    "edit a page": _page_edited,
    "undo what a run wrote in three places": _run_undone,
    "undo that in three places": _undoing_undone,
    "accept many": _many_accepted,
    "reject many": _many_rejected,
    "take many back": _many_taken_back,
    "import": _imported,
    "try an import": lambda person: _imported(person, dry_run=True),
    "undo an import": _import_undone,
    "forget in bulk": _forgotten_in_bulk,
    "apply a proposal": _proposal_applied,
    "reject a proposal": _proposal_rejected,
    "undo a proposal": _proposal_undone,
    "curate": _curated,
    "erase a person": _erased,
    "export": _exported,
}


def heard(person: Person, act: Callable[[], Any], *, in_a_request: bool) -> list[list[Lock]]:
    """By transaction: outside a request each door's is its own."""
    with CaptureQueriesContext(connection) as asked:
        if in_a_request:
            with tenant([person.team.pk]):
                act()
        else:
            act()
    with tenant([person.team.pk]):
        named = Namespace.objects.unscoped().values_list("text", "pk")
        ids = {text: str(pk) for text, pk in named}
    said = [one["sql"] for one in asked.captured_queries]
    return [locks_in(part, ids) for part in _transactions(said)]


def _transactions(statements: Iterable[str]) -> list[list[str]]:
    """The test's own is around them all: what is outermost here is a savepoint in it."""
    parts: list[list[str]] = [[]]
    depth = 0
    for one in statements:
        parts[-1].append(one)
        depth += one.startswith("SAVEPOINT") - one.startswith("RELEASE SAVEPOINT")
        if depth == 0:
            parts.append([])
    return parts


# Workers alone do these, in several transactions one after the other.
UNATTENDED = {"curate", "erase a person"}


@pytest.mark.parametrize(
    ("name", "in_a_request"),
    [(name, True) for name in ACTS if name not in UNATTENDED] + [(name, False) for name in ACTS],
)
def test_locks_are_taken_in_the_one_order(name: str, in_a_request: bool, alice: Person) -> None:
    act = ACTS[name](alice)

    found = heard(alice, act, in_a_request=in_a_request)

    assert any(found)
    assert found == [sorted(part) for part in found]


def test_request_writes_its_trail_last_however_often_it_looked(alice: Person) -> None:
    act = _looked_then_written(alice)

    with CaptureQueriesContext(connection) as asked, tenant([alice.team.pk]):
        act()

    said = [one["sql"] for one in asked.captured_queries]
    lines = [number for number, one in enumerate(said) if one.startswith(CHAIN)]
    assert len(lines) == 1
    late = said[lines[0] + 1 :]
    assert not [one for one in late for sign in (LOCK, CLAIMED, CHANGED) if sign.search(one)]


def test_wrong_order_is_heard() -> None:
    ids = {"a": "01", "b": "02"}
    said = [
        """SELECT * FROM "memory_namespace" WHERE text = 'b' FOR UPDATE""",
        """SELECT (result.entry).* FROM memory_lock_for_write(p_team => '00'::uuid, p_namespace => '01'::uuid) AS result""",
        f"{CHAIN} (...)",
        """UPDATE "memory_proposal" SET x = 1""",
    ]

    found = locks_in(said, ids)

    assert found == [(1, "02"), (1, "01"), (3, ""), (2, "")]
    assert found != sorted(found)
