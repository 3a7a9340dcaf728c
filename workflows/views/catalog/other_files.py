"""Files that were sent to be imported as workflows and are none: what they are, and where they can be used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from workflows import memory_app, selectors
from workflows.engine.errors import DocumentInvalid
from workflows.engine.files.media_types import (
    OCTETS,
    TEXT,
    clean_name,
    detect_type,
    get_extension,
)
from workflows.engine.language.dsl.loading import load_tree
from workflows.models import Workflow


MAX_WORKFLOWS: Final = 5  # that are offered for a file

_TEXT: Final = _("%(name)s is a text document, not a workflow.")
_SHEET: Final = _("%(name)s is a table, not a workflow.")
_SLIDES: Final = _("%(name)s is a presentation, not a workflow.")
_IMAGE: Final = _("%(name)s is an image, not a workflow.")
_SOUND: Final = _("%(name)s is a recording, not a workflow.")
_UNKNOWN: Final = _("%(name)s is not a workflow. Workflows are YAML or JSON files.")
# The extension of a file, or the kind of its content → what it is.
_SENTENCES: Final[Mapping[str, str | Promise]] = {
    ".pdf": _("%(name)s is a PDF document, not a workflow."),
    **dict.fromkeys((".doc", ".docx", ".odt", ".rtf", ".epub", ".txt", ".eml"), _TEXT),
    **dict.fromkeys((".md", ".markdown", ".mdx", ".html", ".htm", ".vtt", ".srt"), _TEXT),
    **dict.fromkeys((".csv", ".tsv", ".xls", ".xlsx", ".ods"), _SHEET),
    **dict.fromkeys((".ppt", ".pptx", ".odp"), _SLIDES),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".bmp", "image"), _IMAGE),
    **dict.fromkeys((".mp3", ".wav", ".m4a", ".mp4", ".mov", "audio", "video"), _SOUND),
}
_WITHOUT_TEXT: Final = (_IMAGE, _SOUND)  # a knowledge base can't take these
_WORKFLOW_EXTENSIONS: Final = frozenset({".yml", ".yaml", ".json"})
_SECTIONS: Final = ("app", "workflow", "nodes", "kind", "model_config")  # of documents


@dataclass(frozen=True, slots=True)
class OtherFile:
    """A file that is no workflow. ``workflows`` have a field for files."""

    sentence: str
    is_readable: bool  # a knowledge base can take it
    is_unknown: bool
    workflows: tuple[Workflow, ...]


def find_other_file(
    principal: Principal, team_id: UUID, name: str, content: bytes
) -> OtherFile | None:
    """Return what a file is, or None if it may be a workflow or is an attempt at one."""
    extension, media_type = get_extension(name), detect_type(content, ".txt").name
    if media_type in (TEXT, OCTETS) and extension in _WORKFLOW_EXTENSIONS:
        return None
    if media_type == TEXT and (extension not in _SENTENCES or _has_sections(content)):
        return None
    return build_other_file(principal, team_id, name, content)


def build_other_file(principal: Principal, team_id: UUID, name: str, content: bytes) -> OtherFile:
    """Return what a file is by its content, or by its name if there is no content."""
    media_type = detect_type(content, name)
    extension = media_type.extension if content else get_extension(name)
    sentence = _SENTENCES.get(extension) or _SENTENCES.get(media_type.kind, _UNKNOWN)
    is_unknown = sentence is _UNKNOWN
    return OtherFile(
        str(sentence) % {"name": clean_name(name)},
        is_readable=not is_unknown and sentence not in _WITHOUT_TEXT and memory_app.is_on(),
        is_unknown=is_unknown,
        workflows=() if is_unknown else tuple(_list_with_file_fields(principal, team_id)),
    )


def _has_sections(content: bytes) -> bool:
    """Return whether a text has the sections of a document, whatever its file is called."""
    try:
        tree = load_tree(content)
    except DocumentInvalid:
        return False
    return any(section in tree for section in _SECTIONS)


def _list_with_file_fields(principal: Principal, team_id: UUID) -> list[Workflow]:
    """Return workflows of the team whose Start node has a field for files, the newest first."""
    has_field = Q()
    for kind in ("file", "file-list"):
        has_field |= Q(nodes__data__variables__contains=[{"type": kind}])
    rows = selectors.list_workflows(principal, team_id=team_id)
    return list(rows.filter(has_field, nodes__kind="start").distinct()[:MAX_WORKFLOWS])
