"""The pages, settings and actions that the search offers. A destination without permission is left out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.access import Principal, can
from workflows import memory_app


@dataclass(frozen=True, slots=True)
class Destination:
    """A page to open, or an action of this browser (``action``), and the permission that it needs."""

    url_name: str
    label: str | Promise
    icon: str
    words: str | Promise = ""  # further words to find it by
    verb: str = ""
    action: str = ""  # handled by static/js/search
    fragment: str = ""

    @property
    def url(self) -> str:
        return reverse(self.url_name) + self.fragment


PAGES: Final = (
    Destination("home", _("Home"), "home", _("dashboard start")),
    Destination("workflows:list", _("Workflows"), "workflow", verb="workflow.view"),
    Destination("workflows:samples", _("Samples"), "samples", _("templates gallery examples")),
    Destination("workflows:runs", _("Runs"), "run", _("history logs executions"), "run.view"),
    Destination(
        "workflows:waiting", _("Inbox"), "person", _("waiting for you approvals questions")
    ),
    Destination("workflows:tasks", _("Tasks"), "check", verb="run.view"),
    Destination("memory:list", _("Memory"), "memory", _("namespaces entries")),
    Destination("memory:review", _("Review memories"), "check", _("queue quarantine approve")),
    Destination("memory:learning", _("Learning"), "memory", _("learned curation")),
    Destination("memory:knowledge", _("Knowledge"), "list", _("pages wiki documents")),
    Destination("memory:about", _("About me"), "person", _("my memory personal privacy")),
    Destination("workflows:tools", _("Tools"), "tool", _("MCP OpenAPI"), "credential.view"),
    Destination("workflows:providers", _("Models"), "model", _("providers LLM"), "credential.view"),
    Destination("accounts:team", _("Team"), "team", _("members people roles"), "team.view"),
    Destination("accounts:audit", _("Audit trail"), "list", _("log security"), "audit.view"),
    Destination("workflows:archived", _("Archived workflows"), "folder", verb="workflow.view"),
    Destination("workflows:first_steps", _("First steps"), "info", _("help tour checklist")),
)

SETTINGS: Final = (
    Destination("accounts:profile", _("Profile"), "person", _("name language password account")),
    Destination("accounts:keys", _("API keys"), "key", _("token secret"), "key.manage"),
    Destination("accounts:groups", pgettext_lazy("of people", "Groups"), "team", "", "team.view"),
    Destination("memory:curation_settings", _("Learning settings"), "memory", _("curation rules")),
    Destination("memory:review_rules", _("Review rules"), "check", _("automatic approve")),
    Destination("memory:policy", _("Memory quotas"), "memory", _("limits retention expiry")),
    Destination("memory:emergency_access", _("Emergency access"), "key"),
    Destination("memory:exchange", _("Import & export memory"), "download", _("backup")),
    Destination("memory:erase", _("Erase a person's memory"), "forget", _("GDPR delete")),
)

ACTIONS: Final = (
    Destination("workflows:new", _("New workflow"), "plus", _("create add"), "workflow.create"),
    Destination("workflows:import", _("Import a workflow"), "upload", "YAML", "workflow.create"),
    Destination("workflows:new_folder", _("New folder"), "folder-new", "", "workflow.edit"),
    Destination("memory:knowledge_new", _("New knowledge page"), "plus", _("create add")),
    Destination(
        "workflows:providers",
        _("Connect a model"),
        "model",
        _("Ollama OpenAI"),
        "credential.manage",
    ),
    Destination(
        "accounts:keys", _("Create API key"), "key", _("token"), "key.manage", fragment="#keys-new"
    ),
    Destination(
        "accounts:team", _("Invite a teammate"), "person", _("member add"), "member.manage"
    ),
    Destination("", _("Switch theme"), "theme", _("dark light mode"), action="theme"),
    Destination("", _("Keyboard shortcuts"), "info", _("help keys"), action="shortcuts"),
    Destination("account_logout", _("Sign out"), "sign-out", _("log out leave")),
)


def find_destinations(
    destinations: tuple[Destination, ...], principal: Principal, team_id: UUID, query: str
) -> Iterator[Destination]:
    """Yield the destinations with words that begin with those of the query, best first."""
    terms = query.casefold().split()
    matches = [item for item in destinations if _matches(item, terms)]
    matches.sort(key=lambda item: not str(item.label).casefold().startswith(query.casefold()))
    yield from (item for item in matches if _is_open(item, principal, team_id))


def _matches(destination: Destination, terms: list[str]) -> bool:
    """Return whether each term begins a word of the destination, or is a part of its label, as in Chinese."""
    label = str(destination.label).casefold()
    words = f"{label} {destination.words}".casefold().split()
    return all(term in label or any(word.startswith(term) for word in words) for term in terms)


def _is_open(destination: Destination, principal: Principal, team_id: UUID) -> bool:
    if destination.url_name.startswith("memory:") and not memory_app.is_on():
        return False
    if destination.verb and not can(principal, destination.verb, team_id):
        return False
    return bool(destination.action) or _is_installed(destination)


def _is_installed(destination: Destination) -> bool:
    try:
        return bool(destination.url)
    except NoReverseMatch:
        return False
