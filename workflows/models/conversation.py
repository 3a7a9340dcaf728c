"""A chat thread: the person it is for, its variables and its turns."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from config.ids import uuid7
from workflows.models.fields import VerbatimJSONField
from workflows.models.personal import Personal


def new_key() -> str:
    return str(uuid7())


class Conversation(Personal):
    """A conversation. ``key`` is the value of ``sys.conversation_id``, unique in the workflow.

    It names a memory namespace of the team, so conversations with the same key, each of another workflow, are always of
    the same person, which ``open_conversation`` checks.
    """

    workflow_lookup = "workflow_id"

    workflow = models.ForeignKey(
        "workflows.Workflow", on_delete=models.CASCADE, related_name="conversations"
    )
    key = models.CharField(_("key"), max_length=255, default=new_key)
    name = models.CharField(_("name"), max_length=255, blank=True)
    variables = VerbatimJSONField(_("variables"), default=dict, blank=True)
    # The variables and answers that contain external text, by their names in ``workflows.engine.language.content_marks.untrusted``.
    outside = ArrayField(
        models.TextField(), verbose_name=_("external content"), default=list, blank=True
    )
    # The words of memories in its answers and variables; see ``workflows.engine.language.content_marks.shown_memories``.
    shown_memories = ArrayField(
        models.TextField(),
        verbose_name=_("shown memories"),
        default=list,
        db_default=[],
        blank=True,
    )
    dialogue_count = models.PositiveIntegerField(_("turns"), default=0)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    last_message_at = models.DateTimeField(_("last message at"), null=True, blank=True)
    archived_at = models.DateTimeField(_("archived at"), null=True, blank=True)

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "key", "workflow"], name="conversation_key_once_a_workflow"
            )
        ]
        indexes = [
            models.Index(
                fields=["workflow", "subject", "-created_at"], name="conversation_of_subject"
            )
        ]

    def __str__(self) -> str:
        return self.name or self.key


class Message(TenantModel):
    """One turn: a query and its answer. ``number`` counts turns from 1."""

    workflow_lookup = "conversation__workflow_id"

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="messages", db_index=False
    )
    run = models.ForeignKey(
        "workflows.Run",
        verbose_name=_("run"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        db_constraint=False,
        related_name="messages",
    )
    number = models.PositiveIntegerField(_("number"))
    query = models.TextField(_("query"))
    answer = models.TextField(_("answer"), blank=True)
    # Whether the answer may contain external text; the run, which says it as well, may have been deleted.
    is_untrusted = models.BooleanField(_("has external content"), default=False, db_default=False)
    # What a model suggested to ask next; empty until somebody wants to know.
    follow_ups = ArrayField(
        models.TextField(),
        verbose_name=_("follow-up questions"),
        default=list,
        db_default=[],
        blank=True,
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ["conversation", "number"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "number"], name="message_number_once"),
            # A recovered run that ends a second time must not store its answer twice.
            models.UniqueConstraint(fields=["run"], name="message_once_a_run"),
        ]

    def __str__(self) -> str:
        return f"#{self.number}"
