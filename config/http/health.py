"""Endpoints for load balancers and monitoring."""

import hmac

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, JsonResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Respond 200 if the database can be reached. The reason of a failure is only logged."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("select 1")
    except DatabaseError:
        return JsonResponse({"status": "Database unreachable"}, status=503)
    return JsonResponse({"status": "ok"})


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return Prometheus metrics: with the token from METRICS_TOKEN, or only to this machine if no token is set."""
    if not _may_read_metrics(request):
        return HttpResponseForbidden()
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)


def _may_read_metrics(request: HttpRequest) -> bool:
    if token := settings.METRICS_TOKEN:
        token_header = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(token_header.encode(), token.encode())
    # Behind a proxy all requests come from this machine, so that a token is required.
    return request.META.get("REMOTE_ADDR") in ("127.0.0.1", "::1") and settings.PUBLIC_URL is None
