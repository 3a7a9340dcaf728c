"""What an attempt at a run needs from the database besides its own row; often nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from accounts.tenancy import tenant
from config.crypto import decrypt
from workflows.engine.document import Json
from workflows.execution.claims import Claim
from workflows.execution.plans import Prepared
from workflows.execution.threads import in_thread
from workflows.models import Conversation, WorkflowSecret


@dataclass(frozen=True, slots=True)
class Setup:
    """``secrets`` are the live values of the document's secret variables, by name."""

    conversation: Mapping[str, Json] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def environment(self) -> Mapping[str, Json]:
        return self.secrets


NOTHING = Setup()


async def load_setup(claim: Claim, ready: Prepared) -> Setup:
    if claim.row["conversation_id"] is None and not ready.secret_names:
        return NOTHING
    return await in_thread(_load, claim, ready)


def _load(claim: Claim, ready: Prepared) -> Setup:
    with tenant([claim.team_id]):
        return Setup(_variables(claim), _secrets(claim, ready))


def _variables(claim: Claim) -> Mapping[str, Json]:
    if claim.row["conversation_id"] is None:
        return {}
    talk = Conversation.objects.unscoped().filter(pk=claim.row["conversation_id"]).first()
    return talk.variables if talk else {}


def _secrets(claim: Claim, ready: Prepared) -> Mapping[str, str]:
    if not ready.secret_names:
        return {}
    rows = WorkflowSecret.objects.unscoped().filter(
        workflow_id=UUID(claim.row["workflow_id"]), name__in=ready.secret_names
    )
    return {row.name: decrypt(bytes(row.secret)) for row in rows}
