"""The choices in the form of a node that asks people: the members, the groups and the roles of the team."""

from typing import Any

from django.utils.translation import gettext as _

from accounts import selectors
from accounts.models import Role
from accounts.principals import Principal
from workflows.engine.answerers import FIELDS, TYPES
from workflows.engine.appearance import iter_objects
from workflows.engine.language.document import NodeSpec
from workflows.models import Workflow
from workflows.services.questions.people import describe_role


def build_people_context(
    principal: Principal, workflow: Workflow, spec: NodeSpec
) -> dict[str, Any]:
    """Build the context of *Who answers*. Stored values of people who are not in the team stay as choices."""
    team = selectors.find_team(principal, "team.view", workflow.team_id)
    members = selectors.list_members(principal, team)
    choices: dict[str, list[tuple[str, str]]] = {
        "member": sorted(
            ((str(member.user_id), str(member.user)) for member in members),
            key=lambda choice: choice[1].casefold(),
        ),
        "group": [(str(pk), name) for pk, name in selectors.list_group_choices(principal, team)],
        "role": [(role.value, describe_role(role)) for role in reversed(Role)],
    }
    for kind, value in _list_stored(spec):
        if value and value not in dict(choices.get(kind, ())):
            choices.setdefault(kind, []).append((value, _("Not in this team")))
    return {
        "answerer_types": [(name, _(label)) for name, label in TYPES],
        "people_choices": choices,
    }


def _list_stored(spec: NodeSpec) -> list[tuple[str, str]]:
    fields = FIELDS.get(spec.kind, ())
    rows = (row for field in fields for row in iter_objects(spec.data.get(field)))
    return [(str(row.get("type")), str(row.get("value") or "")) for row in rows]
