"""Every field of an entry's state reaches every place where entries are kept, shown and sent, a new one too.

Each test gives all fields another value than their default. The last one runs all of them again with a made-up field.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, get_type_hints

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from config.env import ROOT
from memory import services
from memory.core.entry_codec import CONTENT, PARAMS, STATE, get_columns, get_state, to_json
from memory.core.policy import NO_LIMITS
from memory.core.records import (
    EntryContent,
    EntryState,
    MemoryEntry,
    MemoryQuery,
    PromptUse,
    StoreParams,
    Tier,
)
from memory.logic.entries.tiers import TierAction, build_transition
from memory.logic.entries.write_batch import build_restore_params
from memory.logic.review.proposals import ChangeKind, Proposal
from memory.models import Entry, Namespace, Revision
from memory.models import Proposal as ProposalRow
from memory.models.entries import Operation
from memory.providers.base import MemoryProvider
from memory.providers.http.answers import parse_entry as entry_of_answer
from memory.providers.in_memory import InMemoryProvider
from memory.providers.postgres import PostgresProvider, bulk, rows
from memory.providers.redis.rows import encode_body
from memory.providers.redis.rows import parse_entry as entry_of_row
from memory.schemas.entries import EntryEditIn, EntryRevisionOut, StoreIn, entry_out
from memory.services.review.proposal_rows import to_proposal, to_row_fields
from memory.services.sandbox.dry_run import entry_from_json, entry_to_json
from memory.views.entries.revisions import _list_field_changes
from tests.memory.services.conftest import at_door, in_run
from tests.memory.services.exchanging import exported
from tests.support.cast import Cast, Person
from workflows.models import DryRunChange, Run
from workflows.services.debugging import sandbox_memory


pytestmark = pytest.mark.django_db

HERE = "global:app"
THERE = "global:elsewhere"
EARLIER = datetime(2000, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
LATER = datetime(2100, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
# Another value than the default, by type.
OTHER: Mapping[object, Any] = {
    Any: {"said": "tea"},
    Mapping[str, Any]: {"group": "g"},
    Tier: Tier.WORKING,
    PromptUse: PromptUse.NEVER,
    str: "other",
    float: 0.75,
    int: 1,
    datetime | None: LATER,
}
_NEW_TYPES = {name for name, hint in get_type_hints(EntryState).items() if hint not in OTHER}
assert not _NEW_TYPES, f"Add an example of the type of {sorted(_NEW_TYPES)} to OTHER."
_STATE = {name: OTHER[hint] for name, hint in get_type_hints(EntryState).items()}
_STATE["valid_from"] = EARLIER  # and not when it stops holding
CHANGED: dict[str, Any] = {name: _STATE[name] for name in STATE}
CONTENT_CHANGED: dict[str, Any] = {name: _STATE[name] for name in CONTENT}
ENTRY = MemoryEntry("0190" + "0" * 28, HERE, "k", **CHANGED)
PARAMS_CHANGED = StoreParams(HERE, "k", **CONTENT_CHANGED)
DEFAULT = StoreParams(HERE, "k", value=None)


def content(source: object) -> dict[str, Any]:
    return get_state(source, CONTENT)


def without_position(source: object) -> dict[str, Any]:
    """Return the state without the position, which is a new one where an entry comes back into its group."""
    return {**get_state(source), "position": 0}


def remember(person: Person) -> MemoryEntry:
    """Remember an entry with a content that is nowhere the default, but with an end, in its first revision."""
    return services.remember(
        at_door(person), namespace=HERE, key="k", ttl_seconds=3600, raw=True, **CONTENT_CHANGED
    )


def test_default_is_nowhere_the_changed_value() -> None:
    default = EntryState(value=None)

    assert [name for name in STATE if getattr(default, name) == CHANGED[name]] == []
    assert {field.name for field in fields(EntryContent)} == set(CONTENT)


@pytest.fixture(params=["in_memory", "postgres"])
def provider(request: pytest.FixtureRequest, cast: Cast) -> MemoryProvider:
    return InMemoryProvider() if request.param == "in_memory" else PostgresProvider(cast.team_a.id)


def test_provider_keeps_the_content(provider: MemoryProvider) -> None:
    stored = provider.store(PARAMS_CHANGED)
    moment = stored.updated_at
    provider.store(DEFAULT)
    (reset,) = provider.recall(MemoryQuery(HERE, key="k"))
    provider.store(PARAMS_CHANGED)
    (recalled,) = provider.recall(MemoryQuery(HERE, key="k"))

    (earlier,) = provider.recall(MemoryQuery(HERE, key="k", as_of=moment))
    assert content(stored) == content(recalled) == content(earlier) == CONTENT_CHANGED
    assert content(reset) == content(DEFAULT)
    past = [content(entry) for entry in provider.history(HERE, "k")]
    assert past == [CONTENT_CHANGED, content(DEFAULT), CONTENT_CHANGED]


def test_redis_row_keeps_the_content() -> None:
    entry = entry_of_row(HERE, f"id|1|0|0||5|0|g\n{encode_body(PARAMS_CHANGED)}")

    assert content(entry) == CONTENT_CHANGED


def test_other_installation_gets_and_gives_all(alice: Person) -> None:
    """What the provider over HTTP sends and reads is the API of the other installation."""
    body = StoreIn(**json.loads(json.dumps(to_json(PARAMS_CHANGED, PARAMS))))
    stored = services.remember(at_door(alice), **{**body.dict(), "source": None, "raw": True})
    answer = entry_out(ENTRY).model_dump(mode="json")

    assert content(stored) == CONTENT_CHANGED
    assert get_state(entry_of_answer(answer)) == CHANGED


def test_edit_changes_all(alice: Person) -> None:
    door = at_door(alice)
    entry = services.remember(door, namespace=HERE, key="k", value=1, tier="working")
    body = EntryEditIn(**CONTENT_CHANGED)

    edited = services.edit(door, entry_id=entry.id, if_revision=1, **body.dict(exclude_unset=True))

    assert content(edited) == CONTENT_CHANGED


def test_restore_brings_all_back(alice: Person) -> None:
    entry = remember(alice)
    services.remember(at_door(alice), namespace=HERE, key="k", value=1, raw=True)

    restored = services.restore(at_door(alice), entry_id=entry.id, revision=1)

    assert without_position(restored) == without_position(entry)


def test_undo_of_many_brings_all_back(alice: Person) -> None:
    entry = remember(alice)
    services.remember(at_door(alice), namespace=HERE, key="k", value=1, raw=True)

    with tenant([alice.team.id]):
        namespace = rows.claim_namespace(alice.team.id, HERE)
        row = Entry.objects.unscoped().get(pk=entry.id)
        first = Revision.objects.unscoped().get(entry=row, number=1)
        act = rows.WriteContext(Operation.RESTORE, timezone.now())
        bulk.restore_entries(namespace, [(row, first)], act, NO_LIMITS)
        row.refresh_from_db()
        newest = Revision.objects.unscoped().get(entry=row, number=3)

    assert without_position(row) == without_position(newest) == without_position(entry)


def test_export_and_import_bring_all(alice: Person) -> None:
    door = at_door(alice)
    remember(alice)
    services.remember(door, namespace=HERE, key="k", value=1, raw=True)
    remember(alice)
    services.remember(door, namespace=THERE, key="k", value=1, raw=True)
    data = exported(services.export_namespace(door, namespace=HERE))

    for target in (THERE, "global:new"):
        done = services.import_file(
            door, io.BytesIO(data), into={HERE: target}, on_conflict="theirs", dry_run=False
        )
        assert (done.refusals, done.problems) == ([], [])

    with tenant([alice.team.id]):
        here, new, there = map(past_of, (HERE, "global:new", THERE))
        entries = Entry.objects.unscoped().filter(namespace__text__in=(HERE, "global:new", THERE))
        states = [content(row) for row in entries]
    assert [get_state(row) for row in new] == [get_state(row) for row in here]
    assert states == [CONTENT_CHANGED] * 3
    assert [content(row) for row in there[1:]] == [content(row) for row in here]


def past_of(namespace: str) -> list[Revision]:
    revisions = Revision.objects.unscoped().filter(entry__namespace__text=namespace)
    return list(revisions.order_by("number"))


def test_proposal_and_moves_keep_the_content() -> None:
    proposal = Proposal("1", ChangeKind.ADD, HERE, (), PARAMS_CHANGED, "", "")
    row = ProposalRow(namespace=Namespace(text=HERE), state="open", **to_row_fields(proposal))
    promoted = build_transition(ENTRY, TierAction.PROMOTE, Tier.LONG_TERM)

    assert to_proposal(row).new == PARAMS_CHANGED
    assert content(build_restore_params(ENTRY)) == CONTENT_CHANGED
    metadata, tier = promoted.metadata, promoted.tier
    assert content(promoted) == {**CONTENT_CHANGED, "metadata": metadata, "tier": tier}


def test_dry_run_keeps_all() -> None:
    assert entry_from_json(json.loads(json.dumps(entry_to_json(ENTRY)))) == ENTRY


def test_kept_change_of_a_dry_run_is_remembered_whole(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = in_run(alice)
    monkeypatch.setattr(sandbox_memory, "build_memory_caller", lambda *_: caller)
    run = Run(team=alice.team)
    change = DryRunChange(run=run, scope="user", key="k", entry=entry_to_json(ENTRY))

    sandbox_memory._apply(run, change)

    (entry,) = services.recall(caller, scope="user", key="k")
    assert content(entry) == CONTENT_CHANGED


def test_pages_and_api_show_what_a_revision_changed() -> None:
    before = Revision(**get_columns(EntryState(value=None)))
    after = Revision(**get_columns(ENTRY), number=2, operation=Operation.STORE)

    fields_shown = list(_list_field_changes(before, after))
    sent = EntryRevisionOut.from_object(after)

    has_own_form = {"value", "metadata", "position"}
    assert len(fields_shown) == len({*STATE} - has_own_form) + len(ENTRY.metadata)
    assert content(sent) == CONTENT_CHANGED


@pytest.mark.slow
@pytest.mark.skipif("mood" in STATE, reason="this is that run")
def test_new_field_is_lost_nowhere() -> None:
    """Add a field where ``docs/extend/add-a-memory-field.md`` says, and run the tests above again."""
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.made_up_field", "-p", "no:randomly",
         "-p", "no:cacheprovider", __file__],
        cwd=ROOT, env={**os.environ, "PYTEST_XDIST_WORKER": "mood"}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
