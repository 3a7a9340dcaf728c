"""Find the names of the actors and runs that wrote or read a memory: accounts, keys, background tasks, runs and nodes.

The host describes the runs, without those that the reader may not see.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import ApiKey, User
from accounts.principals import Principal
from memory.host import RunDescription, get_host


# Names of the background tasks that appear as actors in revisions.
_UPKEEP: Mapping[str, str | Promise] = {
    "expiry": gettext_lazy("Expiry"),
    "promotion": gettext_lazy("Promotion"),
    "curation": gettext_lazy("Curation"),
}


@dataclass(frozen=True, slots=True)
class Provenance:
    """The names of actors by their id in the audit log, the runs that the reader may see, and those that were deleted."""

    actors: Mapping[str, str]
    runs: Mapping[str, RunDescription]
    deleted_runs: frozenset[str] = frozenset()

    def get_node_title(self, run_id: str, node_id: str) -> str:
        run = self.runs.get(run_id)
        return (run.nodes.get(node_id) if run else None) or node_id


def load_provenance(principal: Principal, actors: Iterable[str], runs: Iterable[str]) -> Provenance:
    """Return the names of these actors, and the descriptions of these runs and of those among the actors."""
    actor_ids = {actor for actor in actors if actor}
    actor_runs = {actor.removeprefix("run:") for actor in actor_ids if actor.startswith("run:")}
    run_ids = {run_id for run_id in (*runs, *actor_runs) if run_id}
    descriptions = get_host().describe_runs(principal, run_ids) if run_ids else {}
    missing_ids = run_ids - descriptions.keys()
    deleted = get_host().list_deleted_runs(principal, missing_ids) if missing_ids else frozenset()
    names = _name_people(principal, actor_ids) | _name_keys(principal, actor_ids)
    return Provenance(
        {
            actor: names.get(actor) or _name_other_actor(actor, descriptions, deleted)
            for actor in actor_ids
        },
        descriptions,
        deleted,
    )


def _name_people(principal: Principal, actors: Iterable[str]) -> dict[str, str]:
    user_ids = _parse_ids(actors, "user:")
    names = {f"user:{principal.user_id}": _("You")} if principal.user_id in user_ids else {}
    other_ids = user_ids - {principal.user_id}
    if other_ids:
        users = User.objects.filter(pk__in=other_ids)
        names |= {f"user:{user.pk}": user.name or user.email for user in users}
    return names


def _name_keys(principal: Principal, actors: Iterable[str]) -> dict[str, str]:
    key_ids = _parse_ids(actors, "key:")
    if not key_ids:
        return {}
    keys = ApiKey.objects.visible_to(principal).filter(pk__in=key_ids)
    return {f"key:{key.pk}": _("API key “%(name)s”") % {"name": key.name} for key in keys}


def _name_other_actor(
    actor: str, runs: Mapping[str, RunDescription], deleted: frozenset[str]
) -> str:
    if actor.removeprefix("run:") in deleted:
        return _("A deleted run")
    if actor.startswith("run:"):
        run = runs.get(actor.removeprefix("run:"))
        return _("A run of %(workflow)s") % {"workflow": run.workflow} if run else _("A run")
    if actor.startswith("key:"):
        return _("Deleted API key")
    if actor.startswith("user:"):
        return _("Deleted account")
    return str(_UPKEEP.get(actor, actor))


def _parse_ids(actors: Iterable[str], prefix: str) -> set[UUID]:
    ids = set()
    for actor in actors:
        if actor.startswith(prefix):
            with suppress(ValueError):
                ids.add(UUID(actor.removeprefix(prefix)))
    return ids
