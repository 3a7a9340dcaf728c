"""The response to a start of a run whose document has errors: a list that leads to each node and field."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from workflows.engine.errors import DocumentInvalid
from workflows.templatetags.problems import describe_problem, replace_ids_by_titles


TEMPLATE = "editor/debugging/_run_refused.html"
PLACE = "#run-refused"


def render_refusal(request: HttpRequest, invalid: DocumentInvalid) -> HttpResponse:
    """Return the list for htmx, which puts it into its place whatever the form's target is."""
    response = render(request, TEMPLATE, _build_context(invalid), status=422)
    response["HX-Retarget"], response["HX-Reswap"] = PLACE, "innerHTML"
    return response


def serialize_refusal(request: HttpRequest, invalid: DocumentInvalid) -> dict[str, Any]:
    """Return the error for a script, with the list as HTML."""
    return {
        "type": type(invalid).__name__,
        "message": describe_refusal(invalid),
        "html": render_refusal_list(request, invalid),
    }


def render_refusal_list(
    request: HttpRequest, invalid: DocumentInvalid, *, is_publication: bool = False
) -> str:
    """Return the HTML of the list, also of a publication that was refused."""
    context = _build_context(invalid) | {"is_publication": is_publication}
    return render_to_string(TEMPLATE, context, request)


def describe_refusal(invalid: DocumentInvalid) -> str:
    """Return the problems as one text, with the titles of their nodes."""
    return "; ".join(
        ": ".join(
            filter(None, (invalid.titles.get(problem.node or ""), _describe(invalid, problem)))
        )
        for problem in invalid.problems
    )


def _describe(invalid: DocumentInvalid, problem: Any) -> str:
    return replace_ids_by_titles(describe_problem(problem), invalid.titles)


def _build_context(invalid: DocumentInvalid) -> dict[str, Any]:
    return {"problems": invalid.problems, "titles": invalid.titles}
