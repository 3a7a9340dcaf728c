"""The data that an attempt at a run needs besides its own row; often none."""

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
    """``secrets`` are the live values of the document's secret variables, by name."""

    conversation: Mapping[str, Json] = field(default_factory=dict)
    outside: Collection[str] = ()  # where in the conversation strangers' words stand
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def environment(self) -> Mapping[str, Json]:
        return self.secrets


NOTHING = Setup()


async def load_setup(claim: Claim, ready: Prepared) -> Setup:
    if _talk_of(claim) is None and not ready.secret_names:
        return NOTHING
    return await run_in_thread(_load, claim, ready)


def _load(claim: Claim, ready: Prepared) -> Setup:
    with tenant([claim.team_id]):
        secrets, which = _load_secrets(claim, ready), _talk_of(claim)
        talk = Conversation.objects.unscoped().filter(pk=which).first() if which else None
        if talk is None:
            return Setup(secrets=secrets)
        # A turn that is tried once more brings the variables it had.
        variables = talk.variables if claim.row["conversation_id"] else {}
        return Setup(variables, talk.outside, secrets)


def _talk_of(claim: Claim) -> UUID | None:
    """Its conversation; of a turn that is tried once more, the one it stood in."""
    turn = Debug.from_row(claim.row).turn
    talk = claim.row["conversation_id"] if turn is None else turn["conversation"]
    return UUID(str(talk)) if talk else None


def _load_secrets(claim: Claim, ready: Prepared) -> Mapping[str, str]:
    if not ready.secret_names:
        return {}
    rows = WorkflowSecret.objects.unscoped().filter(
        workflow_id=UUID(claim.row["workflow_id"]), name__in=ready.secret_names
    )
    return {row.name: decrypt(bytes(row.secret)) for row in rows}
