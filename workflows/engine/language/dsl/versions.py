"""Checks the version of a document: whether it is read, and whether the user has to confirm that."""

import re
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.reading import Reader


DIFY: Final = "0.6.0"
XWORKFLOW: Final = "0.1.0"
UNVERSIONED: Final = "0.1.0"  # the assumed version of a Dify document without one

_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?")


def check_dify_version(declared: Json, reader: Reader, *, confirmed: bool) -> tuple[str, bool]:
    """Return the version, and whether the user must confirm the import."""
    version = UNVERSIONED if declared is None else declared
    parsed = _parse(version)
    if parsed is None:
        reader.add_error(
            "version.invalid", "The version must be quoted text such as '0.6.0'", field="version"
        )
        return str(version), False
    supported = _parse(DIFY) or parsed
    if parsed > supported or parsed[0] < supported[0]:
        message = f"Version {version} is not the supported version {DIFY}; parts may be misread"
        reader.add_warning("version.unknown", message, field="version")
        return version, not confirmed
    if parsed[:2] < supported[:2]:
        message = (
            f"An older Dify exported this document (format {version}, read as {DIFY});"
            " run the workflow once before you publish it"
        )
        reader.add_warning("version.older", message, field="version")
    return version, False


def check_xworkflow_version(declared: Json, reader: Reader) -> str:
    """Return the supported version. A missing version gives a warning, and any other one an error."""
    if declared is None:
        # A bare graph, as in handwritten documents.
        message = f"The document has no version; assuming {XWORKFLOW}"
        reader.add_warning("version.missing", message, field="version")
    elif declared != XWORKFLOW:
        message = f"Only version '{XWORKFLOW}' of this format is supported, not {declared!r}"
        reader.add_error("version.invalid", message, field="version")
    return XWORKFLOW


def _parse(version: Json) -> tuple[int, int, int] | None:
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None
