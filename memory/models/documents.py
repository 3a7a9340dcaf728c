"""Documents that were uploaded into a knowledge base. Each row is the job that makes pages of the file."""

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantManager, TenantModel
from memory.models.conditions import build_choices_constraint
from memory.models.jobs import Job, JobStatus
from memory.models.namespaces import Namespace, NamespacedQuerySet


class DocumentUploadQuerySet(NamespacedQuerySet["DocumentUpload"]):
    """Uploads, which are as visible as their namespace."""


class DocumentUpload(Job, TenantModel):
    """An upload of a document. A worker reads it with the present rights of the account or key that uploaded it.

    The document itself is the wiki source ``source_id`` with the pages that cite it, and the source names the original
    that is in use; the row says what became of the upload. It refers to the original in the file store by its id.
    """

    namespace = models.ForeignKey(
        Namespace, on_delete=models.PROTECT, related_name="+", verbose_name=_("namespace")
    )
    source_id = models.CharField(_("source"), max_length=200, editable=False)
    name = models.CharField(_("file name"), max_length=255, editable=False)
    size = models.PositiveBigIntegerField(_("size in bytes"), editable=False)
    sha256 = models.CharField(_("SHA-256"), max_length=64, editable=False)
    file_id = models.UUIDField(_("file"), editable=False)
    subject = models.CharField(_("person"), max_length=200, editable=False)
    asked_by = models.UUIDField(_("requested by"), null=True, blank=True, editable=False)
    asked_with_key = models.UUIDField(_("API key"), null=True, blank=True, editable=False)
    page_count = models.PositiveIntegerField(_("pages"), default=0, editable=False)
    held_count = models.PositiveIntegerField(_("held pages"), default=0, editable=False)
    # Why it failed, or what people should know about the pages.
    problem = models.CharField(_("problem"), max_length=500, blank=True, editable=False)
    change_id = models.UUIDField(_("change"), null=True, blank=True, editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(DocumentUploadQuerySet)()

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        ordering = ("-created_at", "-id")
        constraints = (
            # A document is read once at a time.
            models.UniqueConstraint(
                fields=("namespace", "source_id"),
                condition=Q(status__in=("waiting", "running")),
                name="memory_document_open_once",
            ),
            build_choices_constraint("status", JobStatus, "memory_document_status"),
        )
        indexes = (
            models.Index(
                fields=("team", "created_at"),
                condition=Q(status__in=("waiting", "running")),
                name="memory_document_waiting",
            ),
            models.Index(fields=("namespace", "-created_at"), name="memory_document_newest"),
            models.Index(fields=("team", "subject"), name="memory_document_of_person"),
        )

    def __str__(self) -> str:
        return f"{self.name} {self.status}"
