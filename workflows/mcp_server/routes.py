"""The route of ``/mcp/``; ``answering`` says how it is answered."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Router

from accounts.http.auth import KeyAuth
from accounts.http.middleware import opens_own_tenant
from config.http.page_threads import await_in_loop


router = Router(auth=KeyAuth(), tags=["mcp"])


@router.post("/", summary="Answer a message of an MCP client")
@opens_own_tenant
def answer_message(request: HttpRequest) -> HttpResponseBase:
    """Answer one JSON-RPC message of an MCP client. An API key decides which tools there are.

    ``?user=`` or ``X-Mnemoflow-User`` says for which person the client is connected; without one it is the program's own.
    """
    # Only servers answer, and a tenth of the start of every command would be spent on the package of the protocol.
    from workflows.mcp_server.answering import answer  # noqa: PLC0415

    return await_in_loop(answer, request)
