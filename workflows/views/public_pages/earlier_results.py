"""The earlier results of a form, from which a visitor opens one again."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from accounts.principals import Principal
from workflows.engine.language.document import Json
from workflows.models import Run, Workflow
from workflows.models.run import Channel
from workflows.services.runs.runs import resolve_subject
from workflows.views.public_pages.addresses import PublicChatUrls


MAX_RESULTS: Final = 20
MAX_LENGTH: Final = 80  # characters of the input that names a result
_OF_PAGES: Final = (Channel.LINK, Channel.EMBED)


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """A run of the form. ``begin`` is the first text that was entered, if there was one."""

    url: str
    created_at: datetime
    begin: str
    has_ended: bool


def list_earlier_results(
    principal: Principal, workflow: Workflow, urls: PublicChatUrls
) -> list[EarlierResult]:
    """Return the visitor's last runs of the form, the newest first."""
    subject = resolve_subject(principal, None).id
    runs = Run.objects.visible_to(principal).filter(
        workflow=workflow, subject=subject, channel__in=_OF_PAGES, parent=None
    )
    return [
        EarlierResult(
            urls.get("result", run.pk),
            run.created_at,
            _find_begin((run.inputs or {}).values()),
            run.has_ended,
        )
        for run in runs.order_by("-created_at", "-id")[:MAX_RESULTS]
    ]


def _find_begin(values: Iterable[Json]) -> str:
    """Return the first text among the inputs in one line."""
    texts = (" ".join(value.split()) for value in values if isinstance(value, str))
    return next((text[:MAX_LENGTH] for text in texts if text), "")
