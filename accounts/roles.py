"""The table of roles and permissions. docs/reference/permissions.md is generated from it.

A member has the verbs of their role, and those of objects shared with them (``access.grant``). An API key has the
verbs of its scopes that an editor has; with separate scopes it may read the audit trail, and manage credentials without
ever reading their secrets. Verbs without a scope are for users only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext, override
from django.utils.translation import gettext_lazy as _

from accounts.models.teams import Role


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with the lowest role and the key scope that grant it, and its wording."""

    name: str
    lowest_role: Role
    scope: str | None
    wording: Promise


# Scopes of API keys.
SCOPES: dict[str, Promise] = {
    "workflows:read": _("Read workflows and versions"),
    "workflows:write": _("Create, edit, and publish workflows"),
    "runs:read": _("Read runs, events, and results"),
    "runs:write": _("Start and stop runs"),
    "memory:read": _("Recall and list memories"),
    "memory:write": _("Store, forget, and restore memories"),
    "team:read": _("Read the team and its members"),
}

SPEAK_SCOPE: Final = "memory:speak"
# Scopes for special clients, which no other scope includes. Members who may create keys have these
# rights themselves; therefore a key may read the audit trail or manage credentials, although these are verbs of admins.
SERVICE_SCOPES: dict[str, Promise] = {
    "audit:read": _("Read, verify, and export the audit trail"),
    "memory:serve": _("Act as the memory provider of another installation"),
    SPEAK_SCOPE: _("Speak for people: store what they said as theirs, and approve memories"),
    "credentials:write": _("Manage model providers, tools, and their credentials"),
}

# Scopes that no key of a single workflow can have.
TEAM_WIDE_SCOPES = frozenset({"audit:read", "credentials:write"})

_TABLE = (
    Verb("team.view", Role.VIEWER, "team:read", _("view the team and its members")),
    Verb("team.manage", Role.OWNER, None, _("rename the team")),
    Verb("team.limit", Role.OWNER, None, _("set the limits of the team")),
    Verb("member.manage", Role.ADMIN, None, _("invite, edit, and remove members")),
    Verb("member.manage_owners", Role.OWNER, None, _("appoint and remove owners")),
    Verb("key.manage", Role.ADMIN, None, _("create and revoke API keys")),
    Verb("audit.view", Role.ADMIN, "audit:read", _("read the audit trail")),
    Verb("workflow.view", Role.VIEWER, "workflows:read", _("view workflows")),
    Verb("workflow.create", Role.EDITOR, "workflows:write", _("create workflows")),
    Verb("workflow.edit", Role.EDITOR, "workflows:write", _("edit workflows")),
    Verb("workflow.publish", Role.EDITOR, "workflows:write", _("publish workflows")),
    Verb("workflow.delete", Role.EDITOR, "workflows:write", _("delete workflows")),
    Verb("workflow.share", Role.ADMIN, None, _("share workflows")),
    Verb("workflow.comment", Role.VIEWER, "workflows:write", _("comment on workflows")),
    Verb("workflow.run", Role.VIEWER, "runs:write", _("run workflows")),
    Verb("run.view", Role.VIEWER, "runs:read", _("view runs")),
    Verb("run.cancel", Role.VIEWER, "runs:write", _("stop runs")),
    Verb("run.delete", Role.VIEWER, "runs:write", _("delete own runs that have ended")),
    Verb("usage.view", Role.ADMIN, "runs:read", _("view the usage of all members")),
    Verb("credential.view", Role.EDITOR, "credentials:write", _("list credentials")),
    Verb(
        "credential.manage",
        Role.ADMIN,
        "credentials:write",
        _("create, edit, and delete credentials"),
    ),
    Verb("memory.view", Role.VIEWER, "memory:read", _("recall and list shared memories")),
    Verb("memory.write", Role.EDITOR, "memory:write", _("store memories")),
    Verb("memory.forget", Role.EDITOR, "memory:write", _("forget, restore, and undo memories")),
    Verb("memory.share", Role.ADMIN, None, _("share memory namespaces")),
    Verb(
        "memory.use_emergency_access",
        Role.ADMIN,
        None,
        _("use emergency access to private memory; the user is notified"),
    ),
)

VERBS: dict[str, Verb] = {verb.name: verb for verb in _TABLE}

# The role that limits every key, and the verbs beyond this role that a scope grants.
KEY_ROLE = Role.EDITOR
KEY_EXTRA_VERBS: frozenset[str] = frozenset({"audit.view", "credential.manage"})

# The verbs of workflows and runs, and those with which a key of one workflow lists rows of its team.
WORKFLOW_VERBS: frozenset[str] = frozenset(
    name for name in VERBS if name.startswith(("workflow.", "run.", "usage.", "audit."))
)
TEAM_LISTS: frozenset[str] = frozenset({"workflow.view", "run.view"})

_RANK = {role: rank for rank, role in enumerate((Role.VIEWER, Role.EDITOR, Role.ADMIN, Role.OWNER))}

ROLE_VERBS: dict[Role, frozenset[str]] = {
    role: frozenset(verb.name for verb in _TABLE if _RANK[role] >= _RANK[verb.lowest_role])
    for role in Role
}


def list_roles_above(lowest: str) -> list[Role]:
    """Return the role and those with more rights; nothing for a text that is no role."""
    ranks = [rank for role, rank in _RANK.items() if role == lowest]
    return [role for role in _RANK if ranks and _RANK[role] >= ranks[0]]


def render_permissions() -> str:
    """Render the table as Markdown."""
    with override("en"):
        labels = [str(role.label) for role in _RANK]
        head = ["Verb", "Meaning", *labels, gettext("API key permission")]
        lines = ["# Permissions", "", __doc__.partition("\n\n")[2].strip(), ""]
        lines += [_format_row(head), _format_row(["---"] * len(head))]
        for verb in _TABLE:
            marks = ["✓" if verb.name in ROLE_VERBS[role] else "" for role in _RANK]
            scope = f"`{verb.scope}`" if verb.scope else ""
            lines.append(_format_row([f"`{verb.name}`", str(verb.wording), *marks, scope]))
        lines += ["", "## API key scopes", ""]
        lines += [f"- `{scope}`: {wording}" for scope, wording in (SCOPES | SERVICE_SCOPES).items()]
    return "\n".join(lines) + "\n"


def _format_row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
