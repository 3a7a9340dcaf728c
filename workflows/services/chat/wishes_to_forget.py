"""What a turn of a chat took out of memory: what was forgotten, what no longer holds, the choice among several, and the undo.

The state is that of memory now, so that a page says the same before and after a reload.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from accounts.errors import NotFound
from accounts.principals import Principal
from workflows import memory_app
from workflows.engine.runtime.events import (
    MemoryEnded,
    MemoryForgetAsked,
    MemoryForgotten,
    MemoryWritten,
)
from workflows.models import Run, RunEvent


WISH_EVENTS = (MemoryForgotten.name, MemoryForgetAsked.name)
# Memory of the conversation or of the run is not reported to its person.
HIDDEN_SCOPES = frozenset({"conversation", "run", "run_metadata"})

UNDONE = "undone in the chat"
MAX_SHOWN = 20  # entries; who forgets everything sees how many more there are


@dataclass(frozen=True, slots=True)
class Wishes:
    """The wishes of one turn concern the forgotten entries, those to choose from, and those that no longer hold since, with
    their states now.
    """

    forgotten: Sequence["memory_app.ForgettableEntry"] = ()
    choices: Sequence["memory_app.ForgettableEntry"] = ()
    former: Sequence["memory_app.ForgettableEntry"] = ()
    has_found_nothing: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.forgotten or self.choices or self.former or self.has_found_nothing)

    @property
    def is_open(self) -> bool:
        """Return whether the person still has to choose."""
        return bool(self.choices) and not any(entry.is_forgotten for entry in self.choices)

    @property
    def shown_choices(self) -> "Sequence[memory_app.ForgettableEntry]":
        return self.choices[:MAX_SHOWN]

    @property
    def hidden_choice_count(self) -> int:
        return max(0, len(self.choices) - MAX_SHOWN)

    @property
    def settled(self) -> "Sequence[memory_app.ForgettableEntry]":
        """Return what was forgotten or ended, undone since or not, and what the person chose."""
        chosen = [entry for entry in self.choices if entry.is_forgotten]
        return [*self.forgotten, *chosen, *self.former]

    @property
    def shown_settled(self) -> "Sequence[memory_app.ForgettableEntry]":
        return self.settled[:MAX_SHOWN]

    @property
    def hidden_settled_count(self) -> int:
        return max(0, len(self.settled) - MAX_SHOWN)


NO_WISHES = Wishes()


@dataclass(slots=True)
class _Found:
    steps: list[tuple[str, str]] = field(default_factory=list)
    choice_ids: list[UUID] = field(default_factory=list)
    former_ids: list[UUID] = field(default_factory=list)
    is_unmet: bool = False


def load_wishes(
    principal: Principal, team_id: UUID, events: Iterable[RunEvent]
) -> Mapping[UUID, Wishes]:
    """Return the wishes by run. Of the events, those about memory that is the person's or shared count."""
    wishes: dict[UUID, _Found] = defaultdict(_Found)
    for event in events:
        if takes_out(event) and event.data.get("scope") not in HIDDEN_SCOPES:
            _add(wishes[event.run_id], event)
    if not wishes:
        return {}
    entries = memory_app.load_forgettable(
        memory_app.MemoryCaller(principal, team_id),
        entry_ids=[
            entry_id
            for each in wishes.values()
            for entry_id in (*each.choice_ids, *each.former_ids)
        ],
        steps=[step for each in wishes.values() for step in each.steps],
    )
    by_id = {entry.id: entry for entry in entries if entry.step is None}
    return {
        run_id: Wishes(
            [entry for entry in entries if entry.step in each.steps],
            _pick(by_id, each.choice_ids),
            [entry for entry in _pick(by_id, each.former_ids) if not entry.is_forgotten],
            each.is_unmet and not each.steps and not each.choice_ids,
        )
        for run_id, each in wishes.items()
    }


def takes_out(event: RunEvent) -> bool:
    """Return whether the event says that something was forgotten, may be meant, or no longer holds."""
    return event.name in (*WISH_EVENTS, MemoryEnded.name) or bool(event.data.get("replaced"))


def _pick(
    entries: Mapping[UUID, "memory_app.ForgettableEntry"], ids: Iterable[UUID]
) -> "list[memory_app.ForgettableEntry]":
    return [entries[entry_id] for entry_id in dict.fromkeys(ids) if entry_id in entries]


def find_wishes(principal: Principal, run: Run) -> Wishes:
    """Return the wishes of a turn; none of a dry run, which changes nothing. The caller may see the run."""
    if not memory_app.is_on() or is_dry_run(run):
        return NO_WISHES
    events = RunEvent.objects.visible_to(principal).filter(
        run=run, name__in=(*WISH_EVENTS, MemoryEnded.name, MemoryWritten.name)
    )
    return load_wishes(principal, run.team_id, events.order_by("seq")).get(run.pk, NO_WISHES)


def is_dry_run(run: Run) -> bool:
    return (run.debug or {}).get("memory") == "sandbox"


def forget_chosen(principal: Principal, *, run: Run, entry_ids: Collection[str]) -> None:
    """Forget the entries, which are among those that the chat asked about, and what they replaced. Raise NotFound for any other."""
    wishes = find_wishes(principal, run)
    selection = _select(wishes.choices, entry_ids)
    living = [entry.id for entry in selection if not entry.is_forgotten]
    if living:
        caller = memory_app.MemoryCaller(principal, run.team_id)
        memory_app.forget_with_former(caller, entry_ids=living, reason="chosen in the chat")


def restore_forgotten(principal: Principal, *, run: Run, entry_id: str) -> None:
    """Restore an entry that the turn forgot or ended, or that was chosen. Raise NotFound for any other.

    Raise AlreadyExists if there is another entry in its place by now.
    """
    wishes = find_wishes(principal, run)
    entry = _select([*wishes.forgotten, *wishes.choices, *wishes.former], [entry_id])[0]
    caller = memory_app.MemoryCaller(principal, run.team_id)
    if entry.is_forgotten:
        undo = memory_app.restore_with_former if entry in wishes.choices else memory_app.restore
        undo(caller, entry_id=entry.id, reason=UNDONE)
    elif entry.is_former and entry in wishes.former:
        memory_app.hold_again(caller, entry_id=entry.id, reason=UNDONE)


def _select(
    entries: Iterable["memory_app.ForgettableEntry"], ids: Collection[str]
) -> list["memory_app.ForgettableEntry"]:
    selected = [entry for entry in entries if str(entry.id) in ids]
    if not ids or {str(entry.id) for entry in selected} != set(ids):
        raise NotFound
    return selected


def _add(wish: _Found, event: RunEvent) -> None:
    if _is_unmet(event):
        wish.is_unmet = True
    elif event.name == MemoryForgotten.name:
        wish.steps.append((str(event.run_id), str(event.data.get("node", ""))))
    elif event.name == MemoryForgetAsked.name:
        wish.choice_ids += _list_ids(event.data.get("entries"))
    else:
        wish.former_ids += _list_ids(event.data.get("replaced") or event.data.get("entries"))


def _list_ids(entries: Iterable[Mapping[str, Any]] | None) -> list[UUID]:  # Any: JSON
    """Return the ids; entries of another place than the database have none."""
    return [UUID(str(entry["id"])) for entry in entries or () if entry.get("id")]


def _is_unmet(event: RunEvent) -> bool:
    """Return whether a person asked to forget something that memory didn't have."""
    is_of_node = event.data.get("key") is not None or event.data.get("filter") is not None
    return event.name == MemoryForgotten.name and not event.data.get("count") and not is_of_node
