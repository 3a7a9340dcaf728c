"""The pages that create a knowledge base, and change its name and description."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memory import services
from memory.core.errors import AlreadyExists, InvalidInput, QuotaExceeded
from memory.models import Namespace
from memory.views.knowledge.forms import NameForm
from memory.views.request_context import build_caller, find_namespace, get_title


@login_required
@require_http_methods(["GET", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    form = NameForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            row = services.create_knowledge_base(build_caller(request), **form.cleaned_data)
        except (AlreadyExists, InvalidInput, QuotaExceeded) as fault:
            form.add_error("name", str(fault))
        else:
            messages.success(request, _("Created. Add documents, or write the first page."))
            return redirect("memory:knowledge_base", namespace_id=row.pk)
    return _show(request, form)


@login_required
@require_http_methods(["GET", "POST"])
def rename(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = find_namespace(request, namespace_id)
    initial = {"name": get_title(request, row), "description": row.description}
    form = NameForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            services.rename_knowledge_base(
                build_caller(request), namespace=row.text, **form.cleaned_data
            )
        except (AlreadyExists, InvalidInput) as fault:
            form.add_error("name", str(fault))
        else:
            messages.success(request, _("Saved."))
            return redirect("memory:knowledge_base", namespace_id=row.pk)
    return _show(request, form, row)


def _show(request: HttpRequest, form: NameForm, row: Namespace | None = None) -> HttpResponse:
    context = {
        "form": form,
        "namespace": row,
        "namespace_title": get_title(request, row) if row else "",
    }
    status = 422 if form.errors else 200
    return render(request, "memory/knowledge/name.html", context, status=status)
