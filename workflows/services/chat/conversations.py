"""Open, continue, rename and archive conversations."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.principals import get_key_id
from accounts.tenancy import joined_tenant, tenant
from config.ids import is_identifier, normalize_identifier
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.errors import INVALID_IDENTIFIER, InvalidValue
from workflows.models import Conversation, Message, Run, Workflow
from workflows.models.conversation import new_key


MAX_NAME_LENGTH = 60


def open_conversation(
    principal: Principal,
    *,
    workflow: Workflow,
    subject: str,
    subject_user_id: UUID | None = None,
    key: str | None = None,
    variables: Mapping[str, Json] | None = None,
) -> Conversation:
    """Return the workflow's conversation with this key, or a new one.

    It is locked until the caller's transaction ends. Raises NotFound for the key of another user or subject in any workflow
    of the team: it names a memory namespace, so access to the conversation would be access to that memory. The same
    person's conversations in several workflows have messages of their own, and share this memory.
    """
    permissions.check_run(principal, workflow)
    if key is not None:
        key = normalize_identifier(key)
        if not is_identifier(key):
            raise InvalidValue(INVALID_IDENTIFIER, field="conversation_id")
    with joined_tenant([workflow.team_id]):
        new = Conversation(
            team_id=workflow.team_id,
            workflow=workflow,
            key=key or new_key(),
            subject=subject,
            subject_user_id=subject_user_id,
            started_by_id=principal.user_id,
            api_key_id=get_key_id(principal),
            variables=dict(variables or {}),
        )
        if key is None:
            new.save(force_insert=True)
            return new
        Conversation.objects.bulk_create([new], ignore_conflicts=True)
        # Locked before other rows refer to it, so that concurrent turns wait here in one order
        # and cannot deadlock at the rows that they write later.
        conversation = (
            Conversation.objects.visible_to(principal)
            .filter(team_id=workflow.team_id, workflow=workflow, key=new.key)
            .select_for_update(of=("self",), no_key=True)
            .first()
        )
        if conversation is None or conversation.subject != subject:
            raise NotFound(_("Conversation not found."), field="conversation_id")
        if conversation.pk == new.pk:
            _check_same_person(principal, new)
        return conversation


def _check_same_person(principal: Principal, new: Conversation) -> None:
    """Raise NotFound, which takes the new row back, if its key is that of another user or subject in the team.

    The lock lets only one of several people begin a conversation with a new key, each in another workflow.
    """
    lock = "SELECT pg_advisory_xact_lock(hashtext('conversation-key'), hashtext(%s))"
    with connection.cursor() as cursor:
        cursor.execute(lock, [f"{new.team_id} {new.key}"])
    same_key = Conversation.objects.unscoped().filter(team_id=new.team_id, key=new.key)
    visible_rows = Conversation.objects.visible_to(principal).filter(subject=new.subject)
    if same_key.exclude(pk__in=visible_rows.filter(key=new.key).values("pk")).exists():
        raise NotFound(_("Conversation not found."), field="conversation_id")


def add_message(conversation: Conversation, *, run: Run, query: str, answer: str) -> None:
    """Add the turn of a run that was just stored. The caller has opened the conversation, which locks it."""
    with joined_tenant([conversation.team_id]):
        conversation.dialogue_count += 1
        conversation.last_message_at, conversation.archived_at = timezone.now(), None
        conversation.name = conversation.name or " ".join(query.split())[:MAX_NAME_LENGTH]
        conversation.save(
            update_fields=["dialogue_count", "last_message_at", "archived_at", "name"]
        )
        Message.objects.create(
            team_id=conversation.team_id,
            conversation=conversation,
            run=run,
            number=conversation.dialogue_count,
            query=query,
            answer=answer,
        )


def save_variables(conversation: Conversation, variables: Mapping[str, Json]) -> None:
    """Replace the stored conversation variables. The given conversation object is not changed."""
    with tenant([conversation.team_id]):
        Conversation.objects.unscoped().filter(pk=conversation.pk).update(variables=dict(variables))


def change_variables(
    principal: Principal, *, conversation: Conversation, values: Mapping[str, Json]
) -> None:
    """Set some of the stored conversation variables, for the next turn. The others stay."""
    permissions.check_change_conversation(principal, conversation)
    with tenant([conversation.team_id]):
        rows = Conversation.objects.unscoped().select_for_update(no_key=True)
        locked = rows.get(pk=conversation.pk)
        locked.variables = {**locked.variables, **values}
        locked.save(update_fields=["variables"])


def archive(principal: Principal, *, conversation: Conversation) -> Conversation:
    """Hide the conversation from the lists. Nothing is deleted, and a new message restores it."""
    return _set_archived(principal, conversation, timezone.now())


def unarchive(principal: Principal, *, conversation: Conversation) -> Conversation:
    """Show the conversation in the lists again."""
    return _set_archived(principal, conversation, None)


def rename(principal: Principal, *, conversation: Conversation, name: str) -> Conversation:
    """Rename the conversation; the name is cut to 255 characters."""
    permissions.check_change_conversation(principal, conversation)
    with tenant([conversation.team_id]):
        conversation.name = " ".join(name.split())[:255]
        conversation.save(update_fields=["name"])
    return conversation


def _set_archived(
    principal: Principal, conversation: Conversation, archived_at: datetime | None
) -> Conversation:
    permissions.check_change_conversation(principal, conversation)
    with tenant([conversation.team_id]):
        conversation.archived_at = archived_at
        conversation.save(update_fields=["archived_at"])
    return conversation
