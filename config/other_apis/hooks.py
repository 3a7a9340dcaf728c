"""The addresses of webhooks, at which other systems start published workflows. Errors are answered as by our own API."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI

from accounts.http.throttles import RequestsThrottle
from config.errors import build_body, register_error_handlers
from workflows.errors import CallRefused
from workflows.hooks_api.routes import router


api = NinjaAPI(
    title="Mnemoflow: webhooks",
    version="1",
    urls_namespace="hooks",
    docs_url=None,
    openapi_url=None,
    throttle=RequestsThrottle(),
)
register_error_handlers(api)
api.add_router("", router)


# Any: ninja types it as "the error or its class"; a class is never passed.
def answer_refusal(request: HttpRequest, error: Any) -> HttpResponse:
    response = JsonResponse(build_body(error), status=error.status)
    if error.status == 429:
        response["Retry-After"] = "60"
    return response


api.add_exception_handler(CallRefused, answer_refusal)
