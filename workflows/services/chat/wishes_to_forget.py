"""What a person asked a chat to forget: what was forgotten, the choice among several, and the undo of both.

The state is that of memory now, so that a page says the same before and after a reload.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from accounts.errors import NotFound
from accounts.principals import Principal
from workflows import memory_app
from workflows.engine.runtime.events import MemoryForgetAsked, MemoryForgotten
from workflows.models import Run, RunEvent


WISH_EVENTS = (MemoryForgotten.name, MemoryForgetAsked.name)
# Memory of the conversation or of the run is not reported to its person.
HIDDEN_SCOPES = frozenset({"conversation", "run", "run_metadata"})


@dataclass(frozen=True, slots=True)
class Wishes:
    """The wishes of one turn concern the forgotten entries, and those to choose from, with their states now."""

    forgotten: Sequence["memory_app.ForgettableEntry"] = ()
    choices: Sequence["memory_app.ForgettableEntry"] = ()
    has_found_nothing: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.forgotten or self.choices or self.has_found_nothing)

    @property
    def is_open(self) -> bool:
        """Return whether the person still has to choose."""
        return bool(self.choices) and not any(entry.is_forgotten for entry in self.choices)

    @property
    def settled(self) -> "Sequence[memory_app.ForgettableEntry]":
        """Return what was forgotten, restored since or not, and what the person chose."""
        return [*self.forgotten, *(entry for entry in self.choices if entry.is_forgotten)]


NO_WISHES = Wishes()


@dataclass(slots=True)
class _Found:
    steps: list[tuple[str, str]] = field(default_factory=list)
    choice_ids: list[UUID] = field(default_factory=list)
    is_unmet: bool = False


def load_wishes(
    principal: Principal, team_id: UUID, events: Iterable[RunEvent]
) -> Mapping[UUID, Wishes]:
    """Return the wishes by run. Of the events, those about memory that is the person's or shared count."""
    wishes: dict[UUID, _Found] = defaultdict(_Found)
    for event in events:
        if event.name in WISH_EVENTS and event.data.get("scope") not in HIDDEN_SCOPES:
            _add(wishes[event.run_id], event)
    if not wishes:
        return {}
    entries = memory_app.load_forgettable(
        memory_app.MemoryCaller(principal, team_id),
        entry_ids=[entry_id for each in wishes.values() for entry_id in each.choice_ids],
        steps=[step for each in wishes.values() for step in each.steps],
    )
    choices = {entry.id: entry for entry in entries if entry.step is None}
    return {
        run_id: Wishes(
            [entry for entry in entries if entry.step in each.steps],
            [choices[entry_id] for entry_id in each.choice_ids if entry_id in choices],
            each.is_unmet and not each.steps and not each.choice_ids,
        )
        for run_id, each in wishes.items()
    }


def find_wishes(principal: Principal, run: Run) -> Wishes:
    """Return the wishes of a turn; none of a dry run, which forgets nothing. The caller may see the run."""
    if not memory_app.is_on() or is_dry_run(run):
        return NO_WISHES
    events = RunEvent.objects.visible_to(principal).filter(run=run, name__in=WISH_EVENTS)
    return load_wishes(principal, run.team_id, events.order_by("seq")).get(run.pk, NO_WISHES)


def is_dry_run(run: Run) -> bool:
    return (run.debug or {}).get("memory") == "sandbox"


def forget_chosen(principal: Principal, *, run: Run, entry_ids: Collection[str]) -> None:
    """Forget the entries, which are among those that the chat asked about. Raise NotFound for any other."""
    wishes = find_wishes(principal, run)
    selection = _select(wishes.choices, entry_ids)
    living = [entry.id for entry in selection if not entry.is_forgotten]
    if living:
        caller = memory_app.MemoryCaller(principal, run.team_id)
        memory_app.forget_many(caller, entry_ids=living, reason="chosen in the chat")


def restore_forgotten(principal: Principal, *, run: Run, entry_id: str) -> None:
    """Restore an entry that the turn forgot, or that was chosen. Raise NotFound for any other.

    Raise AlreadyExists if there is another entry in its place by now.
    """
    wishes = find_wishes(principal, run)
    entry = _select([*wishes.forgotten, *wishes.choices], [entry_id])[0]
    if entry.is_forgotten:
        caller = memory_app.MemoryCaller(principal, run.team_id)
        memory_app.restore(caller, entry_id=entry.id, reason="undone in the chat")


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
    else:
        wish.choice_ids += [UUID(str(entry["id"])) for entry in event.data.get("entries") or ()]


def _is_unmet(event: RunEvent) -> bool:
    """Return whether a person asked to forget something that memory didn't have."""
    is_of_node = event.data.get("key") is not None or event.data.get("filter") is not None
    return event.name == MemoryForgotten.name and not event.data.get("count") and not is_of_node
