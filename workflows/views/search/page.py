"""The page of the search, whose results the dialog of every page shows too."""

from typing import Final

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.principals import get_current_team_id, get_principal
from workflows.views.request_context import read_text
from workflows.views.search.results import Search, search_everything


MAX_QUERY_LENGTH: Final = 200


@login_required
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Show the results as a page, or as the fragment of the dialog with ``fragment``."""
    query = read_text(request.GET, "q")[:MAX_QUERY_LENGTH]
    groups = search_everything(Search(get_principal(request), get_current_team_id(request), query))
    template = "search/_results.html" if "fragment" in request.GET else "search/page.html"
    return render(request, template, {"query": query, "groups": groups})
