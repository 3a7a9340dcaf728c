"""The id of a form, made when the form is drawn, by which the server knows a form that is sent again."""

from uuid import uuid4

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString


FIELD = "sys.form_id"  # no input of a workflow has a dot in its name

register = template.Library()


@register.simple_tag
def new_form_id() -> str:
    return str(uuid4())


@register.simple_tag
def form_id_field() -> SafeString:
    """Return the hidden field. Without autocomplete a reload of the page doesn't bring an earlier id back."""
    return format_html(
        '<input type="hidden" name="{}" value="{}" autocomplete="off">', FIELD, new_form_id()
    )
