"""The server of one request: what it offers to its caller, with the official package's handling of the protocol."""

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

import structlog
from django.utils.translation import gettext as _
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import McpError

from workflows.mcp_server.callers import Caller
from workflows.mcp_server.faults import describe_fault
from workflows.mcp_server.memory_tools import list_memory_tools
from workflows.mcp_server.progress import Progress
from workflows.mcp_server.resources import MARKDOWN, SCHEME, list_page_resources, read_page
from workflows.mcp_server.tools import ServedTool, build_error
from workflows.mcp_server.workflow_tools import list_workflow_tools


Json = Any  # JSON

NAME: Final = "mnemoflow"
VERSION: Final = "1"  # of what the server offers
RESOURCE_NOT_FOUND: Final = -32002  # as the specification of MCP says
INSTRUCTIONS: Final = (
    "Each workflow of the team is a tool. memory_search, memory_store and memory_forget are about the user of this connection. "
    "knowledge_search finds pages of the team's knowledge bases, which are the resources of this server."
)

log = structlog.get_logger(__name__)


def build_server(caller: Caller) -> Server[Any, Any]:
    """Return a server that offers what one caller may use."""
    server: Server[Any, Any] = Server(NAME, version=VERSION, instructions=INSTRUCTIONS)

    async def list_tools(_request: types.ListToolsRequest) -> types.ServerResult:
        tools = [served.tool for served in await _list_tools(caller)]
        return types.ServerResult(types.ListToolsResult(tools=tools))

    async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
        name, arguments = request.params.name, request.params.arguments or {}
        served = next((each for each in await _list_tools(caller) if each.tool.name == name), None)
        if served is None:
            message = _("There is no tool %(name)s for this API key.") % {"name": name}
            raise McpError(types.ErrorData(code=types.INVALID_PARAMS, message=message))
        context = server.request_context
        token = context.meta.progressToken if context.meta else None
        progress = Progress(context.session, token, context.request_id)
        return types.ServerResult(await _call(served, caller, arguments, progress))

    async def list_resources(request: types.ListResourcesRequest) -> types.ServerResult:
        cursor = request.params.cursor if request.params else None
        return types.ServerResult(await caller.run(list_page_resources, caller, cursor))

    async def list_templates(_request: types.ListResourceTemplatesRequest) -> types.ServerResult:
        template = types.ResourceTemplate(
            uriTemplate=f"{SCHEME}://knowledge/{{page}}",
            name="knowledge page",
            description="A page of a knowledge base of the team, by its id",
            mimeType=MARKDOWN,
        )
        return types.ServerResult(types.ListResourceTemplatesResult(resourceTemplates=[template]))

    async def read_resource(request: types.ReadResourceRequest) -> types.ServerResult:
        uri = request.params.uri
        try:
            text = await caller.run(read_page, caller, uri)
        except Exception as error:
            message = describe_fault(error)
            if message is None:
                raise
            raise McpError(types.ErrorData(code=RESOURCE_NOT_FOUND, message=message)) from error
        contents = types.TextResourceContents(uri=uri, mimeType=MARKDOWN, text=text)
        return types.ServerResult(types.ReadResourceResult(contents=[contents]))

    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    server.request_handlers[types.ListResourcesRequest] = list_resources
    server.request_handlers[types.ListResourceTemplatesRequest] = list_templates
    server.request_handlers[types.ReadResourceRequest] = read_resource
    return server


async def _list_tools(caller: Caller) -> list[ServedTool]:
    """Return all tools by their first place: a workflow can't take the name of a tool of memory."""
    tools: dict[str, ServedTool] = {}
    workflows = await caller.run(list_workflow_tools, caller)
    for served in chain(list_memory_tools(caller), workflows):
        tools.setdefault(served.tool.name, served)
    return [*tools.values()]


async def _call(
    served: ServedTool,
    caller: Caller,
    arguments: Mapping[str, Json],
    progress: Progress,
) -> types.CallToolResult:
    if problem := _find_problem(served.tool.inputSchema, arguments):
        return build_error(problem)
    try:
        return await served.call(caller, arguments, progress)
    except Exception as error:
        message = describe_fault(error)
        if message is None:
            log.exception("mcp_tool_failed", tool=served.tool.name)
        return build_error(message or _("Something went wrong on the server."))


def _find_problem(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> str:
    """Return what is wrong with the names of the arguments, or nothing. The tools check the values themselves."""
    missing = [name for name in schema.get("required", ()) if arguments.get(name) in (None, "")]
    unknown = [name for name in arguments if name not in schema.get("properties", {})]
    return "; ".join(
        [f"{name}: is required" for name in missing]
        + [f"{name}: is not an argument of this tool" for name in unknown]
    )
