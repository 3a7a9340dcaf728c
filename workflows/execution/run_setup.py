"""Load the data that an attempt at a run needs besides the run's row: conversation variables and secrets."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from accounts.tenancy import tenant
from workflows.engine.language.content_marks.untrusted import ANSWERS
from workflows.engine.language.document import Json
from workflows.execution.claims import Claim
from workflows.execution.debugging.run_options import DebugOptions
from workflows.execution.journal.masking import load_secrets
from workflows.execution.plans import PreparedDocument
from workflows.execution.threads import run_in_thread
from workflows.models import Conversation, Message


@dataclass(frozen=True, slots=True)
class Setup:
    """The data of an attempt. ``secrets`` are the current values of the document's secret variables, by name."""

    conversation: Mapping[str, Json] = field(default_factory=dict)
    untrusted: Collection[str] = ()  # the conversation's variables that contain external text
    shown_memories: Collection[str] = ()  # the words of memories in its answers and variables
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    knowledge_bases: frozenset[str] = frozenset()  # that the document names


NO_SETUP: Final = Setup()


async def load_setup(claim: Claim, prepared: PreparedDocument) -> Setup:
    """Return the data of an attempt. A run without a conversation and secrets needs no query."""
    if _get_conversation_id(claim) is None and not prepared.secret_names:
        return Setup(knowledge_bases=prepared.knowledge_bases)
    setup = await run_in_thread(_load, claim, prepared)
    return replace(setup, knowledge_bases=prepared.knowledge_bases)


def _load(claim: Claim, prepared: PreparedDocument) -> Setup:
    with tenant([claim.team_id]):
        names, conversation_id = prepared.secret_names, _get_conversation_id(claim)
        secrets = load_secrets(UUID(claim.row["workflow_id"]), names) if names else {}
        rows = Conversation.objects.unscoped()
        conversation = rows.filter(pk=conversation_id).first() if conversation_id else None
        if conversation is None:
            return Setup(secrets=secrets)
        # The options of a repeated turn contain its variables.
        variables = conversation.variables if claim.row["conversation_id"] else {}
        untrusted, shown_memories = _list_untrusted(conversation), conversation.shown_memories
        return Setup(variables, untrusted, shown_memories, secrets)


def _list_untrusted(conversation: Conversation) -> Collection[str]:
    """Return the names of what earlier turns left of external text: variables, and the answers if one of them has some."""
    names = {*conversation.outside}
    rows = Message.objects.unscoped().filter(conversation=conversation, is_untrusted=True)
    if ANSWERS not in names and rows.exists():
        names.add(ANSWERS)
    return names


def _get_conversation_id(claim: Claim) -> UUID | None:
    """Return the id of the run's conversation, or for a repeated turn that of the original turn."""
    turn = DebugOptions.from_row(claim.row).turn
    conversation_id = claim.row["conversation_id"] if turn is None else turn["conversation"]
    return UUID(str(conversation_id)) if conversation_id else None
