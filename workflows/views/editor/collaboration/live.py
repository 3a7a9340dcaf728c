"""Streams revisions, presence, comments and the caller's runs; the permission is checked again every few seconds."""

from collections.abc import AsyncIterator
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from accounts.principals import UserPrincipal, get_principal
from config.http.event_streams import PING_FRAME, EventStream, opens_event_stream
from workflows import permissions
from workflows.execution.events.stream_events import StreamEvent
from workflows.live.draft_feed import follow, get_draft_feed
from workflows.live.tabs import Tab, build_card
from workflows.sse import PING_SECONDS, read_last_event_id
from workflows.views.editor.collaboration.presence import validate_client
from workflows.views.request_context import find_workflow


@opens_event_stream()
@require_safe
def live(request: HttpRequest, workflow_id: UUID) -> HttpResponseBase:
    """Stream the events to a tab until it disconnects."""
    return EventStream(_stream_frames(_create_tab(request, workflow_id)))


async def _stream_frames(tab: Tab) -> AsyncIterator[bytes]:
    async for event in follow(get_draft_feed(), tab, idle_seconds=PING_SECONDS):
        if event is None:
            yield PING_FRAME
        else:
            yield StreamEvent(event.name, event.data, event.revision).frame


def _create_tab(request: HttpRequest, workflow_id: UUID) -> Tab:
    """Return the tab for the draft's feed; raise Http404 unless a person is signed in."""
    principal = get_principal(request)
    if not isinstance(principal, UserPrincipal):
        raise Http404
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
        card=build_card(principal.user, client, can_edit=permissions.may_edit(principal, workflow)),
        session=request.session.session_key or "",
    )
    tab.put_revision(workflow.revision, None)
    return tab
