"""Two teams of three people do anything anywhere: what comes back is what a plain dictionary says, and nobody else's.

Each step is an operation at the door, by a run or by a person, in any of five scopes, in reach or out of it. After each: the
answer is the model's, what was read is of that very namespace, the limit was never passed, and the trail is longer by one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from accounts import audit
from accounts.models import AuditEntry, Role, User
from accounts.principals import load_user_principal
from accounts.services import add_member, create_team
from accounts.tenancy import tenant
from memory import permissions, routing, services
from memory.core.errors import MemoryFault
from memory.models import Namespace, Policy
from memory.providers.http import HttpProvider
from memory.services import CallOrigin, MemoryCaller, list_reachable
from tests.spec.providers.conftest import SLOW_MACHINE, new_guest, served  # noqa: F401 - served is a fixture


LIMIT = 3  # entries a namespace
ROLES = (Role.OWNER, Role.EDITOR, Role.VIEWER)
TALKS = {"c-mine": {0}, "c-ours": {0, 1}, "c-all": {0, 1, 2}}  # who takes part in which
KEYS = ("k0", "k1", "k2", "k3", "k4")

TEAMS = st.integers(0, 1)
PEOPLE = st.integers(0, 2)
KEY = st.sampled_from(KEYS)
SCOPES = ("user", "conversation", "global", "workflow", "run")

Refused = object()


@dataclass
class Shelf:
    """A namespace as the model knows it."""

    living: dict[str, Any] = field(default_factory=dict)
    participants: set[Any] = field(default_factory=set)
    is_made: bool = False


@dataclass
class Team:
    row: Any
    people: list[Any]
    shelves: dict[str, Shelf] = field(default_factory=dict)
    changes: list[tuple[Any, str, dict[str, Any]]] = field(default_factory=list)
    undone: set[Any] = field(default_factory=set)
    trail: int = 0

    def shelf(self, text: str) -> Shelf:
        return self.shelves.setdefault(text, Shelf())


def make_team(number: int) -> Team:
    people = [
        User.objects.create_user(f"{uuid4().hex}@example.org", name=f"P{number}{one}")
        for one in range(3)
    ]
    row = create_team(owner=people[0], name=f"Team {number}")
    for user, role in zip(people[1:], ROLES[1:], strict=True):
        add_member(team=row, user=user, role=role)
    with tenant([row.pk]):
        Policy.objects.unscoped().create(team=row, max_entries=LIMIT)
    return Team(row, people)


class Walls(RuleBasedStateMachine):
    """``placed`` is told the teams, and keeps some of their scopes with another provider."""

    @staticmethod
    def placed(teams: list[Team]) -> set[tuple[int, str]]:
        return set()

    def __init__(self) -> None:
        super().__init__()
        self.teams = [make_team(0), make_team(1)]
        self.elsewhere = type(self).placed(self.teams)
        for team in self.teams:
            team.trail = self._length(team)
        self.count = 0

    # -- runs: what they are of, they reach -----------------------------------------------------

    @rule(team=TEAMS, who=PEOPLE, scope=st.sampled_from(SCOPES), key=KEY, data=st.data())
    def run_stores(self, team: int, who: int, scope: str, key: str, data: Any) -> None:
        caller, text = self._run(team, who, scope, data)
        self._store(team, text, caller, key, {"scope": scope}, may=True)

    @rule(
        team=TEAMS, who=PEOPLE, scope=st.sampled_from(SCOPES), key=st.none() | KEY, data=st.data()
    )
    def run_recalls(self, team: int, who: int, scope: str, key: str | None, data: Any) -> None:
        caller, text = self._run(team, who, scope, data)
        words = data.draw(st.none() | st.sampled_from(["note", "P0", "P1 note"]))
        self._recall(team, text, caller, {"scope": scope}, key, words, may=True)

    @rule(team=TEAMS, who=PEOPLE, scope=st.sampled_from(SCOPES), key=KEY, data=st.data())
    def run_forgets(self, team: int, who: int, scope: str, key: str, data: Any) -> None:
        caller, text = self._run(team, who, scope, data)
        self._forget(team, text, caller, {"scope": scope}, key, may=True)

    @rule(team=TEAMS, who=PEOPLE, scope=st.sampled_from(SCOPES), key=KEY, data=st.data())
    def run_reaches_beyond(self, team: int, who: int, scope: str, key: str, data: Any) -> None:
        caller, _own = self._run(team, who, scope, data)
        text = data.draw(st.sampled_from(self._everywhere(team)))
        may = text in (caller.reach or ())
        if data.draw(st.booleans()):
            may = may or self._is_own_group(team, who, text)
            self._recall(team, text, caller, {"namespace": text}, key, None, may=may)
        else:
            self._store(team, text, caller, key, {"namespace": text}, may=may)

    # -- people: at the door, in their own team or another's --------------------------------------

    @rule(team=TEAMS, of=TEAMS, who=PEOPLE, key=KEY, data=st.data())
    def person_stores(self, team: int, of: int, who: int, key: str, data: Any) -> None:
        caller, text, may = self._person(team, of, who, "write", data)
        self._store(team, text, caller, key, {"namespace": text}, may=may)

    @rule(team=TEAMS, of=TEAMS, who=PEOPLE, key=st.none() | KEY, data=st.data())
    def person_recalls(self, team: int, of: int, who: int, key: str | None, data: Any) -> None:
        caller, text, may = self._person(team, of, who, "view", data)
        self._recall(team, text, caller, {"namespace": text}, key, None, may=may)

    @rule(team=TEAMS, of=TEAMS, who=PEOPLE, data=st.data())
    def person_lists(self, team: int, of: int, who: int, data: Any) -> None:
        caller, text, may = self._person(team, of, who, "view", data)
        page = self._done(
            team, lambda: services.list_entries(caller, namespace=text, limit=200), may
        )
        if page is not Refused:
            living = self.teams[team].shelf(text).living
            assert {one.key: one.value for one in page.entries} == living
            assert page.total == len(living)

    @rule(team=TEAMS, of=TEAMS, who=PEOPLE, data=st.data())
    def person_clears(self, team: int, of: int, who: int, data: Any) -> None:
        caller, text, may = self._person(team, of, who, "write", data)
        done = self._done(team, lambda: services.clear(caller, namespace=text), may)
        if done is not Refused:
            self._gone(team, text, list(self.teams[team].shelf(text).living), done)

    @rule(team=TEAMS, of=TEAMS, who=PEOPLE, key=KEY, data=st.data())
    def person_forgets(self, team: int, of: int, who: int, key: str, data: Any) -> None:
        caller, text, may = self._person(team, of, who, "write", data)
        self._forget(team, text, caller, {"namespace": text}, key, may=may)

    @precondition(lambda self: any(team.changes for team in self.teams))
    @rule(of=TEAMS, who=PEOPLE, data=st.data())
    def person_undoes(self, of: int, who: int, data: Any) -> None:
        number = data.draw(st.sampled_from([i for i in (0, 1) if self.teams[i].changes]))
        team = self.teams[number]
        change, text, gone = data.draw(st.sampled_from(team.changes))
        shelf = team.shelf(text)
        back = {key: value for key, value in gone.items() if key not in shelf.living}
        caller = MemoryCaller(load_user_principal(self.teams[of].people[who]), team.row.pk)
        may = (
            self._may(number, of, who, "write", text)
            and change not in team.undone
            and len(shelf.living) + len(back) <= LIMIT
        )
        done = self._done(number, lambda: services.undo(caller, change_id=change), may)
        if done is not Refused:
            assert done.count == len(back)
            shelf.living |= back
            team.undone.add(change)

    @rule(of=TEAMS, who=PEOPLE)
    def person_looks_around(self, of: int, who: int) -> None:
        """No row in the trail: it names the places, not what is in them."""
        principal = load_user_principal(self.teams[of].people[who])
        for number, team in enumerate(self.teams):
            found = {
                one.text
                for one in services.list_namespace_page(
                    MemoryCaller(principal, team.row.pk), limit=1_000
                ).rows
            }
            made = {text for text, shelf in team.shelves.items() if shelf.is_made}
            assert found == {text for text in made if self._may(number, of, who, "view", text)}

    # -- what holds after every step ---------------------------------------------------------------

    @invariant()
    def trail_grew_by_what_was_done(self) -> None:
        for team in self.teams:
            assert self._length(team) == team.trail

    def teardown(self) -> None:
        for team in self.teams:
            with tenant([team.row.pk]):
                rows = Namespace.objects.unscoped().filter(team_id=team.row.pk)
                counted = {row.text: row.entry_count for row in rows}
            kept = {
                text: count
                for text, count in counted.items()
                if (self.teams.index(team), text.partition(":")[0]) not in self.elsewhere
                and not self._is_elsewhere(team, text)
            }
            assert kept == {text: len(team.shelf(text).living) for text in kept}
            assert audit.verify(team.row.pk).intact

    # -- how ------------------------------------------------------------------------------------------

    def _store(
        self, team: int, text: str, caller: MemoryCaller, key: str, at: dict[str, Any], *, may: bool
    ) -> None:
        shelf = self.teams[team].shelf(text)
        may = may and (key in shelf.living or len(shelf.living) < LIMIT)
        self.count += 1
        value = {
            "of": f"{team}/{text}",
            "said": f"P{team} note {self.count}",
            "by": str(caller.principal.user_id),
        }
        done = self._done(team, lambda: services.remember(caller, key=key, value=value, **at), may)
        if done is Refused:
            return
        assert done.value == value
        shelf.living[key] = value
        if not shelf.is_made or text in (caller.reach or ()):
            shelf.participants |= caller.participants | {caller.principal.user_id}
        shelf.is_made = True

    def _recall(
        self,
        team: int,
        text: str,
        caller: MemoryCaller,
        at: dict[str, Any],
        key: str | None,
        words: str | None,
        *,
        may: bool,
    ) -> None:
        found = self._done(
            team,
            lambda: services.recall(caller, key=key, query_text=words, top_k=50, **at),
            may,
        )
        if found is Refused:
            return
        got = {one.key: one.value for one in found}
        assert all(value["of"] == f"{team}/{text}" for value in got.values())
        living = self.teams[team].shelf(text).living
        wanted = living if key is None else {k: v for k, v in living.items() if k == key}
        assert got == wanted if words is None else got.items() <= wanted.items()

    def _forget(
        self, team: int, text: str, caller: MemoryCaller, at: dict[str, Any], key: str, *, may: bool
    ) -> None:
        done = self._done(team, lambda: services.forget(caller, key=key, **at), may)
        if done is not Refused:
            self._gone(team, text, [key], done)

    def _gone(self, team: int, text: str, keys: list[str], done: Any) -> None:
        shelf = self.teams[team].shelf(text)
        gone = {key: shelf.living.pop(key) for key in keys if key in shelf.living}
        assert done.count == len(gone)
        if done.change_id is not None:
            self.teams[team].changes.append((done.change_id, text, gone))
        else:
            assert not gone or self._is_elsewhere(self.teams[team], text)

    def _done(self, team: int, act: Callable[[], Any], may: bool) -> Any:
        """Its answer, or ``Refused``: just when the model says so; a row in the trail in any case."""
        try:
            answer = act()
        except MemoryFault as fault:
            if may:
                raise AssertionError(f"refused, and it should not be: {fault}") from fault
            answer = Refused
        else:
            assert may, "it should have been refused"
        self.teams[team].trail += 1
        return answer

    def _run(self, team: int, who: int, scope: str, data: Any) -> tuple[MemoryCaller, str]:
        user = self.teams[team].people[who]
        talk = data.draw(st.sampled_from([one for one, those in TALKS.items() if who in those]))
        app, group = data.draw(st.sampled_from(["app", "other"])), data.draw(st.sampled_from("gh"))
        run_id = data.draw(st.sampled_from(["r1", "r2"]))
        known = {
            "user_id": str(user.pk),
            "conversation_id": talk,
            "app_id": app,
            "workflow_id": "w",
            "group_id": group,
            "run_id": run_id,
        }
        self.count += 1
        caller = MemoryCaller(
            load_user_principal(user),
            self.teams[team].row.pk,
            identity=known,
            reach=list_reachable(known),
            origin=CallOrigin(run_id, "node", f"step-{self.count}"),
            participants=frozenset(self.teams[team].people[one].pk for one in TALKS[talk]),
        )
        return caller, {
            "user": f"user:{user.pk}",
            "conversation": f"conv:{talk}",
            "global": f"global:{app}",
            "workflow": f"ai:memory:w:{group}",
            "run": f"ai:notes:{run_id}",
        }[scope]

    def _person(
        self, team: int, of: int, who: int, verb: str, data: Any
    ) -> tuple[MemoryCaller, str, bool]:
        """Somebody of one team at the other's door, too."""
        text = data.draw(st.sampled_from(self._everywhere(team)))
        caller = MemoryCaller(
            load_user_principal(self.teams[of].people[who]), self.teams[team].row.pk
        )
        return caller, text, self._may(team, of, who, verb, text)

    def _everywhere(self, team: int) -> list[str]:
        return [
            *(f"user:{user.pk}" for one in self.teams for user in one.people),
            *(f"conv:{talk}" for talk in TALKS),
            *("global:app", "global:other", "ai:memory:w:g", "ai:memory:w:h"),
            *("ai:notes:r1", "ai:notes:r2"),
        ]

    def _may(self, team: int, of: int, who: int, verb: str, text: str) -> bool:
        """The table of ``docs``, in plain words."""
        user = self.teams[of].people[who]
        if of != team:
            return False
        if text.startswith("user:"):
            return text == f"user:{user.pk}"
        if text.startswith("conv:"):
            return user.pk in self.teams[team].shelf(text).participants
        if text.startswith("ai:notes:"):
            return False
        return verb == "view" or ROLES[who] != Role.VIEWER

    def _is_own_group(self, team: int, who: int, text: str) -> bool:
        """Another group of the run's workflow may be recalled by whoever wrote an entry of it."""
        owner = self.teams[team]
        if not text.startswith("ai:memory:w:") or self._is_elsewhere(owner, text):
            return False
        writer = str(owner.people[who].pk)
        return any(value["by"] == writer for value in owner.shelf(text).living.values())

    def _is_elsewhere(self, team: Team, text: str) -> bool:
        kinds = {"ai:memory": "workflow", "ai:notes": "run"}
        word = kinds.get(":".join(text.split(":")[:2]), "")
        return (self.teams.index(team), word) in self.elsewhere

    def _length(self, team: Team) -> int:
        with tenant([team.row.pk]):
            rows = AuditEntry.objects.unscoped().filter(team_id=team.row.pk)
            return rows.filter(action__startswith="memory.").count()


STEPS = 40
HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def play(machine: type[Walls], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            phases=[Phase.generate],
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=HEALTH,
        ),
    )


class InPostgres(Walls):
    pass


class InRedis(Walls):
    """What runs and workflows keep for themselves is in Valkey, for both teams."""

    @staticmethod
    def placed(teams: list[Team]) -> set[tuple[int, str]]:
        return {(team, scope) for team in (0, 1) for scope in ("run", "workflow")}


def over_http(url: str, settings: Any) -> type[Walls]:
    """One team's working memory is another installation's; a key over there is one team's."""

    class OverHttp(Walls):
        @staticmethod
        def placed(teams: list[Team]) -> set[tuple[int, str]]:
            routing.close_providers()
            settings.MEMORY_HTTP_URL = url
            settings.MEMORY_HTTP_KEY = new_guest()
            settings.MEMORY_PLACES = tuple(
                f"{scope}@{teams[0].row.pk}=http" for scope in ("run", "workflow")
            )
            return {(0, "run"), (0, "workflow")}

    return OverHttp


SHORT, LONG = 6, 250  # times forty steps: the long form is ten thousand
FORMS = [pytest.param(SHORT, id="short"), pytest.param(LONG, id="long", marks=pytest.mark.nightly)]


@pytest.mark.django_db
@pytest.mark.parametrize("examples", FORMS)
def test_nothing_crosses_a_wall_in_postgres(examples: int) -> None:
    play(InPostgres, examples)


@pytest.mark.django_db
@pytest.mark.usefixtures("in_redis")
@pytest.mark.parametrize("examples", FORMS)
def test_nothing_crosses_a_wall_in_redis(examples: int) -> None:
    play(InRedis, examples)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("examples", FORMS)
def test_nothing_crosses_a_wall_over_http(
    served: str,  # noqa: F811
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    examples: int,
) -> None:
    here = partial(HttpProvider, allow=["127.0.0.1:*"], timeout=SLOW_MACHINE)
    monkeypatch.setattr(routing, "find_provider_factory", lambda _name, _offered: here)
    play(over_http(served, settings), examples // 2)
    routing.close_providers()


class Chosen:
    """Stands in for what is drawn at random."""

    def __init__(self, choice: Any) -> None:
        self._choice = choice

    def draw(self, _strategy: Any) -> Any:
        return self._choice


def take_a_wall_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permissions, "_find_person_reason", lambda *_asked, **_more: True)


@pytest.mark.django_db
@pytest.mark.parametrize("who", [1, 2])
def test_wall_taken_away_is_found(monkeypatch: pytest.MonkeyPatch, who: int) -> None:
    """A colleague tries to reach the owner's memory about themselves, before and after."""
    machine = InPostgres()
    place = Chosen(f"user:{machine.teams[0].people[0].pk}")
    tried: dict[str, Any] = {"team": 0, "of": 0, "who": who, "key": "k0", "data": place}
    machine.person_stores(**tried)
    machine.person_recalls(**tried)
    machine.trail_grew_by_what_was_done()
    take_a_wall_away(monkeypatch)

    with pytest.raises(AssertionError, match="it should have been refused"):
        machine.person_stores(**tried)
    with pytest.raises(AssertionError, match="it should have been refused"):
        machine.person_recalls(**tried)


@pytest.mark.nightly
@pytest.mark.django_db
def test_wall_taken_away_is_found_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    take_a_wall_away(monkeypatch)

    with pytest.raises(AssertionError) as found:
        play(InPostgres, LONG)

    told = [str(one) for one in (found.value, found.value.__context__)]
    assert any("it should have been refused" in one for one in told), told
