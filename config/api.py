"""The one API: strict bodies, one error table, the apps' routers mounted."""

from importlib import import_module
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja import NinjaAPI
from ninja.parser import Parser

from config import strict
from config.errors import register
from config.schema import knows_its_query


class StrictParser(Parser):
    """JSON that every reader understands alike, and an object or list at the top."""

    def parse_body(
        self, request: HttpRequest
    ) -> Any:  # Any: ninja says dict, and takes lists as well
        return strict.loads(request.body)


api = NinjaAPI(
    title="Mnemoflow",
    version="1",
    description="Workflows, their runs, and what they remember.",
    parser=StrictParser(),
    urls_namespace="api",
    docs_url="/docs",
)
register(api)
api.add_decorator(knows_its_query, mode="view")

ROUTERS = [
    "accounts.api",
    "accounts.api_audit",
    "accounts.api_groups",
    *(
        [
            "memory.api",
            "memory.api_access",
            "memory.api_pages",
            "memory.api_tiers",
            "memory.api_curation",
            "memory.api_me",
            "memory.api_exchange",
        ]
        if settings.MEMORY_ENABLED
        else []
    ),
    "workflows.api",
]
for module in ROUTERS:
    api.add_router("", import_module(module).router)
