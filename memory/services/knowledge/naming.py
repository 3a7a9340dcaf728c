"""Create a knowledge base with a name, rename it, and describe it."""

from itertools import chain, count
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AlreadyExists, InvalidInput
from memory.core.scopes import Scope, resolve_namespace
from memory.logic.knowledge.pages import build_slug
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace


MAX_NAME: Final = 100
MAX_DESCRIPTION: Final = 1_000


@retry_on_conflict
def create_knowledge_base(caller: MemoryCaller, *, name: str, description: str = "") -> Namespace:
    """Create an empty knowledge base that the team shares. Raise AlreadyExists if another one has its name."""
    name, description = _check_texts(name, description)
    with tenant([caller.team_id]):
        text = _pick_free_namespace(caller, name)
        with open_namespace(caller, "write", "memory.named", namespace=text) as access:
            row = access.claim()
            if row.name or row.entry_count:  # somebody else created it at the same moment
                raise _build_conflict(name)
            _set_texts(row, name, description)
            return row


@retry_on_conflict
def rename_knowledge_base(
    caller: MemoryCaller, *, namespace: str, name: str, description: str = ""
) -> Namespace:
    """Change the name that people read, and the description. Workflows know the namespace by its text, which stays."""
    name, description = _check_texts(name, description)
    with open_namespace(caller, "write", "memory.named", namespace=namespace) as access:
        if access.target.parsed.scope != Scope.GLOBAL:
            raise InvalidInput(
                _("namespace: only a knowledge base that the team shares has a name.")
            )
        row = access.claim()
        _set_texts(row, name, description)
        return row


def _check_texts(name: str, description: str) -> tuple[str, str]:
    """Return both without spaces at their ends; raise InvalidInput that names the field."""
    name, description = " ".join(name.split()), description.strip()
    if not name:
        raise InvalidInput(_("name: required."))
    for field, text, limit in (
        ("name", name, MAX_NAME),
        ("description", description, MAX_DESCRIPTION),
    ):
        if len(text) > limit:
            message = _("%(field)s: at most %(limit)d characters.")
            raise InvalidInput(message % {"field": field, "limit": limit})
    return name, description


def _set_texts(row: Namespace, name: str, description: str) -> None:
    same_name = Namespace.objects.unscoped().filter(
        team_id=row.team_id, scope=Scope.GLOBAL, name__iexact=name
    )
    if same_name.exclude(pk=row.pk).exists():
        raise _build_conflict(name)
    row.name, row.description = name, description
    row.save(update_fields=["name", "description"])


def _build_conflict(name: str) -> AlreadyExists:
    return AlreadyExists(_("There is a knowledge base with the name “%(name)s”.") % {"name": name})


def _pick_free_namespace(caller: MemoryCaller, name: str) -> str:
    """Return the text of a namespace that doesn't exist yet, as two names may have the same letters and digits."""
    slug = build_slug(name)
    candidates = chain([slug], (f"{slug}-{number}" for number in count(2)))
    for candidate in candidates:
        text = resolve_namespace(Scope.GLOBAL, {"app_id": candidate})
        if not _is_reserved(candidate) and rows.find_namespace(caller.team_id, text) is None:
            return text
    raise AssertionError  # the numbers have no end


def _is_reserved(slug: str) -> bool:
    """Return whether the slug is that of the team's memory, or of a workflow's, whose ids are UUIDs."""
    try:
        UUID(slug)
    except ValueError:
        return slug == "default"
    return True
