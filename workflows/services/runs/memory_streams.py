"""Whose a workflow's own memory is in a run: the group it is for, and the workflows merged into one.

Each workflow has a stream of its own; merged ones have another, which none of them sees alone. The
stream is made of ids: names can be changed and given to another, and then memory would be too.
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


MOST_MERGED: Final = 8
VARIABLES: Final = ("group_id", "workflow_names")

# It becomes part of a namespace; see memory.core.scopes.
_GROUP = re.compile(r"[!-9;-~]{1,80}")


@dataclass(frozen=True, slots=True)
class Stream:
    group: str | None = None
    merged: tuple[Workflow, ...] = ()


def system_of(principal: Principal, workflow: Workflow, stream: Stream | None) -> dict[str, Json]:
    """Its system variables. Who merges workflows may run each of them."""
    system: dict[str, Json] = {}
    if stream is None:
        return system
    if stream.group is not None:
        if not _GROUP.fullmatch(stream.group):
            words = _("A group ID has 1 to 80 visible ASCII characters and no colon.")
            raise InvalidValue(words, field="group_id")
        system["group_id"] = stream.group
    if stream.merged:
        parts = [workflow, *stream.merged]
        if len(stream.merged) > MOST_MERGED or len({one.pk for one in parts}) < len(parts):
            raise InvalidValue(_("Merge different workflows, and not too many."), field="merge")
        for other in stream.merged:
            if other.team_id != workflow.team_id:
                raise NotFound(field="merge")
            permissions.check_run(principal, other)
        system["workflow_names"] = [str(one.pk) for one in parts]
    return system


def carried(system: Mapping[str, Json]) -> dict[str, Json]:
    """What a run that goes on with another's results takes over from it."""
    return {name: system[name] for name in VARIABLES if name in system}
