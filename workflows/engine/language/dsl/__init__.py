"""Reads and writes workflow documents as text, in both dialects.

``load_document`` takes YAML, JSON or a tree; ``export_document`` returns text, and warnings about parts that the
dialect cannot express. The rest of the engine does not depend on the dialect.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.appearance import Appearance
from workflows.engine.language.document import Dialect, Document, Json
from workflows.engine.language.dsl.dify import read_dify
from workflows.engine.language.dsl.emit import to_yaml
from workflows.engine.language.dsl.foreign_formats import check_format, unwrap_answer
from workflows.engine.language.dsl.loading import load_tree
from workflows.engine.language.dsl.reading import Loaded
from workflows.engine.language.dsl.write_dify import find_unsupported_by_dify, write_dify
from workflows.engine.language.dsl.write_xworkflow import (
    find_unsupported_by_xworkflow,
    write_xworkflow,
)
from workflows.engine.language.dsl.xworkflow import read_xworkflow
from workflows.engine.language.problems import Problem, build_warning


__all__ = [
    "Exported",
    "Loaded",
    "build_tree",
    "compute_digest",
    "dump_document",
    "export_document",
    "load_document",
    "load_tree",
]


@dataclass(frozen=True, slots=True)
class Exported:
    """The text of an exported document, and warnings about the parts that readers of its dialect ignore."""

    text: str
    warnings: tuple[Problem, ...] = ()


def load_document(
    source: str | bytes | Mapping[str, Json], *, confirm_newer: bool = False
) -> Loaded:
    """Read a document of either dialect. Raises DocumentInvalid with every problem found."""
    tree, notes = unwrap_answer(load_tree(source))
    check_format(tree)
    if "nodes" in tree and "workflow" not in tree and "app" not in tree:
        return read_xworkflow(tree)
    loaded = read_dify(tree, confirm_newer=confirm_newer)
    return replace(loaded, warnings=(*notes, *loaded.warnings)) if notes else loaded


def export_document(
    document: Document,
    dialect: Dialect | None = None,
    *,
    kinds: Mapping[str, Appearance],
    include_secrets: bool = False,
) -> Exported:
    """Return the document as YAML, with a warning for each part that the dialect's readers ignore.

    ``kinds`` are all known kinds, including those that are not installed.
    """
    target = dialect or document.dialect
    text = dump_document(document, target, include_secrets=include_secrets)
    warnings = (*_find_unknown_kinds(document, target, kinds), *_UNSUPPORTED[target](document))
    return Exported(text, warnings)


def dump_document(
    document: Document, dialect: Dialect | None = None, *, include_secrets: bool = False
) -> str:
    """Return the document as YAML."""
    return to_yaml(build_tree(document, dialect, include_secrets=include_secrets))


def build_tree(
    document: Document, dialect: Dialect | None = None, *, include_secrets: bool = False
) -> dict[str, Json]:
    """Return the document as JSON values, in the shape of a dialect."""
    if (dialect or document.dialect) is Dialect.XWORKFLOW:
        return write_xworkflow(document, include_secrets=include_secrets)
    return write_dify(document, include_secrets=include_secrets)


def compute_digest(document: Document) -> str:
    """Return a hash of the whole contents, secrets included. Equal documents have equal digests."""
    tree = build_tree(document, include_secrets=True)
    canonical = json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _find_unknown_kinds(
    document: Document, target: Dialect, kinds: Mapping[str, Appearance]
) -> Iterator[Problem]:
    for node in document.nodes:
        kind = kinds.get(node.kind)
        if kind is None or target not in kind.dialects:
            message = f"{_PRODUCT_NAMES[target]} has no nodes of type {node.kind}"
            yield build_warning("export.kind", message, node=node.id)


_PRODUCT_NAMES: Final[Mapping[Dialect, str]] = {
    Dialect.DIFY: "Dify",
    Dialect.XWORKFLOW: "The Mnemoflow format",
}
_UNSUPPORTED: Final[Mapping[Dialect, Callable[[Document], Iterator[Problem]]]] = {
    Dialect.DIFY: find_unsupported_by_dify,
    Dialect.XWORKFLOW: find_unsupported_by_xworkflow,
}
