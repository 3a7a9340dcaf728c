"""The pages of the team's knowledge bases as resources, in Markdown."""

from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _
from mcp import types

from accounts.errors import NotFound
from workflows import memory_app
from workflows.mcp_server.callers import Caller


SCHEME: Final = "mnemoflow"
_PREFIX: Final = f"{SCHEME}://knowledge/"
MARKDOWN: Final = "text/markdown"


def build_page_uri(entry_id: Any) -> str:  # Any: an id as memory has it
    """Return the address of a page, by the id of its entry."""
    return f"{_PREFIX}{entry_id}"


def list_page_resources(caller: Caller, cursor: str | None) -> types.ListResourcesResult:
    """Return the pages of one knowledge base; the cursor leads to the next one."""
    if not memory_app.is_on() or not caller.allows("memory:read"):
        return types.ListResourcesResult(resources=[])
    bases = [
        base for base in memory_app.list_choosable_knowledge_bases(caller.memory) if base.pages
    ]
    position = int(cursor) if cursor and cursor.isascii() and cursor.isdecimal() else 0
    if position >= len(bases):
        return types.ListResourcesResult(resources=[])
    base = bases[position]
    knowledge_base = memory_app.get_knowledge_base(caller.memory, namespace=base.namespace)
    resources = [
        types.Resource(
            uri=build_page_uri(knowledge_base.entries[page.id].id),
            name=page.title,
            title=page.title,
            description=page.summary or base.name,
            mime_type=MARKDOWN,
        )
        for page in knowledge_base.pages
    ]
    has_next = position + 1 < len(bases)
    return types.ListResourcesResult(
        resources=resources, next_cursor=str(position + 1) if has_next else None
    )


def read_page(caller: Caller, uri: str) -> str:
    """Return the text of a page with its title. Raises NotFound for any other address."""
    try:
        entry_id = UUID(uri.removeprefix(_PREFIX))
    except ValueError:
        entry_id = None
    if entry_id is None or not uri.startswith(_PREFIX) or not memory_app.is_on():
        raise NotFound(_("There is no such resource."))
    page = memory_app.open_page(caller.memory, entry_id=entry_id).page
    return f"# {page.title}\n\n{page.content}\n"
