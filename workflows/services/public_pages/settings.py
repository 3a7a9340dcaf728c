"""The settings of a workflow's public page: who may open it, its link, and the sites that may embed it."""

import re
import secrets
from collections.abc import Sequence
from typing import Final

from django.contrib.auth.hashers import make_password
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.services import create_page_key
from accounts.tenancy import tenant
from workflows import permissions
from workflows.errors import InvalidValue
from workflows.models import PageAccess, PublicPage, Workflow
from workflows.models.public_pages.public_page import TOKEN_LENGTH
from workflows.services import audit_lines
from workflows.services.editor.drafts import lock


# To forget what is remembered about a visitor needs the last one, which changes no shared memory (``memory.permissions``).
PAGE_SCOPES: Final = ("workflows:read", "runs:read", "runs:write", "memory:read", "memory:write")
MIN_PASSWORD: Final = 8
MAX_PASSWORD: Final = 128
MAX_ORIGINS: Final = 20
_ORIGIN: Final = re.compile(r"https?://[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[0-9]{1,5})?")


def find_page(principal: Principal, workflow: Workflow) -> PublicPage | None:
    """Return the public page of the workflow, or None if it was never switched on."""
    permissions.check_view(principal, workflow)
    return PublicPage.objects.visible_to(principal).filter(workflow=workflow).first()


def change_page(
    principal: Principal,
    *,
    workflow: Workflow,
    access: str,
    password: str = "",
    origins: Sequence[str] | None = None,
) -> PublicPage:
    """Set who may open the page, and which sites may embed it. Without ``password`` or ``origins`` they stay.

    Raise InvalidValue for a password that is missing or too short, and for an address that is no origin.
    """
    permissions.check_share(principal, workflow)
    if access not in PageAccess.values:
        raise InvalidValue(_("Choose who may open the page."), field="access")
    _check_password(password)
    allowed = None if origins is None else check_origins(origins)
    with tenant([workflow.team_id]):
        page = _find_or_create(principal, lock(workflow))
        page.access = access
        if password:
            page.password = make_password(password)
        if access == PageAccess.PASSWORD and not page.password:
            raise InvalidValue(_("Set a password for the page."), field="password")
        if allowed is not None:
            page.origins = allowed
        page.save()
        audit_lines.record(
            principal, workflow, "workflow.page_changed", access=access, origins=len(page.origins)
        )
    return page


def renew_link(principal: Principal, *, workflow: Workflow) -> PublicPage:
    """Give the page a new link. The old one ends at once; visitors who get the new one keep their conversations."""
    permissions.check_share(principal, workflow)
    with tenant([workflow.team_id]):
        page = _find_or_create(principal, lock(workflow))
        page.token = _make_token()
        page.save(update_fields=["token", "updated_at"])
        audit_lines.record(principal, workflow, "workflow.page_changed", renewed=True)
    return page


def check_origins(texts: Sequence[str]) -> list[str]:
    """Return the origins, each once. Raise InvalidValue for an address with a path, or for anything else."""
    origins = list(
        dict.fromkeys(text.strip().lower().rstrip("/") for text in texts if text.strip())
    )
    if len(origins) > MAX_ORIGINS:
        message = _("At most %(count)s sites may embed the page.")
        raise InvalidValue(message % {"count": MAX_ORIGINS}, field="origins")
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            message = _(
                "“%(text)s” is not the address of a site, such as https://shop.example.com."
            )
            raise InvalidValue(message % {"text": origin[:80]}, field="origins")
    return origins


def _check_password(password: str) -> None:
    if password and not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        message = _("Use %(least)s to %(most)s characters.")
        values = {"least": MIN_PASSWORD, "most": MAX_PASSWORD}
        raise InvalidValue(message % values, field="password")


def _find_or_create(principal: Principal, workflow: Workflow) -> PublicPage:
    """Return the page of the locked workflow, which at first is off."""
    page = PublicPage.objects.visible_to(principal).filter(workflow=workflow).first()
    if page is not None:
        return page
    key = create_page_key(
        principal=principal,
        team=workflow.team,
        name=_("Public page: %(name)s") % {"name": workflow.name},
        account_name=workflow.name,
        scopes=PAGE_SCOPES,
        workflow_id=workflow.pk,
    )
    return PublicPage.objects.create(
        team_id=workflow.team_id,
        workflow=workflow,
        api_key=key,
        token=_make_token(),
        created_by_id=principal.user_id,
    )


def _make_token() -> str:
    return secrets.token_urlsafe(16)[:TOKEN_LENGTH]
