"""Turns the answer of an MCP server into a result: its texts, and its structured content."""

from typing import Final

from mcp import types

from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolResult
from workflows.tools.echoed_secrets import NO_CLEANER, Cleaner
from workflows.tools.operations import clean_text
from workflows.tools.results import limit_data, shorten_text


MAX_PARTS: Final = 200


def build_result(answer: types.CallToolResult, clean: Cleaner = NO_CLEANER) -> ToolResult:
    """Return the result. Links are shown as text and never followed, and files are only mentioned.

    ``clean`` removes the secret from everything before that is cut to size: half a secret isn't recognized any more.
    """
    texts = [_format_part(part, clean) for part in answer.content[:MAX_PARTS]]
    if len(answer.content) > MAX_PARTS:
        texts.append(f"[Cut: {len(answer.content) - MAX_PARTS:,} more parts]")
    data: tuple[Json, ...] = ()
    if answer.structured_content is not None:
        data = limit_data(clean.clean_value(answer.structured_content))
    text = shorten_text(clean("\n".join(texts)))
    return ToolResult(text, data=data, is_error=bool(answer.is_error))


def _format_part(part: types.ContentBlock, clean: Cleaner) -> str:
    if isinstance(part, types.TextContent):
        return part.text
    if isinstance(part, types.ImageContent | types.AudioContent):
        media_type = clean_text(part.mime_type, 100)
        return f"[A file of type {media_type}, {len(part.data) * 3 // 4:,} bytes; it is not shown]"
    if isinstance(part, types.EmbeddedResource):
        resource = part.resource
        if isinstance(resource, types.TextResourceContents):
            return resource.text
        return f"[The file {clean_text(clean(str(resource.uri)), 300)}; it is not shown]"
    return f"[A link to {clean_text(clean(str(part.uri)), 300)}; it is not followed]"
