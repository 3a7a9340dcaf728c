"""All tools that call services on the web."""

from collections.abc import Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.tools.local_tool import LocalTool
from workflows.engine.tools.web import pages, search
from workflows.engine.tools.web.calls import build_local_tool


WEB_TOOLS: Final[tuple[LocalTool, ...]] = tuple(
    map(build_local_tool, (*search.TOOLS, *pages.TOOLS))
)
# The name of a tool → the parameters of another product's tool that have no effect here, with the values that ask for nothing.
UNUSED_ARGUMENTS: Final[Mapping[str, Mapping[str, tuple[Json, ...]]]] = {
    tool.name: tool.unused for tool in (*search.TOOLS, *pages.TOOLS)
}
