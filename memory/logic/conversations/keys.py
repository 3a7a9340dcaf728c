"""The keys of a conversation's entries: what it is, then the time, so that keys sort in the order of the chat."""

from datetime import UTC, datetime
from typing import Final

from memory.logic.conversations.folding import FoldedMessage
from memory.logic.conversations.messages import Message


MESSAGE: Final = "history:message:"
SUMMARY: Final = "history:summary"
FOLD: Final = "history:fold:"


def build_message_key(message: Message) -> str:
    return build_key(MESSAGE, message.at, message.id)


def build_folded_key(line: FoldedMessage) -> str:
    """Return the key of a folded message's entry, whose revisions still have the whole text."""
    return build_key(MESSAGE, line.at, line.id)


def build_key(prefix: str, at: datetime | None, id_: str) -> str:
    time = at.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%f") if at else ""
    return f"{prefix}{time}:{id_}"
