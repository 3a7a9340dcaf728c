"""A file of a run: uploaded by a person or a program, or stored by a step. Its content is in the file store."""

from typing import Any, ClassVar, Self, TypeVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.personal import Personal, PersonalManager, PersonalQuerySet


M = TypeVar("M", bound=models.Model)


class StoredFileQuerySet(PersonalQuerySet[M]):
    """A queryset of files. A row whose removal has begun is there only until its content is removed."""

    def visible_to(self, principal: Any) -> Self:  # Any: models don't import accounts.access
        return super().visible_to(principal).filter(removed_at__isnull=True)


class StoredFile(Personal):
    """The name, the type and the owner of a stored file.

    ``media_type``, ``kind`` and ``extension`` are found by the content, and never taken from the name alone. The row
    refers to runs by their ids, without a foreign key: a file is removed some time after its last run.
    """

    class Origin(models.TextChoices):
        UPLOAD = "upload", _("Uploaded")
        STEP = "step", _("Stored by a step")
        # It has no run: memory removes it with the document.
        DOCUMENT = "document", _("Document of a knowledge base")

    class Kind(models.TextChoices):
        IMAGE = "image", _("Image")
        DOCUMENT = "document", _("Document")
        AUDIO = "audio", _("Audio")
        VIDEO = "video", _("Video")
        CUSTOM = "custom", _("Other")

    workflow_lookup = "api_key__workflow_id"

    name = models.CharField(_("name"), max_length=255)
    extension = models.CharField(_("extension"), max_length=20, blank=True)
    media_type = models.CharField(_("media type"), max_length=150)
    kind = models.CharField(_("type"), max_length=10, choices=Kind)
    size = models.PositiveBigIntegerField(_("size in bytes"))
    sha256 = models.CharField(_("SHA-256"), max_length=64)
    # Where the store keeps the content: never a name that a person or a program chose.
    path = models.CharField(_("path in the store"), max_length=200)
    origin = models.CharField(_("origin"), max_length=10, choices=Origin, default=Origin.UPLOAD)
    run_ids = ArrayField(models.UUIDField(), verbose_name=_("runs"), default=list, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    # The time after which a file that no run has used is removed.
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    removed_at = models.DateTimeField(_("removed at"), null=True, blank=True)

    objects: ClassVar[PersonalManager[Self]] = PersonalManager.from_queryset(StoredFileQuerySet)()

    class Meta:
        verbose_name = _("file")
        verbose_name_plural = _("files")
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=["image", "document", "audio", "video", "custom"]),
                name="storedfile_kind_known",
            ),
            models.UniqueConstraint(fields=["team", "path"], name="storedfile_path_once"),
        ]
        indexes = [
            models.Index(fields=["team", "subject"], name="storedfile_of_person"),
            models.Index(
                fields=["team", "expires_at"],
                condition=models.Q(expires_at__isnull=False),
                name="storedfile_expiry",
            ),
            models.Index(
                fields=["team"],
                condition=models.Q(removed_at__isnull=False),
                name="storedfile_to_remove",
            ),
            GinIndex(fields=["run_ids"], name="storedfile_of_run"),
        ]

    def __str__(self) -> str:
        return self.name
