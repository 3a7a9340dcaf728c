"""A run as the caller of Dify's API knows it: the ids of its task, its message and its conversation.

``task_id`` is the id of the run. It stops the run while that is alive, and does nothing afterwards. A message has the id
of its turn; the answer of an app that completes a text belongs to no conversation, and has the id of its run.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from accounts.principals import Principal
from workflows.dify_api.apps import CHAT, App, make_end_user_id
from workflows.engine.language.document import Json
from workflows.models import Message, Run
from workflows.models.run import RunStatus


@dataclass(frozen=True, slots=True)
class Call:
    """One run of an app. ``mode`` is that of the route which started it."""

    principal: Principal
    run: Run
    mode: str
    message_id: str = ""
    conversation_id: str = ""
    created_at: int = 0
    with_memory_events: bool = False

    @property
    def is_chat(self) -> bool:
        return self.mode == CHAT

    @property
    def task_id(self) -> str:
        return str(self.run.pk)

    @property
    def workflow_id(self) -> str:
        return get_workflow_id(self.run)

    @property
    def created_by(self) -> dict[str, Json]:
        return {"id": get_end_user_id(self.run), "user": self.run.subject}


def build_call(app: App, run: Run, mode: str, *, with_memory_events: bool = False) -> Call:
    message = None
    if mode == CHAT:
        rows = Message.objects.visible_to(app.principal).filter(run=run)
        message = rows.select_related("conversation").first()
    return Call(
        app.principal,
        run,
        mode,
        message_id=str(message.pk if message else run.pk),
        conversation_id=message.conversation.key if message else "",
        created_at=to_seconds(message.created_at if message else run.created_at) or 0,
        with_memory_events=with_memory_events,
    )


def get_workflow_id(run: Run) -> str:
    """Return the id with which a later call pins the version that this run executed."""
    return str(run.version_id or run.workflow_id)


def get_end_user_id(run: Run) -> str:
    return str(make_end_user_id(run.workflow_id, run.subject))


def get_status(run: Run) -> str:
    """Return Dify's status. A run that waits in the queue is a running one."""
    return "running" if run.status == RunStatus.QUEUED else str(run.status)


def to_seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


def parse_message_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
