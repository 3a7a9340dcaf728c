"""The embeddings of entries and the queue of entries that wait for one. They are derived and can be rebuilt.

The vector is no field of the model, because only databases with pgvector have its column; see
``memory.embedding.vector_column``.
"""

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantManager, TenantModel
from memory.models.entries import ByEntryQuerySet, Entry
from memory.models.namespaces import Namespace


class Embedding(TenantModel):
    """The embedding of one entry, whose row is written with the entry. It waits to be embedded while ``due_at`` is set.

    ``model`` and ``dimensions`` describe the stored vector. ``text_hash`` is the hash of the present text; the vector of
    an older text is not used.
    """

    # Rows are written with the entry, under its namespace's lock, so the database need not check foreign keys.
    entry = models.OneToOneField(
        Entry, on_delete=models.PROTECT, related_name="+", db_constraint=False, editable=False
    )
    namespace = models.ForeignKey(
        Namespace,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
        editable=False,
    )
    number = models.IntegerField(editable=False)  # the entry's number in the postings
    text_hash = models.CharField(max_length=64, editable=False)
    model = models.CharField(_("embedding model"), max_length=200, blank=True, editable=False)
    dimensions = models.PositiveIntegerField(_("dimensions"), default=0, editable=False)
    embedded_at = models.DateTimeField(_("embedded at"), null=True, editable=False)
    due_at = models.DateTimeField(_("next attempt at"), null=True, editable=False)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0, editable=False)
    problem = models.CharField(_("problem"), max_length=300, blank=True, editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(ByEntryQuerySet)()

    class Meta:
        verbose_name = _("memory embedding")
        verbose_name_plural = _("memory embeddings")
        ordering = ("-embedded_at", "-id")
        indexes = (
            # A query reads the vectors of one model in its namespace.
            models.Index(
                fields=("namespace", "model", "dimensions"),
                condition=Q(embedded_at__isnull=False),
                name="memory_embedding_of",
            ),
            models.Index(
                fields=("team", "due_at"),
                condition=Q(due_at__isnull=False),
                name="memory_embedding_due",
            ),
        )

    def __str__(self) -> str:
        return self.model
