"""Two teams of three people each, in five scopes, for a long time: like the oracle, and nobody ever reads another's.

The short form always runs; the long one by night.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from memory.core.errors import QuotaExceeded
from memory.core.policy import MemorySecurityPolicy
from memory.core.records import (
    LESSON_CATEGORIES,
    MemoryEntry,
    MemoryQuery,
    PromptUse,
    StoreParams,
    Tier,
)
from memory.core.scopes import resolve_namespace
from memory.providers.in_memory import InMemoryProvider
from memory.providers.items import ItemProvider
from tests.spec.providers.conftest import Make, Memory, Ticking
from tests.spec.providers.test_agreement import at


TEAMS = ("red", "blue")
PEOPLE = range(3)
SCOPES = ("conversation", "user", "global", "workflow", "run")
KEYS = [f"k{number}" for number in range(8)]
WORDS = ["cat", "cats", "dog", "Miso", "harbour", "猫", "米索", "2012年", "boats", "house"]
POLICY = MemorySecurityPolicy(max_entries_per_namespace=3, max_namespace_bytes=260)


def identity(person: int) -> dict[str, Any]:
    """The same in both teams: only the team keeps them apart. Two of three share a group."""
    return {
        "conversation_id": f"c{person}",
        "user_id": f"p{person}",
        "app_id": "app",
        "workflow_names": ["chat", "desktop"] if person else ["chat"],
        "group_id": f"g{person // 2}",
        "run_id": f"r{person}",
    }


@dataclass(frozen=True)
class Act:
    verb: str
    team: str
    namespace: str
    details: dict[str, Any]


def act_by(chance: random.Random) -> Act:
    team = chance.choice(TEAMS)
    namespace = resolve_namespace(chance.choice(SCOPES), identity(chance.choice(PEOPLE)))
    verb = chance.choices(list(VERBS), [weight for weight, _, _ in VERBS.values()])[0]
    details = VERBS[verb][1](chance, f"{team} {namespace}")
    if verb == "store" and namespace.startswith("ai:notes:"):
        details["ttl_seconds"] = (
            details["ttl_seconds"] or 60
        )  # a door gives notes an end of its own
    return Act(verb, team, namespace, details)


def _stored(chance: random.Random, place: str) -> dict[str, Any]:
    text = " ".join(chance.choices(WORDS, k=chance.randint(0, 6)))
    return {
        "key": chance.choice(KEYS),
        "value": chance.choice([text, {"said": text}, chance.randint(0, 9)]),
        "metadata": {"place": place, "n": chance.randint(0, 3), **chance.choice(
            [{}, {"group": "one"}, {"group": "two"}])},
        "tier": chance.choice([Tier.LONG_TERM, Tier.LONG_TERM, Tier.WORKING, Tier.QUARANTINE]),
        "ttl_seconds": chance.choice([None, None, 5, 60]),
        "valid_from": chance.choice([None, None, at(0), at(chance.randint(0, 40))]),
        "valid_until": chance.choice([None, None, at(chance.randint(41, 60))]),
        "prompt_use": chance.choice([*PromptUse]),
        "category": chance.choice(["fact", "fact", *sorted(LESSON_CATEGORIES)]),
    }  # fmt: skip


def _asked(chance: random.Random, _place: str) -> dict[str, Any]:
    words = " ".join(chance.choices(WORDS, k=2))
    return {
        "key": chance.choice([None, None, None, chance.choice(KEYS)]),
        "query_text": chance.choice([None, words]),
        "filter": chance.choice([None, None, {"n": {"$gte": 1}}, {"tier": "working"}]),
        "top_k": chance.choice([None, 1, 3]),
        "recency_days": chance.choice([None, None, 0.001]),
        "past": chance.choice([None, None, None, chance.randint(1, 200)]),
        "valid_at": chance.choice([None, None, at(chance.randint(0, 70))]),
        "include_former": chance.random() < 0.2,
        "for_prompt": chance.random() < 0.3,
        "without_lessons": chance.random() < 0.3,
    }


def _keyed(chance: random.Random, _place: str) -> dict[str, Any]:
    return {"key": chance.choice(KEYS)}


def _slept(chance: random.Random, _place: str) -> dict[str, Any]:
    return {"seconds": chance.randint(1, 3)}


def _nothing(_chance: random.Random, _place: str) -> dict[str, Any]:
    return {}


def _store(memory: Memory, act: Act) -> Any:
    try:
        return _seen(memory.provider.store(StoreParams(act.namespace, **act.details)))
    except QuotaExceeded:
        return "full"


def _recall(memory: Memory, act: Act) -> Any:
    asked = dict(act.details)
    past = asked.pop("past")
    then = memory.clock.now - timedelta(seconds=past) if past else None
    found = memory.provider.recall(MemoryQuery(act.namespace, **asked, as_of=then))
    assert {one.metadata["place"] for one in found} <= {f"{act.team} {act.namespace}"}, act
    return [_seen(one) for one in found]


def _delete(memory: Memory, act: Act) -> Any:
    return memory.provider.delete(act.namespace, act.details["key"])


def _clear(memory: Memory, act: Act) -> Any:
    return memory.provider.clear_namespace(act.namespace)


def _history(memory: Memory, act: Act) -> Any:
    past = memory.provider.history(act.namespace, act.details["key"])
    return [_seen(one) for one in past]


def _sleep(memory: Memory, act: Act) -> None:
    memory.clock.sleep(act.details["seconds"])


Do = Callable[[Memory, Act], Any]
Details = Callable[[random.Random, str], dict[str, Any]]
VERBS: dict[str, tuple[int, Details, Do]] = {
    "store": (45, _stored, _store),
    "recall": (35, _asked, _recall),
    "delete": (8, _keyed, _delete),
    "history": (5, _keyed, _history),
    "sleep": (6, _slept, _sleep),
    "clear": (1, _nothing, _clear),
}


def _seen(entry: MemoryEntry) -> Any:
    """All but the ids, which are each provider's own."""
    return (
        *(entry.key, entry.value, dict(entry.metadata), entry.score, dict(entry.explain)),
        *(entry.tier, entry.revision, entry.position),
        *(entry.created_at, entry.updated_at, entry.expires_at),
        *(entry.valid_from, entry.valid_until, entry.prompt_use, entry.category),
    )


class ForgetfulProvider(InMemoryProvider):
    """The oracle of a provider that keeps nothing of what was deleted or has expired, as each may choose."""

    def _list_states(self, query: MemoryQuery) -> list[MemoryEntry]:
        self._drop_expired(query.namespace, self._clock())
        living = {values[-1].id for values in self._values.get(query.namespace, {}).values()}
        return [entry for entry in super()._list_states(query) if entry.id in living]


def make_oracle(other: Memory) -> Memory:
    kind = ForgetfulProvider if isinstance(other.provider, ItemProvider) else InMemoryProvider
    clock = Ticking()
    return Memory(kind(policy=POLICY, clock=clock), clock)


def play(make: Make, seed: int, acts: int) -> dict[str, int]:
    """How often each verb was asked; raises at the first answer that differs."""
    others = {team: make(policy=POLICY, clock=Ticking()) for team in TEAMS}
    oracles = {team: make_oracle(other) for team, other in others.items()}
    return _play(oracles, others, seed, acts)


def _play(
    oracles: dict[str, Memory], others: dict[str, Memory], seed: int, acts: int
) -> dict[str, int]:
    chance = random.Random(seed)
    done = dict.fromkeys([*VERBS, "full"], 0)
    for number in range(acts):
        act = act_by(chance)
        oracle, other = oracles[act.team], others[act.team]
        expected = VERBS[act.verb][2](oracle, act)
        assert VERBS[act.verb][2](other, act) == expected, (seed, number, act)
        other.clock.now = oracle.clock.now
        done[act.verb] += 1
        done["full"] += expected == "full"
    _compare(oracles, others)
    return done


def _compare(oracles: dict[str, Memory], others: dict[str, Memory]) -> None:
    """Whatever is left, everywhere."""
    spaces = {resolve_namespace(scope, identity(who)) for scope in SCOPES for who in PEOPLE}
    for team in TEAMS:
        for namespace in sorted(spaces):
            act = Act("recall", team, namespace, {"past": None})
            left = _recall(oracles[team], act)
            assert _recall(others[team], act) == left
            others[team].clock.now = oracles[team].clock.now


def test_people_at_random_read_their_own_and_what_the_oracle_says(make: Make) -> None:
    done = play(make, seed=3, acts=120)

    assert min(done.values()) > 0, done


@pytest.mark.nightly
@pytest.mark.parametrize("quarter", [2, 3, 4, 5])
def test_ten_thousand_acts_at_random_agree_with_the_oracle(make: Make, quarter: int) -> None:
    done = play(make, seed=quarter, acts=2_500)

    assert sum(done.values()) - done["full"] == 2_500
    assert done["full"] > 25
