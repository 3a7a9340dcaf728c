"""The checklist of the first seven steps in the corner, with the address and state of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from accounts.access import can
from accounts.principals import Principal, get_current_team_id, get_principal
from workflows import selectors
from workflows.models import Workflow
from workflows.services.samples import first_steps
from workflows.services.samples.first_steps import Progress, Step, list_steps
from workflows.views.request_context import read_text
from workflows.views.samples.tour import CHATBOT


# step → title, hint
TEXTS: Final[dict[Step, tuple[Promise, Promise]]] = {
    Step.RUN: (_("Run a workflow"), _("Tell the chatbot something.")),
    Step.RECALL: (_("See it remember"), _("Start a new conversation and ask about it.")),
    Step.ISOLATE: (
        _("Switch user"),
        _("Ask the same question as another user. It knows nothing about them."),
    ),
    Step.UNDO: (_("Forget and undo"), _("Forget a memory, then undo it.")),
    Step.MODEL: (
        _("Connect a model"),
        _("Select a provider and enter its key, or connect a local server."),
    ),
    Step.PUBLISH: (_("Publish"), _("Publish a version and call it through the API.")),
    Step.INVITE: (
        _("Invite a teammate"),
        _("Teammates share workflows but have separate memories."),
    ),
}


# What one has to be allowed to do for a step.
VERBS: Final = {
    Step.MODEL: "credential.view",
    Step.PUBLISH: "workflow.publish",
    Step.INVITE: "member.manage",
}


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    step: Step
    title: Promise
    hint: Promise
    url: str
    is_done: bool
    is_next: bool = False


@dataclass(frozen=True, slots=True)
class Checklist:
    """The first steps of the person who asks, and how far they are."""

    progress: Progress
    items: Sequence[ChecklistItem]

    @property
    def most(self) -> int:
        return len(self.items)

    @property
    def done(self) -> int:
        return sum(item.is_done for item in self.items)


def build_checklist(request: HttpRequest) -> Checklist:
    progress = first_steps.get_progress(get_principal(request))
    return Checklist(progress, _build_items(request, progress))


def build_shown_checklist(request: HttpRequest) -> Checklist | None:
    """Return the checklist of the home page; None once the person has hidden it or completed all steps that they may do."""
    progress = first_steps.find_shown_progress(get_principal(request))
    if progress is None:
        return None
    checklist = Checklist(progress, _build_items(request, progress))
    return checklist if checklist.done < checklist.most else None


@login_required
@require_http_methods(["GET", "POST"])
def steps(request: HttpRequest) -> HttpResponse:
    """Show the checklist, or hide it, show it again or save the position of the tour."""
    principal = get_principal(request)
    if request.method == "POST":
        _apply_action(principal, read_text(request.POST, "act"), read_text(request.POST, "place"))
    is_fragment = request.headers.get("X-Fragment") == "1"
    if request.method == "POST" and not is_fragment:
        return redirect("home")
    checklist = build_checklist(request)
    context = {
        "progress": checklist.progress,
        "items": checklist.items,
        "most": checklist.most,
        "done": checklist.done,
    }
    template = f"workflows/samples/{'_' if is_fragment else ''}first_steps.html"
    return render(request, template, context)


def _apply_action(principal: Principal, action: str, position: str) -> None:
    match action:
        case "dismiss" | "show":
            first_steps.dismiss(principal, dismissed=action == "dismiss")
        case "tour":
            first_steps.save_tour_position(principal, position)


def _build_items(request: HttpRequest, progress: Progress) -> list[ChecklistItem]:
    """Return the steps that the person may do in the current team, and those that are done."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    chatbot = _find_own_chatbot(request)
    urls = _build_urls(reverse("workflows:detail", args=[chatbot.pk]) if chatbot else "")
    allowed_steps = [
        step
        for step in list_steps()
        if step in progress.completed or step not in VERBS or can(principal, VERBS[step], team_id)
    ]
    next_step = next((step for step in allowed_steps if step not in progress.completed), None)
    return [
        ChecklistItem(step, *TEXTS[step], urls[step], step in progress.completed, step == next_step)
        for step in allowed_steps
    ]


def _find_own_chatbot(request: HttpRequest) -> Workflow | None:
    workflows = selectors.list_workflows(
        get_principal(request), team_id=get_current_team_id(request)
    )
    return workflows.filter(sample=CHATBOT).order_by("-created_at", "-id").first()


def _build_urls(chat_url: str) -> dict[Step, str]:
    """Return where each step is done; without a chatbot of the caller, the first steps are in the gallery."""
    gallery_url = reverse("workflows:samples")
    return {
        Step.RUN: chat_url or gallery_url,
        Step.RECALL: chat_url or gallery_url,
        Step.ISOLATE: f"{chat_url}?person=Ben" if chat_url else gallery_url,
        Step.UNDO: chat_url or gallery_url,
        Step.MODEL: reverse("workflows:providers"),
        Step.PUBLISH: chat_url or gallery_url,
        Step.INVITE: reverse("accounts:team"),
    }
