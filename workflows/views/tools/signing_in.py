"""The pages of a sign-in to an MCP server: where it begins, where a person comes back, and the document that says who we are."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST, require_safe

from accounts.principals import get_principal
from config.http.context import get_base_url
from workflows import selectors
from workflows.errors import InvalidValue
from workflows.services import tools
from workflows.services.tools.signing_in import Answer
from workflows.templatetags.run_errors import translate_error
from workflows.tools.signed_in.installation import Installation
from workflows.tools.signed_in.urls import normalize_url
from workflows.views.tools.forms import ClientForm
from workflows.views.tools.pages import describe_connected


METADATA_SECONDS = 3600
MAX_PARAMETER = 4096


@login_required
@require_POST
def start(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    """Show where the person is going to sign in, with a link that leads there.

    It is a link because the browser sends no form to another site.
    """
    principal = get_principal(request)
    connection = selectors.find_tool_connection(principal, connection_id, change=True)
    form = ClientForm(request.POST)
    context = {"connection": connection, "form": form}
    if form.is_valid():
        try:
            context["destination"] = tools.start_sign_in(
                principal,
                connection=connection,
                session_key=request.session.session_key or "",
                installation=_build_installation(request),
                **form.cleaned_data,
            )
        except InvalidValue as error:
            form.add_error(
                error.field if error.field in form.fields else None, translate_error(str(error))
            )
    context["redirect_uri"] = _build_installation(request).redirect_uri
    status = 422 if form.errors else 200
    return render(request, "tools/sign_in.html", context, status=status)


@login_required
@require_GET
def come_back(request: HttpRequest) -> HttpResponse:
    """Finish the sign-in with which the person comes back. It must be this person's, begun in this session, and is taken once."""
    principal = get_principal(request)
    values = {name: str(value)[:MAX_PARAMETER] for name, value in request.GET.items()}
    attempt = tools.take_attempt(
        principal,
        session_key=request.session.session_key or "",
        state=values.get("state", ""),
    )
    answer = Answer(
        code=values.get("code", ""),
        issuer=values.get("iss"),
        error=values.get("error", ""),
        error_description=values.get("error_description", ""),
    )
    try:
        tools.finish_sign_in(principal, attempt=attempt, answer=answer)
    except InvalidValue as error:
        messages.error(request, translate_error(str(error)))
    else:
        messages.success(request, describe_connected(attempt.connection))
    return redirect("workflows:tool_connection", attempt.connection_id)


@login_required
@require_POST
def sign_out(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    principal = get_principal(request)
    connection = selectors.find_tool_connection(principal, connection_id, change=True)
    if tools.sign_out(principal, connection=connection):
        messages.success(request, _("Disconnected."))
    else:
        text = _(
            "Disconnected. The server didn't confirm that it has forgotten the sign-in: you can end it in your account there."
        )
        messages.warning(request, text)
    return redirect("workflows:tool_connection", connection.pk)


@require_safe
def describe_client(request: HttpRequest) -> HttpResponse:
    """Tell authorization servers who this installation is: they read it at the address that is its client id."""
    # Inline import: the package takes a third of a second to import.
    from workflows.tools.mcp.sign_in.clients import describe_installation  # noqa: PLC0415

    response = JsonResponse(describe_installation(_build_installation(request)))
    response["Cache-Control"] = f"public, max-age={METADATA_SECONDS}"
    return response


def _build_installation(request: HttpRequest) -> Installation:
    base_url = normalize_url(get_base_url(request)).rstrip("/")
    return Installation(
        base_url=base_url,
        metadata_url=f"{base_url}{reverse('workflows:sign_in_client')}",
        redirect_uri=f"{base_url}{reverse('workflows:sign_in_return')}",
    )
