"""Folders of the Workflows page. They only decide where a workflow is listed."""

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.authored import Authored


MAX_DEPTH = 5  # a folder at the top is at level 1
MAX_FOLDERS = 500  # of a team: the whole tree is read at once, and offered in one list


class Folder(Authored, TenantModel):
    """A folder. ``parent`` is null at the top level. A row that still has subfolders or workflows can't be deleted."""

    name = models.CharField(_("name"), max_length=255)
    parent = models.ForeignKey(
        "self",
        verbose_name=_("parent folder"),
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="folders",
    )

    class Meta:
        verbose_name = _("folder")
        verbose_name_plural = _("folders")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                "team", "parent", Lower("name"), nulls_distinct=False, name="folder_name_once"
            ),
            models.CheckConstraint(
                condition=models.Q(parent=None) | ~models.Q(parent=models.F("id")),
                name="folder_not_in_itself",
            ),
        ]

    def __str__(self) -> str:
        return self.name
