"""The address of the MCP server. What goes wrong before a message is read is answered as our own API answers it."""

from ninja import NinjaAPI

from accounts.http.throttles import RequestsThrottle
from config.errors import register_error_handlers
from workflows.mcp_server.routes import router


api = NinjaAPI(
    title="Mnemoflow: MCP",
    version="1",
    urls_namespace="mcp",
    docs_url=None,
    openapi_url=None,
    throttle=RequestsThrottle(),
)
register_error_handlers(api)
api.add_router("", router)
