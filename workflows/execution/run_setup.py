"""The data that an attempt at a run needs besides its row; often none."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from accounts.tenancy import tenant
from config.encryption.crypto import decrypt
from workflows.engine.language.document import Json
from workflows.execution.claims import Claim
from workflows.execution.debugging.run_options import Debug
from workflows.execution.plans import Prepared
from workflows.execution.threads import run_in_thread
from workflows.models import Conversation, WorkflowSecret


@dataclass(frozen=True, slots=True)
class Setup:
    """The data of an attempt. ``secrets`` are the current values of the document's secret variables, by name."""

    conversation: Mapping[str, Json] = field(default_factory=dict)
    outside: Collection[str] = ()  # where in the conversation strangers' words stand
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def environment(self) -> Mapping[str, Json]:
        return self.secrets


EMPTY = Setup()


async def load_setup(claim: Claim, prepared: Prepared) -> Setup:
    if _get_conversation_id(claim) is None and not prepared.secret_names:
        return EMPTY
    return await run_in_thread(_load, claim, prepared)


def _load(claim: Claim, prepared: Prepared) -> Setup:
    with tenant([claim.team_id]):
        secrets, conversation_id = _load_secrets(claim, prepared), _get_conversation_id(claim)
        conversation = (
            Conversation.objects.unscoped().filter(pk=conversation_id).first()
            if conversation_id
            else None
        )
        if conversation is None:
            return Setup(secrets=secrets)
        # A turn that is tried once more brings the variables it had.
        variables = conversation.variables if claim.row["conversation_id"] else {}
        return Setup(variables, conversation.outside, secrets)


def _get_conversation_id(claim: Claim) -> UUID | None:
    """Return the id of the run's conversation; for a repeated turn, of the original one."""
    turn = Debug.from_row(claim.row).turn
    conversation_id = claim.row["conversation_id"] if turn is None else turn["conversation"]
    return UUID(str(conversation_id)) if conversation_id else None


def _load_secrets(claim: Claim, prepared: Prepared) -> Mapping[str, str]:
    if not prepared.secret_names:
        return {}
    rows = WorkflowSecret.objects.unscoped().filter(
        workflow_id=UUID(claim.row["workflow_id"]), name__in=prepared.secret_names
    )
    return {row.name: decrypt(bytes(row.secret)) for row in rows}
