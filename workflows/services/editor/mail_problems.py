"""What keeps the questions of a document from being mailed."""

from collections.abc import Iterator

from pydantic import ValidationError

from accounts.mail import is_mail_configured
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.control.human_input import HumanInputConfig, list_mail_addresses


FIELD = "delivery_methods"


def find_mail_problems(document: Document) -> Iterator[Problem]:
    """Yield a warning for each question that is to be mailed and can't be."""
    for node in document.nodes:
        if node.kind != "human-input" or not (methods := _list_mail_methods(node)):
            continue
        if not is_mail_configured():
            message = "The question is not mailed: this server has no EMAIL_URL or no PUBLIC_URL"
            yield build_warning("mail.not_configured", message, node.id, FIELD)
        elif not list_mail_addresses(methods):
            message = "The question is not mailed: no address is entered"
            yield build_warning("mail.no_address", message, node.id, FIELD)


def _list_mail_methods(node: NodeSpec) -> list[dict[str, object]]:
    try:
        methods = HumanInputConfig.model_validate(dict(node.data)).delivery_methods
    except ValidationError:
        return []  # an incomplete draft
    return [m for m in methods if m.get("type") == "email" and m.get("enabled", True)]
