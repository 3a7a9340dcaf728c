"""The gallery: looking at the shipped workflows, and taking a copy of one."""

from uuid import UUID

from accounts.access import Principal
from accounts.errors import NotFound
from workflows import permissions
from workflows.models import Workflow
from workflows.samples import BY_SLUG, SAMPLES, Sample
from workflows.services import importing


__all__ = ["SAMPLES", "Sample", "copy_sample"]


def copy_sample(principal: Principal, *, team_id: UUID, slug: str) -> Workflow:
    """A workflow of the team's own, made like any import, by the sample's name."""
    permissions.check_create(principal, team_id)
    sample = BY_SLUG.get(slug)
    if sample is None:
        raise NotFound
    document, _warnings = importing.read(sample.source, confirm_newer=False)
    return importing.create(
        principal, team_id=team_id, document=document, name=str(sample.title), sample=slug
    )
