"""Questions that ask people, made as a paused run leaves them."""

from typing import Any

from accounts.models import TeamGroup
from accounts.services import add_to_group, create_group
from accounts.tenancy import tenant
from tests.support.cast import Person
from tests.workflows.test_waits import ask
from workflows.models import RunWait
from workflows.services.runs import waits


FORM = {
    "type": "form",
    "content": "Pay 300 euros?",
    "inputs": [{"name": "comment", "type": "paragraph"}],
    "actions": [{"id": "pay", "title": "Pay"}, {"id": "refuse", "title": "Refuse"}],
}


def ask_people(person: Person, *keys: str, form: Any = None, **given: Any) -> RunWait:
    """Return a question of a run of this person, which asks those behind the keys."""
    notices = {name: given.pop(name) for name in ("remind_at", "escalate_at") if name in given}
    wait = ask(person, {**FORM, **(form or {}), "answerers": list(keys)}, **given)
    with tenant([wait.team_id]):
        RunWait.objects.unscoped().filter(pk=wait.pk).update(answerers=list(keys), **notices)
    return load(wait)


def load(wait: RunWait) -> RunWait:
    with tenant([wait.team_id]):
        return RunWait.objects.unscoped().select_related("run__workflow").get(pk=wait.pk)


def make_group(owner: Person, name: str, *people: Person) -> TeamGroup:
    group = create_group(owner.principal, team=owner.team, name=name)
    for person in people:
        add_to_group(owner.principal, group_id=group.pk, user_id=person.user.pk)
    return group


def pay(person: Person, wait: RunWait, action: str = "pay") -> RunWait:
    with tenant([wait.team_id]):
        return waits.answer_wait(
            person.principal, wait.run, wait_id=wait.pk, values={"comment": "ok"}, action=action
        )


def list_inbox(person: Person) -> list[RunWait]:
    with tenant([person.team.pk]):
        return list(waits.list_waiting(person.principal, team_id=person.team.pk))
