"""Starts runs for the visitor of a public page, from a message or from the fields of its form, and takes their files.

Of a request only the message, the inputs and the files are read. Errors are told in plain words, without anything of the
workflow's inside.
"""

from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from accounts.errors import NotFound
from workflows.engine.errors import DocumentInvalid, InputRejected
from workflows.errors import (
    BudgetExceeded,
    FileRefused,
    FilesUnavailable,
    InvalidValue,
    QueueFull,
)
from workflows.forms import build_input_fields, find_upload_field, read_files, read_inputs
from workflows.models import Run
from workflows.models.run import Channel
from workflows.services.files.uploading import upload_file
from workflows.services.runs.memory_streams import MemoryStream
from workflows.services.runs.runs import start_run
from workflows.services.runs.waits import answer_with_message
from workflows.templatetags.problems import describe_problem
from workflows.views.catalog.workflow_page import GROUP_FIELD, read_memory_stream, uses_groups
from workflows.views.chat.conversation_list import build_list_context
from workflows.views.chat.start_fields import read_start_inputs, render_rejection
from workflows.views.chat.turns import build_turns
from workflows.views.files import describe_file
from workflows.views.public_pages.addresses import PublicChatUrls, build_base_context
from workflows.views.public_pages.turns import show_result
from workflows.views.public_pages.visits import Visit
from workflows.views.repeated_forms import send_once
from workflows.views.request_context import choose_status, is_htmx, read_text


MAX_MESSAGE = 4_000
MAX_FILES_TEXT = 100_000


def send_message(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Start a turn of the visitor's conversation, or answer the question that it waits for."""
    if not visit.workflow.is_chat:
        raise NotFound
    return send_once(
        request,
        visit.principal,
        visit.workflow.team_id,
        page_url=PublicChatUrls(visit).page,
        send=partial(_send_message, request, visit),
    )


def _send_message(request: HttpRequest, visit: Visit) -> tuple[HttpResponse, Run | None]:
    """Start the turn, and return its run with the answer to the form, or without a run if the message was refused."""
    query = read_text(request.POST, "query")[:MAX_MESSAGE]
    if not query:
        return HttpResponse(_("Enter a message first."), status=422), None
    key = read_text(request.POST, "conversation") or None
    principal, workflow, document = visit.principal, visit.workflow, visit.document
    try:
        answered_run = answer_with_message(
            principal, workflow=workflow, conversation=key, message=query
        )
        run = answered_run or _start(
            request,
            visit,
            lambda: read_start_inputs(document, request.POST.dict()),
            query=query,
            conversation=key,
        )
    except InputRejected as rejected:
        upload_url = PublicChatUrls(visit).get("upload")
        return render_rejection(request, workflow, document, rejected, upload_url), None
    except tuple(REFUSALS) as error:
        return _refuse(request, error), None
    return _render_turn(request, visit, run, is_on_page=answered_run is not None), run


def start(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Start a run with the fields of the form, and show where its result will be."""
    if visit.workflow.is_chat:
        raise NotFound
    return send_once(
        request,
        visit.principal,
        visit.workflow.team_id,
        page_url=PublicChatUrls(visit).page,
        send=partial(_start_form, request, visit),
        show=partial(_show_started, request, visit),
    )


def _start_form(request: HttpRequest, visit: Visit) -> tuple[HttpResponse, Run | None]:
    document, urls = visit.document, PublicChatUrls(visit)
    try:
        run = _start(request, visit, lambda: read_inputs(document, request.POST.dict()))
    except InputRejected as rejected:
        errors = {p.field: describe_problem(p) for p in rejected.problems if p.field}
        fields = build_input_fields(document, request.POST.dict(), errors)
        context = {**build_base_context(visit), "fields": fields, "start_url": urls.get("start")}
        response = render(request, "public_pages/_fields.html", context, status=422)
        response["HX-Retarget"], response["HX-Reswap"] = "#page-fields", "outerHTML"
        return response, None
    except tuple(REFUSALS) as error:
        return _refuse(request, error), None
    return _show_started(request, visit, run.pk), run


def _show_started(request: HttpRequest, visit: Visit, run_id: UUID) -> HttpResponse:
    """Show where the result will be, and let the form start another run."""
    if not is_htmx(request):
        return redirect(PublicChatUrls(visit).get("result", run_id))
    response = show_result(request, visit, run_id)
    response.write(render_to_string("public_pages/_form_id.html", {"is_renewed": True}))
    return response


def upload(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Store a file for a message or for a field of the form, and describe it for the script that sent it."""
    try:
        file = upload_file(
            visit.principal,
            visit.workflow.team_id,
            request.FILES.get("file"),
            workflow=visit.workflow,
            field=find_upload_field(visit.document, request.POST.get("field", "")),
        )
    except FileRefused as refused:
        return JsonResponse({"error": str(refused)}, status=choose_status(refused))
    except FilesUnavailable as away:
        return JsonResponse({"error": str(away)}, status=503)
    return JsonResponse(describe_file(file), status=201)


def _start(
    request: HttpRequest,
    visit: Visit,
    read: Callable[[], dict[str, object]],
    *,
    query: str | None = None,
    conversation: str | None = None,
) -> Run:
    files_text = request.POST.get("files", "")[:MAX_FILES_TEXT] if query else ""
    return start_run(
        visit.principal,
        workflow=visit.workflow,
        query=query,
        inputs=read(),
        files=read_files(files_text),
        conversation=conversation,
        version="published",
        channel=Channel.EMBED if visit.is_embedded else Channel.LINK,
        stream=_choose_stream(request, visit),
    )


def _choose_stream(request: HttpRequest, visit: Visit) -> MemoryStream | None:
    """Return the group of the run. Only members name one: it would open the memory of that group. A visitor is a group alone."""
    if visit.is_member:
        return read_memory_stream(request.POST)
    return MemoryStream(visit.visitor.subject) if uses_groups(visit.document) else None


def _render_turn(request: HttpRequest, visit: Visit, run: Run, *, is_on_page: bool) -> HttpResponse:
    conversation, urls = run.conversation, PublicChatUrls(visit)
    if conversation is None:
        raise AssertionError("a chat's run belongs to a conversation")
    group = read_text(request.POST, GROUP_FIELD) if visit.is_member else ""
    parameters = {"conversation": conversation.key} | ({GROUP_FIELD: group} if group else {})
    url = f"{urls.page}?{urlencode(parameters)}"
    if not is_htmx(request):
        return redirect(url)
    (turn,) = build_turns(visit.principal, visit.workflow, [run], urls)
    context = {
        **build_base_context(visit),
        "turn": turn,
        "conversation": conversation,
        "group": group,
        "out_of_band": True,
        "turn_out_of_band": is_on_page,
        **build_list_context(request, visit.principal, visit.workflow, conversation, urls),
    }
    templates = ("chat/_turn.html", "chat/_conversation_field.html", "chat/_conversations.html")
    response = HttpResponse("".join(render_to_string(name, context, request) for name in templates))
    response["HX-Replace-Url"] = url  # a reload opens this conversation
    return response


def _refuse(request: HttpRequest, error: Exception) -> HttpResponse:
    """Say why the run was not started. The errors of documents and budgets, which concern the team, aren't quoted."""
    status, message = next(
        entry for error_type, entry in REFUSALS.items() if isinstance(error, error_type)
    )
    context = {"message": message() if message else str(error)}
    response = render(request, "public_pages/_refusal.html", context, status=status)
    seconds: int | None = getattr(error, "retry_after", None)
    if seconds is not None:
        response["Retry-After"] = str(seconds)
    return response


# error → status, and the text instead of the error's own
REFUSALS: dict[type[Exception], tuple[int, Callable[[], str] | None]] = {
    FileRefused: (422, None),
    BudgetExceeded: (429, lambda: _("This page has reached a limit. Please try again later.")),
    QueueFull: (429, lambda: _("Many people use this page now. Please try again in a moment.")),
    DocumentInvalid: (409, lambda: _("This page has a problem, so it can't answer now.")),
    # What a visitor sends is checked before; the rest is about the workflow, such as others that it merges.
    InvalidValue: (409, lambda: _("This page has a problem, so it can't answer now.")),
}
