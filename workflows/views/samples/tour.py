"""The guided tour of the first sample: one bubble at a time, until its step is completed.

A bubble's ``anchor`` is a ``data-tour`` id on the page; ``until`` is the event that ``static/js/editor/tour.js`` waits for.
"""

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workflows.models import Workflow


CHATBOT: Final = "chatbot"


@dataclass(frozen=True, slots=True)
class Bubble:
    name: str
    anchor: str
    until: str
    title: Promise
    text: Promise


BUBBLES: Final = (
    Bubble("tell", "say", "written", _("Tell it something"),
           _("Select the first suggestion below, or write about yourself, and press Enter. The nodes light up as they run.")),
    Bubble("look", "remembered", "opened", _("It remembered"),
           _("Open “Remembered” to see the new memory. Only you can see it.")),
    Bubble("anew", "new", "empty", _("New conversation"),
           _("Start a new conversation, without the messages of the last one.")),
    Bubble("ask", "say", "recalled", _("Ask"),
           _("“What am I allergic to?” Memories are recalled before the model is called.")),
    Bubble("cite", "recalled", "opened", _("Why it knows"),
           _("Open “Recalled” to see the memory that was used and its relevance.")),
    Bubble("other", "person", "other", _("Switch user"),
           _("Switch to the user ben here, or use the suggestion below.")),
    Bubble("same", "say", "finished", _("Ask again"),
           _("Ask the same question as ben. It knows nothing: memories are never shared between users.")),
    Bubble("back", "person", "oneself", _("Switch back to yourself"),
           _("Select “Yourself” here.")),
    Bubble("forget", "forget", "forgotten", _("Forget it"),
           _("Forget the memory with the suggestion below.")),
    Bubble("undo", "undo", "undone", _("Undo"),
           _("Select Undo. The audit log records who forgot and who restored it.")),
    Bubble("publish", "publish", "published", _("Publish"),
           _("Publish the draft as a version. API clients and your team then use exactly this version.")),
)  # fmt: skip


def get_tour(workflow: Workflow) -> tuple[Bubble, ...]:
    """Return the tour for a copy of the chatbot sample; it is empty for other workflows."""
    return BUBBLES if workflow.sample == CHATBOT and workflow.is_chat else ()
