"""What a client is told when a run waits for a person: the questions, and where they are answered."""

from collections.abc import Callable

from django.utils.translation import gettext as _

from accounts.principals import Principal
from workflows.engine.runtime.waits import find_reply_field, is_uncertain
from workflows.models import Run, RunWait
from workflows.services.questions.links import make_link_token, may_pass_on
from workflows.services.runs import waits


AskForLink = Callable[[str], str]  # returns the address for the token of a question


def describe_pause(principal: Principal, run: Run, ask_for_link: AskForLink) -> str:
    """Return the open questions of the run, each with the link to its form. Who has the link may answer."""
    questions = waits.list_open_waits(principal, run)
    texts = [_describe(principal, run, wait, ask_for_link) for wait in questions]
    return "\n\n".join(texts) or _("The run is paused, until somebody of the team resumes it.")


def _describe(principal: Principal, run: Run, wait: RunWait, ask_for_link: AskForLink) -> str:
    form = wait.form or {}
    content = str(form.get("content") or form.get("title") or "").strip()
    if is_uncertain(form) or not may_pass_on(principal, wait):
        hint = _("The run waits for a decision of the team.")
    else:
        link = ask_for_link(make_link_token(principal, wait))
        can_reply = run.conversation_id is not None and find_reply_field(form) is not None
        text = (
            _("Reply with your next message, or answer here: %(link)s")
            if can_reply
            else _("The run waits for an answer: %(link)s")
        )
        hint = text % {"link": link}
    return "\n\n".join(filter(None, (content, hint)))
