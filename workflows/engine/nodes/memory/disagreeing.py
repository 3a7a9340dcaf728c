"""Entries that disagree: both stand next to each other in a prompt as long as no person has decided."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TypeVar

from workflows.engine.ports import MemoryHit


H = TypeVar("H", bound=MemoryHit)


def group_disagreeing(hits: Iterable[H]) -> list[tuple[H, ...]]:
    """Return each hit in a group with those that disagree with it or with one of them, the newest first.

    What is in one group is in no other.
    """
    ordered = list(hits)
    by_id = {hit.id: hit for hit in ordered}
    groups: list[tuple[H, ...]] = []
    beside_ids: set[str] = set()  # the ids of those that another one brought along
    for hit in ordered:
        if hit.id in beside_ids:
            continue
        group, pending = {hit.id: hit}, [hit]
        while pending:
            others: tuple[H, ...] = getattr(pending.pop(), "disagrees_with", ())
            new = [by_id.get(other.id, other) for other in others if other.id not in group]
            group |= {each.id: each for each in new}
            pending += new
        beside_ids |= group.keys() - {hit.id}
        groups.append(tuple(sorted(group.values(), key=_get_time, reverse=True)))
    return groups


def list_shown(hits: Sequence[H]) -> Sequence[H]:
    """Return the hits with those that disagree with them beside them.

    Without any, the hits stay what they are, since memory may say with them why it withholds entries.
    """
    if not any(getattr(hit, "disagrees_with", ()) for hit in hits):
        return hits
    return [*chain(*group_disagreeing(hits))]


def _get_time(hit: MemoryHit) -> str:
    return str(getattr(hit, "updated_at", ""))
