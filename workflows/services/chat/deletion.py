"""Delete a conversation: what was said in it, and what is kept of it."""

from uuid import UUID

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import memory_app, permissions
from workflows.models import Conversation, Feedback, Run
from workflows.models.run import ENDED
from workflows.services import audit_lines
from workflows.services.runs.deletion import delete_run
from workflows.services.runs.runs import cancel_run


def delete_conversation(principal: Principal, *, conversation: Conversation) -> None:
    """Delete the conversation with its messages, feedback, variables, ended runs, and the memory that is its own.

    A turn that is still running is stopped; its run stays until its days are over. What was remembered of the person
    stays, as it does when a run is deleted, and so does memory that a conversation in another workflow shares.
    """
    permissions.check_change_conversation(principal, conversation)
    with tenant([conversation.team_id]):
        runs = Run.objects.visible_to(principal).filter(conversation=conversation)
        for run in runs.select_related("workflow", "api_key").order_by("pk"):
            _delete_turn(principal, run)
        if not _is_memory_shared(conversation):
            _forget_memory(principal, conversation.team_id, conversation.key)
        Conversation.objects.unscoped().filter(pk=conversation.pk).delete()
        audit_lines.record(principal, conversation, "conversation.deleted")


def _delete_turn(principal: Principal, run: Run) -> None:
    if run.status in ENDED:
        delete_run(principal, run)
        return
    cancel_run(principal, run)
    Feedback.objects.unscoped().filter(run=run).delete()


def _is_memory_shared(conversation: Conversation) -> bool:
    same_key = Conversation.objects.unscoped().filter(
        team_id=conversation.team_id, key=conversation.key
    )
    return same_key.exclude(pk=conversation.pk).exists()


def _forget_memory(principal: Principal, team_id: UUID, key: str) -> None:
    """Forget what memory keeps of the conversation alone, such as its history.

    Whoever may delete the conversation may do that, as its runs could.
    """
    if not memory_app.is_on():
        return
    identity = {"conversation_id": key}
    reach = frozenset([memory_app.resolve_namespace("conversation", identity)])
    caller = memory_app.MemoryCaller(principal, team_id, identity=identity, reach=reach)
    memory_app.clear(caller, scope="conversation", reason="conversation deleted")
