"""The memory stream of a run: the memory of its workflow, or one that it shares with a group or other workflows.

Each workflow has its own stream, and merged workflows have an additional stream, which none of them can read alone.
Streams are identified by the workflows' ids, because the name of a workflow can be used again.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.errors import InvalidValue
from workflows.models import Workflow


MAX_MERGED: Final = 8
STREAM_VARIABLES: Final = ("group_id", "workflow_names")

# A group id must be valid in the name of a memory namespace; see memory.core.scopes.
_GROUP = re.compile(r"[!-9;-~]{1,80}")


@dataclass(frozen=True, slots=True)
class MemoryStream:
    """The requested stream: the id of a group, and the workflows that share a memory with the one that runs."""

    group: str | None = None
    merged: tuple[Workflow, ...] = ()


def build_stream_variables(
    principal: Principal, workflow: Workflow, stream: MemoryStream | None
) -> dict[str, Json]:
    """Return the stream's system variables. Merging workflows requires the permission to run each of them."""
    system: dict[str, Json] = {}
    if stream is None:
        return system
    if stream.group is not None:
        if not _GROUP.fullmatch(stream.group):
            message = _("A group ID has 1 to 80 visible ASCII characters and no colon.")
            raise InvalidValue(message, field="group_id")
        system["group_id"] = stream.group
    if stream.merged:
        merged_ids = [str(merged.pk) for merged in (workflow, *stream.merged)]
        if len(stream.merged) > MAX_MERGED or len(set(merged_ids)) < len(merged_ids):
            raise InvalidValue(_("Merge different workflows, and not too many."), field="merge")
        for other in stream.merged:
            if other.team_id != workflow.team_id:
                raise NotFound(field="merge")
            permissions.check_run(principal, other)
        system["workflow_names"] = merged_ids
    return system


def copy_stream_variables(system: Mapping[str, Json]) -> dict[str, Json]:
    """Return those of the system variables that select the memory stream, for a run that reuses this run's results."""
    return {name: system[name] for name in STREAM_VARIABLES if name in system}
