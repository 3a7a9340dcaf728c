"""A template tag that shows the share of embedded memories."""

from typing import Any

from django import template

from accounts.principals import get_current_team_id
from memory.services.recall.embedding_status import load_embedding_state


register = template.Library()


@register.inclusion_tag("memory/_embedding_status.html", takes_context=True)
def embedding_status(context: dict[str, Any]) -> dict[str, Any]:  # Any: Django's own
    return {"state": load_embedding_state(get_current_team_id(context["request"]))}
