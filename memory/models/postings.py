"""The search index of entries, derived from them; ``manage.py memory_reindex`` rebuilds it."""

from typing import ClassVar, Self

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantManager, TenantModel
from memory.models.namespaces import Namespace


class Posting(models.Model):
    """The entries with a term among a block of 256, packed; see ``memory.providers.postgres.postings``.

    This is no ``TenantModel``, because a separate id would make each row twice as large.
    """

    pk = models.CompositePrimaryKey("namespace", "term", "block")
    # A store writes about twenty rows under the namespace's lock, so the database need not check foreign keys.
    team = models.ForeignKey(
        "accounts.Team",
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    namespace = models.ForeignKey(
        Namespace, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    term = models.TextField(db_collation="C")
    block = models.IntegerField()
    packed = models.BinaryField()

    _unscoped = models.Manager()
    objects: ClassVar[TenantManager[Self]] = TenantManager()

    class Meta:
        verbose_name = _("search index term")
        verbose_name_plural = _("search index terms")
        ordering = ("namespace", "term", "block")

    def __str__(self) -> str:
        return f"{self.term} {self.block}"


class Group(TenantModel):
    """A group of neighbouring entries, with the last number and the last position that were assigned in it."""

    namespace = models.ForeignKey(
        Namespace, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    name = models.CharField(_("group"), max_length=200, editable=False)
    last_number = models.IntegerField(editable=False)
    last_position = models.PositiveIntegerField(editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager()

    class Meta:
        verbose_name = _("memory group")
        verbose_name_plural = _("memory groups")
        ordering = ("namespace", "name")
        constraints = (
            models.UniqueConstraint(fields=("namespace", "name"), name="memory_group_once"),
        )

    def __str__(self) -> str:
        return self.name
