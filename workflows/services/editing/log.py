"""Write, read and announce the log of a draft, which has one revision for each edit."""

import json
import logging
import time
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from redis import Redis
from redis.exceptions import RedisError

from accounts.principals import Principal, UserPrincipal
from workflows.engine.editing.encode import write_ops
from workflows.engine.editing.ops import Op
from workflows.execution.events.bus import RETRY_AFTER, get_bus_url
from workflows.live.publish import get_channel
from workflows.models import Revision, Workflow
from workflows.models.editing import RevisionKind


MAX_LABEL_LENGTH = 255

log = logging.getLogger(__name__)

_silent_until: Final = {"at": 0.0}  # after a failure, nothing is published for a while


def record(
    principal: Principal,
    workflow: Workflow,
    *,
    ops: Sequence[Op],
    inverse: Sequence[Op],
    label: str = "",
    base_revision: int | None = None,
    client: str = "",
    idempotency_key: str | None = None,
    kind: RevisionKind = RevisionKind.EDIT,
    undoes: int | None = None,
    changed: Iterable[str] = (),
) -> Revision:
    """Write and announce the next revision. The caller has locked the workflow and written the draft's other rows.

    ``changed`` are the names of further fields of the workflow's own row to save.
    """
    workflow.revision += 1
    workflow.save(update_fields=["revision", "updated_at", *changed])
    revision = Revision(
        team_id=workflow.team_id,
        workflow=workflow,
        number=workflow.revision,
        base=workflow.revision - 1 if base_revision is None else base_revision,
        kind=kind,
        undoes=undoes,
        author_id=principal.user_id,
        actor=principal.actor,
        client=client,
        key=idempotency_key or None,
        label=label[:MAX_LABEL_LENGTH],
        ops=write_ops(ops),
        inverse=write_ops(inverse),
    )
    if isinstance(principal, UserPrincipal):
        revision.author = principal.user  # avoids another query for the name
    revision.save(force_insert=True)
    announce(workflow, revision)
    return revision


def record_creation(principal: Principal, workflow: Workflow) -> None:
    """Write the first revision, the draft as it was created. It cannot be undone."""
    Revision.objects.create(
        team_id=workflow.team_id,
        workflow=workflow,
        number=workflow.revision,
        base=workflow.revision - 1,
        author_id=principal.user_id,
        actor=principal.actor,
        label=_("Created the workflow"),
        ops=[],
        inverse=[],
    )


def list_revisions(workflow: Workflow) -> QuerySet[Revision]:
    """Return the workflow's revisions. The caller has found the workflow and may therefore see them."""
    return Revision.objects.unscoped().filter(workflow=workflow).select_related("author")


def list_revisions_after(workflow: Workflow, number: int, limit: int) -> list[Revision] | None:
    """Return the revisions after ``number``, in order, or None if there are more than ``limit`` or some are missing."""
    rows = list_revisions(workflow).filter(number__gt=number).order_by("number")
    revisions = list(rows[: limit + 1])
    is_complete = len(revisions) == max(0, workflow.revision - number)
    return revisions if is_complete and len(revisions) <= limit else None


def announce(workflow: Workflow, revision: Revision) -> None:
    """Announce the revision to the open editors after the commit. Those that a message doesn't reach poll later."""
    message = json.dumps({"revision": revision.number, "client": revision.client})
    channel = get_channel(workflow.pk)
    transaction.on_commit(lambda: _publish(channel, message))


def _publish(channel: str, message: str) -> None:
    url = get_bus_url()
    if url is None or time.monotonic() < _silent_until["at"]:
        return
    try:
        _connect(url).publish(channel, message)
    except (RedisError, OSError) as error:
        # An unreachable bus must not delay every edit.
        _silent_until["at"] = time.monotonic() + RETRY_AFTER
        log.warning("bus_publish_failed", extra={"reason": str(error)})


@cache
def _connect(url: str) -> Redis:
    """Return the process's connection pool: a connection for each message would cost more than the edit."""
    return Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1)
