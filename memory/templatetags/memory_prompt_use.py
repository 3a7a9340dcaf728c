"""The three choices of whether a memory enters prompts."""

from collections.abc import Mapping
from typing import Any, Final

from django import template

from memory.core.records import PromptUse
from memory.logic.profile import Usable, get_prompt_use
from memory.models.entries import PromptUseChoice


register = template.Library()

# In the order of the buttons.
CHOICES: Final = (PromptUse.ALWAYS, PromptUse.RELEVANT, PromptUse.NEVER)


@register.inclusion_tag("memory/access/_prompt_use.html", takes_context=True)
def prompt_use_form(
    context: Mapping[str, Any],
    entry: Usable,
    url: str,
    target: str = "",
    shape: str = "",
    *,
    is_pinnable: bool = True,
) -> dict[str, Any]:  # what the templates have
    """Show a button for each choice. With a ``target`` HTMX replaces it by the ``shape`` that the view renders.

    What ``is_pinnable`` may be in a profile: not messages and pages, nor what no longer holds.
    """
    used = get_prompt_use(entry)
    if used is PromptUse.ALWAYS and not is_pinnable:
        used = PromptUse.RELEVANT
    offered = [use for use in CHOICES if is_pinnable or use is not PromptUse.ALWAYS]
    choices = [(str(use), PromptUseChoice(use).label, use is used) for use in offered]
    is_default = PromptUse(entry.prompt_use) is PromptUse.AUTO
    return {
        "url": url,
        "target": target,
        "shape": shape,
        "choices": choices,
        "is_default": is_default,
        "csrf_token": context.get("csrf_token"),
    }
