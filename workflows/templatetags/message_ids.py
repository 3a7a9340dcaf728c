"""The id of a message, made when its form is drawn, by which the server knows a message that is sent again."""

from uuid import uuid4

from django import template


register = template.Library()


@register.simple_tag
def new_message_id() -> str:
    return str(uuid4())
