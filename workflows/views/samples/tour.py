"""The guided tour of the first sample: a bubble at a time, each until what it asks for was done.

``anchor`` is a ``data-tour`` id on the page; ``until`` is what ``static/js/editor/tour.js`` waits for.
"""

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workflows.models import Workflow


CHATBOT: Final = "chatbot"


@dataclass(frozen=True, slots=True)
class Bubble:
    place: str
    anchor: str
    until: str
    title: Promise
    text: Promise


BUBBLES: Final = (
    Bubble("tell", "say", "written", _("Tell it something"),
           _("Take the first suggestion below, or write about yourself, and press Enter. The nodes light up as they run.")),
    Bubble("look", "remembered", "opened", _("It was remembered"),
           _("Open “remembered”: one memory, yours alone, with a link to where it is kept.")),
    Bubble("anew", "new", "empty", _("Begin anew"),
           _("Start a new conversation. It knows nothing of what was said in the last one.")),
    Bubble("ask", "say", "recalled", _("Now ask"),
           _("“What am I allergic to?” Memory is looked up before the model is asked.")),
    Bubble("cite", "recalled", "opened", _("Why it knows"),
           _("Open “recalled”: the memory that was used, and how well it fits.")),
    Bubble("other", "person", "other", _("Be someone else"),
           _("Be Ben: choose him here, or take the suggestion below.")),
    Bubble("same", "say", "finished", _("Ask the same"),
           _("The same question, as Ben: nothing is known. One person's memory never reaches another.")),
    Bubble("back", "person", "oneself", _("Be yourself again"),
           _("Choose “Yourself” here.")),
    Bubble("forget", "forget", "forgotten", _("Forget it"),
           _("Delete that memory with the suggestion below.")),
    Bubble("undo", "undo", "undone", _("And take it back"),
           _("Press Undo. Who forgot and who took it back stays written down.")),
    Bubble("publish", "publish", "published", _("Publish it"),
           _("Give the draft a number. Programmes and your team then use exactly this version.")),
)  # fmt: skip


def tour_of(workflow: Workflow) -> tuple[Bubble, ...]:
    """Only the sample it speaks of has it."""
    return BUBBLES if workflow.sample == CHATBOT and workflow.is_chat else ()
