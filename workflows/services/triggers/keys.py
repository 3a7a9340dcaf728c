"""The key with whose rights the triggers of a workflow start runs. It belongs to the workflow's service account (adr 13).

Nobody has its secret. It is listed with the team's keys, where an admin can revoke it.
"""

from typing import Final

from django.utils.translation import gettext as _

from accounts import audit, tokens
from accounts.access import Principal
from accounts.models import ApiKey
from accounts.principals import KeyPrincipal
from accounts.services.service_accounts import choose_service_account
from accounts.tenancy import tenant
from workflows.errors import TriggerStopped
from workflows.models import Trigger, Workflow


# In place of the first letters of a secret, by which the list shows other keys. A key of a public page has none.
PREFIX: Final = "trigger"
# An editor has these rights, too, who alone can publish a workflow with triggers.
SCOPES: Final = ("memory:read", "memory:write", "runs:read", "runs:write", "workflows:read")


def find_or_issue_key(principal: Principal, workflow: Workflow) -> tuple[ApiKey, bool]:
    """Return the usable key of the workflow's triggers, or a new one, and whether it is new.

    The caller has locked the workflow, and records a new key in the audit trail as its last step.
    """
    rows = Trigger.objects.unscoped().filter(workflow=workflow, api_key__revoked_at=None)
    row = rows.exclude(api_key=None).select_related("api_key").first()
    if row is not None and row.api_key is not None and row.api_key.is_usable():
        return row.api_key, False
    name = (_("Triggers of %(workflow)s") % {"workflow": workflow.name})[:120]
    account = choose_service_account(
        workflow.team, name=name, workflow_id=workflow.pk, service_account_id=None
    )
    key = ApiKey.objects.create(
        team_id=workflow.team_id,
        service_account=account,
        workflow_id=workflow.pk,
        name=name,
        prefix=PREFIX,
        secret_hash=tokens.hash_secret("key", tokens.make_workflow_key()),
        scopes=list(SCOPES),
        created_by_id=principal.user_id,
    )
    return key, True


def record_new_key(principal: Principal, key: ApiKey) -> None:
    audit.record_action(
        principal,
        key.team_id,
        "key.issued",
        f"key:{key.pk}",
        scopes=key.scopes,
        service_account=key.service_account.name,
        workflow=f"workflow:{key.workflow_id}",
    )


def load_trigger_principal(trigger: Trigger) -> KeyPrincipal:
    """Return the principal of the trigger's runs. Raises TriggerStopped if its key was revoked."""
    with tenant([trigger.team_id]):
        key = trigger.api_key
        while key is not None and not key.is_usable() and key.replaced_by is not None:
            key = key.replaced_by
    if key is None or not key.is_usable():
        raise TriggerStopped(
            _(
                "The API key of this trigger was revoked. Publish the workflow again to get a new one."
            )
        )
    return KeyPrincipal(key)
