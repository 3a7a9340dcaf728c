"""The table of built-in tools."""

from typing import Final

from workflows.engine.tools.calculator import CALCULATOR
from workflows.engine.tools.dates import TIME
from workflows.engine.tools.http_request import HTTP_REQUEST
from workflows.engine.tools.json_query import JSON_QUERY
from workflows.engine.tools.local_tool import LocalTool
from workflows.engine.tools.web_page import WEB_PAGE


BUILTIN_TOOLS: Final[tuple[LocalTool, ...]] = (
    TIME,
    CALCULATOR,
    WEB_PAGE,
    HTTP_REQUEST,
    JSON_QUERY,
)
