"""Streams revisions, presence, comments and the caller's runs; the permission is checked again every few seconds."""

from collections.abc import AsyncIterator
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from accounts.principals import UserPrincipal, get_principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.execution.events.reader import StreamEvent
from workflows.live.draft_feed import follow, get_draft_feed
from workflows.live.tabs import Tab, build_card
from workflows.sse import (
    HEADERS,
    PING_SECONDS,
    RETRY_MS,
    build_frame,
    close_connections,
    read_last_event_id,
)
from workflows.views.editor.collaboration.presence import validate_client
from workflows.views.request_context import find_workflow


@require_safe
async def live(request: HttpRequest, workflow_id: UUID) -> HttpResponseBase:
    """Stream the events to a tab until it disconnects."""
    tab = await sync_to_async(_create_tab)(request, workflow_id)
    return StreamingHttpResponse(
        _stream_events(tab), content_type="text/event-stream", headers=HEADERS
    )


async def _stream_events(tab: Tab) -> AsyncIterator[bytes]:
    yield f"retry: {RETRY_MS}\n\n".encode()
    async for event in follow(get_draft_feed(), tab, idle_seconds=PING_SECONDS):
        if event is None:
            yield b": still here\n\n"
        else:
            yield build_frame(StreamEvent(event.name, event.data, event.revision))


def _create_tab(request: HttpRequest, workflow_id: UUID) -> Tab:
    """Return the tab for the draft's feed; raise Http404 unless a person is signed in."""
    principal = get_principal(request)
    if not isinstance(principal, UserPrincipal):
        raise Http404
    with close_connections(), tenant(principal.team_ids):
        _principal, workflow = find_workflow(request, workflow_id)
        client = validate_client(request.GET.get("client", ""))
        # A tab that sends its last revision gets the later ones at once; a new tab is up to date.
        last_revision = read_last_event_id(request) or workflow.revision
        tab = Tab(
            team_id=workflow.team_id,
            workflow_id=workflow.pk,
            user_id=principal.user.pk,
            client=client,
            revision=min(last_revision, workflow.revision),
            card=build_card(
                principal.user, client, can_edit=permissions.may_edit(principal, workflow)
            ),
            session=request.session.session_key or "",
        )
        tab.put_revision(workflow.revision, None)
    return tab
