"""The first page, and the gallery of samples."""

from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.principals import get_current_team_id, get_principal
from workflows import memory_app, permissions
from workflows.samples import SAMPLES_BY_SLUG
from workflows.services.samples import samples
from workflows.views.catalog.dashboard import build_dashboard
from workflows.views.catalog.folder_location import get_location
from workflows.views.catalog.gallery import build_gallery
from workflows.views.samples.first_steps import build_shown_checklist


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    offered_samples = samples.list_offered()
    context = build_dashboard(get_principal(request), get_current_team_id(request))
    context["first_sample"] = offered_samples[0].slug if offered_samples else ""
    context["first_steps"] = build_shown_checklist(request)
    return render(request, "workflows/home.html", context)


@login_required
@require_safe
def gallery(request: HttpRequest) -> HttpResponse:
    samples_gallery = build_gallery(request.GET.get("scope", ""))
    context = {
        "location": get_location(request),
        "cards": [card for card in samples_gallery.cards if not card.sample.is_block],
        "blocks": [card for card in samples_gallery.cards if card.sample.is_block],
        "gallery": samples_gallery,
        "can_create": permissions.may_create(get_principal(request), get_current_team_id(request)),
        # A person who signed in with the start link has no password yet.
        "may_be_lost": request.user.is_authenticated and not request.user.has_usable_password(),
    }
    return render(request, "workflows/samples/samples.html", context)


@login_required
@require_POST
def copy_sample(request: HttpRequest, slug: str) -> HttpResponse:
    workflow = samples.copy_sample(
        get_principal(request),
        team_id=get_current_team_id(request),
        slug=slug,
        folder=get_location(request).folder,
    )
    messages.success(request, _("Copy created"))
    address = reverse("workflows:detail", args=[workflow.pk])
    user = SAMPLES_BY_SLUG[slug].first_user if memory_app.is_on() else ""
    return redirect(f"{address}?{urlencode({'person': user})}" if user else address)
