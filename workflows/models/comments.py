"""Comments of members on a workflow or on one of its nodes."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import link_to_user, link_to_workflow


MAX_COMMENT_LENGTH = 10_000


class Comment(TenantModel):
    """The first comment of a thread, or a reply to it (``thread``). Only the first can be resolved.

    ``node`` is a key, not a foreign key: a node that is deleted and restored by undo has its comments again.
    """

    workflow_lookup = "workflow_id"

    workflow = link_to_workflow("comments")
    thread = models.ForeignKey(
        "self",
        verbose_name=_("replies"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="answers",
    )
    node = models.CharField(_("node"), max_length=255, blank=True)
    # The key of the author, a person or an API key. ``author_name`` remains when the author is deleted.
    actor = models.CharField(_("actor"), max_length=255)
    author = link_to_user(_("author"))
    author_name = models.CharField(_("author's name"), max_length=255)
    body = models.TextField(_("text"), blank=True, max_length=MAX_COMMENT_LENGTH)
    mentions = ArrayField(models.UUIDField(), verbose_name=_("mentions"), default=list, blank=True)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)
    changed_at = models.DateTimeField(_("changed at"), auto_now=True)
    edited_at = models.DateTimeField(_("edited at"), null=True, blank=True)
    resolved_at = models.DateTimeField(_("resolved at"), null=True, blank=True)
    resolved_by = models.CharField(_("resolved by"), max_length=255, blank=True)
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)

    class Meta:
        verbose_name = _("comment")
        verbose_name_plural = _("comments")
        ordering = ["workflow", "created_at", "id"]
        indexes = [models.Index(fields=["workflow", "node", "created_at"], name="comment_of_node")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(thread=None) | models.Q(resolved_at=None),
                name="comment_thread_resolved_as_one",
            ),
            models.CheckConstraint(
                condition=models.Q(deleted_at=None) | models.Q(body=""),
                name="comment_deleted_is_empty",
            ),
        ]

    def __str__(self) -> str:
        return self.body[:60]

    @property
    def is_resolved(self) -> bool:
        return self.resolved_at is not None

    @property
    def is_deleted(self) -> bool:
        return self.deleted_at is not None
