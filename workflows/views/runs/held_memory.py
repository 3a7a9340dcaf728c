"""What else a run did to memory: what it forgot, and what memory's gate let not in, with why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from workflows.models import Run, RunEvent
from workflows.views.runs.memory import titles_of
from workflows.views.runs.recalled_memory import WHOSE, entry_url
from workflows.views.value_text import format_value


FORGOTTEN: Final = "memory_forgotten"
KEPT_OUT: Final = "memory_kept_out"

# The gate's words, for people: memory.logic.entries.ingress. That a person paused it is said elsewhere.
REASONS: Final[Mapping[str, Promise]] = {
    "too_short": _("Too short"),
    "duplicate": _("Already stored"),
    "secret": _("Contains a secret"),
    "too_large": _("Too large"),
    "gives_orders": _("Looks like instructions"),
    "rejected_before": _("Previously rejected"),
    "from_outside": _("From the web or a tool"),
}
PAUSED: Final = "paused"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """``what``: the key, or the metadata they were found by."""

    title: str
    whose: str | Promise
    what: str
    count: int


@dataclass(frozen=True, slots=True)
class KeptOut:
    """``url``: of the memory, where it waits in quarantine."""

    title: str
    whose: str | Promise
    key: str
    reasons: tuple[str | Promise, ...]
    url: str


def apart_in(principal: Principal, run: Run, said: Iterable[RunEvent]) -> dict[str, Any]:
    """Titles are asked for where there is something to name."""
    told = [one for one in said if one.name in (FORGOTTEN, KEPT_OUT)]
    titles = titles_of(principal, run) if told else {}
    forgotten = [
        _forgotten(one.data, titles)
        for one in told
        if one.name == FORGOTTEN and one.data.get("count")
    ]
    kept_out = [
        _kept_out(one.data, titles)
        for one in told
        if one.name == KEPT_OUT and PAUSED not in one.data.get("reasons", ())
    ]
    return {"forgotten": forgotten, "kept_out": kept_out}


def _forgotten(data: Mapping[str, Any], titles: Mapping[str, str]) -> Forgotten:
    what = data.get("key") or (format_value(data["filter"]) if data.get("filter") else "")
    return Forgotten(_title(data, titles), _whose(data), str(what), int(data["count"]))


def _kept_out(data: Mapping[str, Any], titles: Mapping[str, str]) -> KeptOut:
    reasons = tuple(REASONS.get(one, one) for one in data.get("reasons", ()))
    url = entry_url(str(data.get("entry") or ""))
    return KeptOut(_title(data, titles), _whose(data), str(data.get("key", "")), reasons, url)


def _title(data: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    node = str(data.get("node", ""))
    return titles.get(node) or node


def _whose(data: Mapping[str, Any]) -> str | Promise:
    scope = str(data.get("scope", ""))
    return WHOSE.get(scope, scope)
