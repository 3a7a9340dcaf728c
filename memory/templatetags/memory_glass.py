"""Emergency access on top of memory's pages: who looks into yours, and into whose you look."""

from typing import Any

from django import template

from accounts.principals import current_team_id, principal_of
from memory import naming
from memory.services.glass import current


register = template.Library()


@register.inclusion_tag("memory/_glass_notice.html", takes_context=True)
def glass_notice(context: dict[str, Any]) -> dict[str, Any]:  # Any: Django's own
    request = context.get("request")
    if request is None or not request.user.is_authenticated:
        return {"told": []}
    principal = principal_of(request)
    found = current(principal, current_team_id(request))
    titles = naming.named([one.namespace for one in found], reader_id=principal.user_id)
    told = [
        {
            "glass": one,
            "title": named.title,
            "is_mine": one.by_id == principal.user_id,
            "is_own": named.is_own,
        }
        for one, named in zip(found, titles, strict=True)
    ]
    return {"told": told, "request": request, "csrf_token": context.get("csrf_token")}
