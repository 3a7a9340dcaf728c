"""What keeps the questions of a document from being mailed."""

from collections.abc import Iterator

from pydantic import ValidationError

from accounts.mail import is_mail_configured
from workflows.engine.answerers import FIELDS
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.control.human_input import (
    HumanInput,
    HumanInputConfig,
    list_mail_addresses,
)


FIELD = "delivery_methods"


def find_mail_problems(document: Document) -> Iterator[Problem]:
    """Yield a warning for each question that is to be mailed and can't be."""
    for node in document.nodes:
        methods = _list_mail_methods(node) if node.kind == HumanInput.name else []
        field = FIELD if methods else _find_mailed_row(node)
        if field and not is_mail_configured():
            message = "The question is not mailed: this server has no EMAIL_URL or no PUBLIC_URL"
            yield build_warning("mail.not_configured", message, node.id, field)
        elif methods and not list_mail_addresses(methods):
            message = "The question is not mailed: no address is entered"
            yield build_warning("mail.no_address", message, node.id, FIELD)


def _find_mailed_row(node: NodeSpec) -> str:
    """Return the field whose rows name an address, whose owner can answer by mail only; "" if none does."""
    for field in FIELDS.get(node.kind, ()):
        rows = node.data.get(field)
        for row in rows if isinstance(rows, list | tuple) else ():
            if isinstance(row, dict) and row.get("type") == "email":
                return field
    return ""


def _list_mail_methods(node: NodeSpec) -> list[dict[str, object]]:
    try:
        methods = HumanInputConfig.model_validate(dict(node.data)).delivery_methods
    except ValidationError:
        return []  # an incomplete draft
    return [m for m in methods if m.get("type") == "email" and m.get("enabled", True)]
