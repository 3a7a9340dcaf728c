"""What a field for files offers, and the files that it holds: those of an earlier run, until others are selected."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.files.rules import FileRules
from workflows.engine.language.document import Json
from workflows.engine.language.values import is_file
from workflows.files.accepted import describe_accepted, list_kinds
from workflows.files.limits import get_limit
from workflows.files.shown import describe_value


# Kind of file → what a browser's dialog offers for it. The server looks at the content.
_ACCEPTED: Final[Mapping[str, str]] = {
    "image": "image/*",
    "audio": "audio/*",
    "video": "video/*",
    "document": ".pdf,.docx,.pptx,.xlsx,.odt,.ods,.odp,.epub,.txt,.md,.csv,.tsv,.json,.yaml,.yml,.xml,.html,.htm,.eml,.vtt,.srt",
}


@dataclass(frozen=True, slots=True)
class FileChoice:
    """A field for files as it is offered: with its types and their sizes, the number, and addresses on the web."""

    field: str  # the name of the start field; "" for the files of a message
    label: str
    accept: str  # the types for the browser's dialog
    accepted: str  # the same for people, with the sizes
    limits: str  # kind → megabytes, as JSON, for the script that looks at a file before it is sent
    extensions: str  # that are accepted besides
    max_count: int
    allows_links: bool
    allows_uploads: bool
    is_single: bool  # the value is a file and not a list


def build_file_choice(
    rules: FileRules, *, field: str = "", label: str = "", is_single: bool = False
) -> FileChoice:
    types = [_ACCEPTED[kind] for kind in rules.types if kind in _ACCEPTED]
    has_others = not rules.types or ("custom" in rules.types and not rules.extensions)
    accept = "" if has_others else ",".join([*types, *rules.extensions])
    links = "remote_url" in rules.methods  # offered only where the document names them
    return FileChoice(
        field=field,
        label=label,
        accept=accept,
        accepted=describe_accepted(rules),
        limits=json.dumps({kind: get_limit(kind) for kind in list_kinds(rules)}),
        extensions="" if has_others else " ".join(rules.extensions),
        max_count=1 if is_single else rules.max_count,
        allows_links=links,
        allows_uploads=rules.allows_uploads,
        is_single=is_single,
    )


def list_chosen(value: Json) -> list[Json]:
    """Return the files of an earlier run as the field for files writes them, each with the address that asks who follows it."""
    values = value if isinstance(value, list | tuple) else [value]
    files = [file for each in values if is_file(each) and (file := describe_value(each))]
    return [
        {"transfer_method": "remote_url", "url": file.url, "name": file.name}
        if file.id is None
        else {
            "id": str(file.id),
            "name": file.name,
            "size": file.size or 0,
            "url": file.url,
            "is_image": file.has_picture,
        }
        for file in files
    ]
