"""The questions that a chat suggests: those of its opening, and after an answer those that nobody has asked yet."""

from collections.abc import Mapping
from typing import Final

from accounts.access import Principal
from workflows.engine.language.document import Json
from workflows.models import Conversation, Message


FOLLOW_UPS: Final = "suggested_questions_after_answer"  # the feature, by its name in documents
MAX_FOLLOW_UPS: Final = 3


def read_questions(features: Mapping[str, Json]) -> list[str]:
    """Return the questions that the workflow offers."""
    questions = features.get("suggested_questions")
    items = questions if isinstance(questions, list | tuple) else ()
    return [item for item in items if isinstance(item, str) and item.strip()]


def offers_follow_ups(features: Mapping[str, Json]) -> bool:
    """Return whether the workflow suggests questions after its answers."""
    setting = features.get(FOLLOW_UPS)
    return isinstance(setting, Mapping) and setting.get("enabled") is True


def list_follow_ups(
    principal: Principal, features: Mapping[str, Json], conversation: Conversation | None
) -> list[str]:
    """Return questions of the workflow that haven't been asked in the conversation."""
    queries: set[str] = set()
    if conversation is not None:
        messages = Message.objects.visible_to(principal).filter(conversation=conversation)
        queries = {query.strip().casefold() for query in messages.values_list("query", flat=True)}
    questions = [
        text for text in read_questions(features) if text.strip().casefold() not in queries
    ]
    return questions[:MAX_FOLLOW_UPS]
