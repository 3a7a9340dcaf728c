"""The server of one request: what it offers to its caller, with the official package's handling of the protocol."""

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

import structlog
from django.utils.translation import gettext as _
from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from workflows.errors import InvalidValue
from workflows.mcp_server.callers import Caller, name_call
from workflows.mcp_server.faults import describe_fault
from workflows.mcp_server.memory_tools import list_memory_tools
from workflows.mcp_server.progress import Progress
from workflows.mcp_server.questions import can_ask
from workflows.mcp_server.resources import MARKDOWN, SCHEME, list_page_resources, read_page
from workflows.mcp_server.tasks import EXTENSION, add_task_handlers, can_poll
from workflows.mcp_server.tools import Call, Result, ServedTool, build_error
from workflows.mcp_server.workflow_tools import find_workflow_tool, list_workflow_tools


Json = Any  # JSON
Context = ServerRequestContext[Any]

NAME: Final = "mnemoflow"
VERSION: Final = "1"  # of what the server offers
RESOURCE_NOT_FOUND: Final = -32002  # as the specification of MCP says
# A workflow that is published or withdrawn is seen after this time at the latest.
LIST_HINT: Final = CacheHint(ttl_ms=60_000, scope="private")
INSTRUCTIONS: Final = (
    "Each workflow of the team is a tool. memory_search, memory_store, memory_forget and memory_explain are about the user of "
    "this connection. knowledge_search finds pages of the team's knowledge bases, which are the resources of this server."
)

log = structlog.get_logger(__name__)


def build_server(caller: Caller) -> Server[Any]:
    """Return a server that offers what one caller may use."""

    async def list_tools(_context: Context, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[served.tool for served in await _list_tools(caller)])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:  # Result
        served = await _find_tool(caller, params.name)
        if served is None:
            message = _("There is no tool %(name)s for this API key.") % {"name": params.name}
            raise MCPError(types.INVALID_PARAMS, message)
        return await _call(served, _build_call(caller, context, params))

    async def list_resources(
        _context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return await caller.run(list_page_resources, caller, params.cursor if params else None)

    async def list_templates(
        _context: Context, _params: object
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=f"{SCHEME}://knowledge/{{page}}",
            name="knowledge page",
            description="A page of a knowledge base of the team, by its id",
            mime_type=MARKDOWN,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            text = await caller.run(read_page, caller, params.uri)
        except Exception as error:
            message = describe_fault(error)
            if message is None:
                raise
            raise MCPError(RESOURCE_NOT_FOUND, message) from error
        contents = types.TextResourceContents(uri=params.uri, mime_type=MARKDOWN, text=text)
        return types.ReadResourceResult(contents=[contents])

    server: Server[Any] = Server(
        NAME,
        version=VERSION,
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": LIST_HINT, "server/discover": LIST_HINT},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )
    server.extensions[EXTENSION] = {}
    add_task_handlers(server, caller)
    return server


async def _list_tools(caller: Caller) -> list[ServedTool]:
    """Return all tools, always in the same order, by their first place: a workflow can't take the name of a tool of memory."""
    tools: dict[str, ServedTool] = {}
    workflows = await caller.run(list_workflow_tools, caller)
    for served in chain(list_memory_tools(caller), workflows):
        tools.setdefault(served.tool.name, served)
    return [*tools.values()]


async def _find_tool(caller: Caller, name: str) -> ServedTool | None:
    """Return one of ``_list_tools`` by its name, without the other ones."""
    for served in list_memory_tools(caller):
        if served.tool.name == name:
            return served
    return await caller.run(find_workflow_tool, caller, name)


def _build_call(caller: Caller, context: Context, params: types.CallToolRequestParams) -> Call:
    capabilities = context.session.client_capabilities
    try:
        caller = name_call(caller, context.meta)
    except InvalidValue as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from error
    return Call(
        caller,
        params.arguments or {},
        Progress(context.session),
        can_ask=can_ask(capabilities),
        can_poll=can_poll(capabilities),
        answers=params.input_responses or {},
        state=params.request_state or "",
    )


async def _call(served: ServedTool, call: Call) -> Result:
    if problem := _find_problem(served.tool.input_schema, call.arguments):
        return build_error(problem)
    try:
        return await served.call(call)
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
