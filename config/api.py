"""The API: strict request bodies, one error table, and the routers of the apps."""

from importlib import import_module
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja.parser import Parser

from accounts.http.throttles import RequestsThrottle
from config.errors import STATUS, register_error_handlers
from config.http import strict_json
from config.http.described_api import DescribedAPI
from config.http.openapi import refuse_unknown_parameters


class StrictParser(Parser):
    """Parses request bodies as strict JSON (``strict_json.loads``)."""

    # Any: ninja says dict, and takes lists as well
    def parse_body(self, request: HttpRequest) -> Any:
        return strict_json.loads(request.body)


DESCRIPTION = """Workflows, runs and memory.

Authenticate with `Authorization: Bearer $MNEMOFLOW_KEY`. Every list answers with `items`, and with `next`, which is sent as
`cursor` to get the next page. Every refusal is an `ApiErrorOut`.
"""

api = DescribedAPI(
    statuses=STATUS,
    title="Mnemoflow",
    version="1",
    description=DESCRIPTION,
    parser=StrictParser(),
    urls_namespace="api",
    docs_url="/docs",
    throttle=RequestsThrottle(),
)
register_error_handlers(api)
api.add_decorator(refuse_unknown_parameters, mode="view")

ROUTERS = [
    "accounts.api.accounts",
    "accounts.api.audit",
    "accounts.api.groups",
    *(
        [
            "memory.api.entries",
            "memory.api.access",
            "memory.api.knowledge",
            "memory.api.documents",
            "memory.api.wiki",
            "memory.api.tiers",
            "memory.api.curation",
            "memory.api.learning",
            "memory.api.personal",
            "memory.api.transfer",
            "memory.api.erasures",
        ]
        if settings.MEMORY_ENABLED
        else []
    ),
    "workflows.api",
]
for module in ROUTERS:
    api.add_router("", import_module(module).router)
