"""Who and what stands behind a memory, in people's words: accounts, keys, upkeep, runs and their nodes.

Runs are another app's to know; it registers a teller here, which answers for all runs of a page at once
and says nothing of those the reader may not see.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import ApiKey, User
from accounts.principals import Principal


@dataclass(frozen=True, slots=True)
class RunTold:
    """A run as its people know it: the workflow, what was said, and its nodes' titles by their ids."""

    workflow: str
    gist: str
    at: datetime
    url: str
    nodes: Mapping[str, str] = field(default_factory=dict)


RunTeller = Callable[[Principal, Iterable[str]], Mapping[str, RunTold]]


@dataclass(frozen=True, slots=True)
class Backers:
    """``actors`` by what the trail calls them; ``runs`` by id, without those the reader may not see."""

    actors: Mapping[str, str]
    runs: Mapping[str, RunTold]

    def node(self, run_id: str, node_id: str) -> str:
        told = self.runs.get(run_id)
        return (told.nodes.get(node_id) if told else None) or node_id


def tell_runs_with(teller: RunTeller) -> None:
    """``teller`` gives the words for those of the runs that a principal may see."""
    _TELLERS[:] = [teller]


def backers(principal: Principal, actors: Iterable[str], runs: Iterable[str]) -> Backers:
    """As many queries as there are kinds of them, whatever their number."""
    named = {one for one in actors if one}
    of_runs = {one.removeprefix("run:") for one in named if one.startswith("run:")}
    asked = {one for one in (*runs, *of_runs) if one}
    told = _TELLERS[0](principal, asked) if _TELLERS and asked else {}
    words = _people(principal, named) | _keys(principal, named)
    return Backers({one: words.get(one) or _other(one, told) for one in named}, told)


_TELLERS: list[RunTeller] = []

# Who acts without anybody having asked.
_UPKEEP: Mapping[str, str | Promise] = {
    "expiry": gettext_lazy("Expiry"),
    "promotion": gettext_lazy("Promotion"),
    "curation": gettext_lazy("Curation"),
}


def _people(principal: Principal, actors: Iterable[str]) -> dict[str, str]:
    wanted = _ids(actors, "user:")
    words = {f"user:{principal.user_id}": _("You")} if principal.user_id in wanted else {}
    others = wanted - {principal.user_id}
    if others:
        found = User.objects.filter(pk__in=others)
        words |= {f"user:{user.pk}": user.name or user.email for user in found}
    return words


def _keys(principal: Principal, actors: Iterable[str]) -> dict[str, str]:
    wanted = _ids(actors, "key:")
    if not wanted:
        return {}
    found = ApiKey.objects.visible_to(principal).filter(pk__in=wanted)
    return {f"key:{key.pk}": _("API key “%(name)s”") % {"name": key.name} for key in found}


def _other(actor: str, told: Mapping[str, RunTold]) -> str:
    if actor.startswith("run:"):
        run = told.get(actor.removeprefix("run:"))
        return _("A run of %(workflow)s") % {"workflow": run.workflow} if run else _("A run")
    if actor.startswith("key:"):
        return _("Deleted API key")
    if actor.startswith("user:"):
        return _("Deleted account")
    return str(_UPKEEP.get(actor, actor))


def _ids(actors: Iterable[str], beginning: str) -> set[UUID]:
    found = set()
    for actor in actors:
        try:
            if actor.startswith(beginning):
                found.add(UUID(actor.removeprefix(beginning)))
        except ValueError:
            continue
    return found
