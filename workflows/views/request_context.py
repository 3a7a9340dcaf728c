"""What every view begins with: who asks, what for, and what was sent.

Of an archived workflow there is only what merely shows it: what asks for no more says so (``archived``).
"""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.http import HttpRequest, QueryDict

from accounts.errors import NotFound
from accounts.principals import Principal, get_principal
from workflows import selectors
from workflows.models import ModelProvider, Run, Workflow


def workflow_for(
    request: HttpRequest, workflow_id: UUID, verb: str = "view", *, archived: bool = False
) -> tuple[Principal, Workflow]:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, verb)
    if workflow.is_archived and not archived:
        raise NotFound
    return principal, workflow


def run_for(request: HttpRequest, run_id: UUID) -> tuple[Principal, Run]:
    principal = get_principal(request)
    return principal, selectors.run_for(principal, run_id)


def provider_for(request: HttpRequest, provider_id: UUID) -> tuple[Principal, ModelProvider]:
    principal = get_principal(request)
    return principal, selectors.provider_for(principal, provider_id, change=True)


def posted(request: HttpRequest) -> QueryDict | None:
    """What binds a form: an empty form that was sent is wrong, one that is first shown isn't."""
    return request.POST if request.method == "POST" else None


def typed(data: Mapping[str, str], name: str) -> str:
    """What was typed, without the character that no database can keep."""
    return data.get(name, "").replace("\x00", "").strip()


def ids_of(texts: Iterable[str]) -> list[UUID]:
    """What is no id names nothing that is there."""
    try:
        return [UUID(text) for text in texts]
    except ValueError as error:
        raise NotFound from error
