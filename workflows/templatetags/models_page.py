"""The address of the page Models, for those whom the page lets in."""

from django import template
from django.template import Context
from django.urls import reverse

from accounts.principals import get_current_team_id, get_principal
from workflows import permissions


register = template.Library()


@register.simple_tag(takes_context=True)
def find_models_url(context: Context) -> str:
    """Return the address of the page Models, or an empty text for people who may not open it."""
    request = context.get("request")
    if request is None or not request.user.is_authenticated:
        return ""
    principal = get_principal(request)
    if not permissions.may_view_credentials(principal, get_current_team_id(request)):
        return ""
    return reverse("workflows:providers")
