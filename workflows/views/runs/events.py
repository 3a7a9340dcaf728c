"""The events of a run for a page, with its errors in the reader's language."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import get_language_from_request, override
from django.views.decorators.http import require_safe

from config.http.event_streams import OpenedStream, StreamRequest, opens_event_stream
from workflows import sse
from workflows.execution.events.stream_events import StreamEvent
from workflows.templatetags.run_errors import translate_error
from workflows.views.request_context import find_run


def open_streams(requests: Sequence[StreamRequest]) -> list[OpenedStream | None]:
    return sse.open_run_streams(requests, translate_event)


@opens_event_stream(open_streams)
@require_safe
def run_events(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """Stream a run's events to a page, authenticated by session."""
    principal, run = find_run(request, run_id)
    language = getattr(request, "LANGUAGE_CODE", "") or get_language_from_request(request)
    return sse.build_response(request, principal, run, translate=partial(translate_event, language))


def translate_event(language: str, event: StreamEvent) -> StreamEvent:
    """Return the event with its error in this language."""
    error = event.data.get("error")
    if not isinstance(error, str) or not error:
        return event
    with override(language):
        return replace(event, data={**event.data, "error": translate_error(error)})
