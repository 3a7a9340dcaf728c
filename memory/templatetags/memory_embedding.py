"""Template tags that show the share of embedded memories, and whether search goes by words only."""

from typing import Any

from django import template

from accounts.principals import get_current_team_id
from memory.services.recall.embedding_status import explain_words_only, load_embedding_state


register = template.Library()


@register.inclusion_tag("memory/_embedding_status.html", takes_context=True)
def embedding_status(context: dict[str, Any]) -> dict[str, Any]:  # Any: Django's own
    return {"state": load_embedding_state(get_current_team_id(context["request"]))}


@register.inclusion_tag("memory/recall/_words_only.html", takes_context=True)
def words_only_hint(context: dict[str, Any]) -> dict[str, Any]:
    return {"words_only": explain_words_only(get_current_team_id(context["request"]))}


@register.simple_tag(takes_context=True)
def searches_by_meaning(context: dict[str, Any]) -> bool:
    return not explain_words_only(get_current_team_id(context["request"]))
