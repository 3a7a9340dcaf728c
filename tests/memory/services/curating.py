"""Finished work and scripted models, for tests of curation through the door."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from accounts.tenancy import tenant
from memory.core.records import MemoryEntry, Source
from memory.logic.curation.work import FinishedWork
from memory.logic.entries.texts import list_texts
from memory.models import Curation, Proposal
from memory.services.curation.curate import FinishedRun, curate, plan_curation
from memory.services.curation.learning_rules import LearningRule, set_learning_rule
from memory.services.curation.run_texts import list_recalled_texts
from memory.services.entries.listing import list_entries
from memory.services.gateway.caller import MemoryCaller
from memory.services.review.review_sample import find_demo_namespace
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person


APP = "app"


def learns(person: Person, **rule: Any) -> LearningRule:
    return set_learning_rule(at_door(person), app_id=APP, learning=LearningRule(True, **rule))


def answer(**parts: Any) -> str:
    return json.dumps({"summary": "It went well", "category": "Execution", **parts})


def scripted(*answers: str) -> tuple[Callable[[str], Any], list[str]]:
    """A model that gives these answers in turn, the last one again and again, and what it was asked."""
    asked: list[str] = []

    async def ask(prompt: str) -> str:
        asked.append(prompt)
        return answers[min(len(asked), len(answers)) - 1]

    return ask, asked


def planned(person: Person, run_id: str = "r1", **identity: Any) -> UUID | None:
    caller = in_run(person, run_id=run_id, **identity)
    return plan_curation(caller, run_id=run_id, app_id=APP)


def curated(
    person: Person,
    work: FinishedWork,
    *,
    run_id: str = "r1",
    ask: Callable[[str], Any] | None = None,
    caller: MemoryCaller | None = None,
    known_secrets: tuple[str, ...] = (),
) -> Curation:
    """Plan and do it, as the end of a run and the worker would."""
    caller = caller or in_run(person, run_id=run_id)
    planned_id = plan_curation(caller, run_id=run_id, app_id=APP)
    assert planned_id is not None

    def gather(asked: str, _learning: LearningRule) -> FinishedRun:
        recalled = (*work.recalled_texts, *list_recalled_texts(person.team.id, asked))
        source = Source(run_id=asked, rule="curation")
        finished = replace(work, recalled_texts=recalled, source=source)
        return FinishedRun(caller, finished, ask, "scripted", known_secrets)

    row = curate(person.team.id, planned_id, gather)
    assert row is not None
    return row


def kept(
    person: Person, category: str | None = None, tier: str | None = None, *, place: str = ""
) -> list[MemoryEntry]:
    """Return what holds: an entry whose place another one took is left out."""
    place = place or f"user:{person.user.pk}"
    page = list_entries(at_door(person), namespace=place, category=category, tier=tier, limit=200)
    return [entry for entry in page.entries if entry.valid_until is None]


def kept_in_demo(person: Person) -> list[MemoryEntry]:
    return kept(person, place=find_demo_namespace(at_door(person)))


def learnt(person: Person, tier: str | None = "long_term") -> list[str]:
    return sorted(t for one in kept(person, "result", tier) for t in list_texts(one.value))


def proposals_of(person: Person) -> list[Proposal]:
    with tenant([person.team.id]):
        rows = Proposal.objects.unscoped().filter(team=person.team).select_related("namespace")
        return list(rows.order_by("-score", "-id"))
