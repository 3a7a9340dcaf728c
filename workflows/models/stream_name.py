"""The names of memory streams, under which workflows keep their memory. A name is given once and never again."""

from collections.abc import Iterator
from itertools import chain, count
from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel


# As long as an id in a memory namespace may be; see memory.core.scopes.
MAX_NAME: Final = 80


class StreamName(TenantModel):
    """The stream of a workflow, or of merged workflows in their order. It outlives them, so that no other inherits it."""

    name = models.CharField(_("name"), max_length=MAX_NAME, editable=False)
    workflow_ids = ArrayField(models.UUIDField(), verbose_name=_("workflows"), editable=False)

    class Meta:
        verbose_name = _("memory stream")
        verbose_name_plural = _("memory streams")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="stream_name_once"),
            models.UniqueConstraint(fields=["team", "workflow_ids"], name="stream_workflows_once"),
        ]

    def __str__(self) -> str:
        return self.name


def iter_names(stem: str) -> Iterator[str]:
    """Yield the name itself, and then the name with a number."""
    return chain([stem], (f"{stem}-{number}" for number in count(2)))
