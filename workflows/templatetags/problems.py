"""The problems of a document in the reader's language.

The engine's messages are English. Other languages get its translation if the message is known, otherwise
a message for the problem's code, followed by the engine's message with its ids and numbers.
"""

import re
from collections.abc import Mapping

from django import template
from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Document
from workflows.engine.language.problems import Problem
from workflows.templatetags.kind_words import get_kind_title
from workflows.templatetags.problem_sentences import say_plainly, translate_message


register = template.Library()

# The places in a message that name a node: "a has no output b; did you mean a.c?".
_ID = re.compile(
    r"(?:^|(?<=\()|(?<=: )|(?<=node )|(?<=inside )|(?<=outputs of )|(?<=output of )|(?<=mean )|(?<=, )|(?<=→ )|(?<=“))"
    r"(?!there is no )(?P<id>[^\s.;,()?“”]+)(?P<dot>\.(?=\w))?"
)
SENTENCES_BY_CODE: Mapping[str, str | Promise] = {
    "agent.price": _("The cost can't be limited, because the model has no price"),
    "agent.setting": _("A setting of a tool has no variable yet"),
    "app.model_config": _("The settings of the app are missing"),
    "app.data_sets": _("The data sets are searched by a node"),
    "app.form": _("The fields of the form are inputs of the Start node"),
    "app.prompt": _("The prompt and the model are in a node"),
    "app.tools": _("The tools belong to the agent"),
    "app.unused": _("A setting of the app has no effect"),
    "app.translated": _("The app was turned into a graph"),
    "assigner.invalid": _("An assignment is incomplete"),
    "branch.open": _("A branch leads nowhere"),
    "classes.duplicate": _("Several classes have the same id"),
    "classes.reserved": _("The id of a class is reserved"),
    "code.empty": _("The code is empty"),
    "code.fault": _("The code can't be read here"),
    "code.language": _("The code's language is not supported"),
    "code.main": _("The code must define a function main"),
    "code.output_type": _("An output has an unknown type"),
    "code.variable": _("A variable name can't be used as an argument"),
    "condition.invalid": _("A condition is incomplete"),
    "config.empty": _("A required setting is empty"),
    "config.missing": _("A required setting is missing"),
    "config.unknown_field": _("Unknown setting"),
    "config.unknown_scope": _("Unknown memory scope"),
    "container.empty": _("Nothing is inside the container"),
    "container.start_missing": _("The container has no start node"),
    "container.start_unknown": _("The container's start node is invalid"),
    "document.console_answer": _("The document was inside an answer of Dify's console"),
    "document.edges": _("The workflow has too many edges"),
    "document.kind": _("Unusual document kind"),
    "document.nesting": _("Containers are nested too deeply"),
    "document.nodes": _("The workflow has too many nodes"),
    "document.too_large": _("The document is too large"),
    "end.empty": _("The node has no outputs"),
    "document.too_many": _("The document has too many values"),
    "document.unknown_key": _("Unknown part (kept)"),
    "edge.crosses": _("The edge crosses the border of a container"),
    "edge.dangling": _("The edge connects to a node that doesn't exist"),
    "edge.duplicate": _("Duplicate edge"),
    "edge.duplicate_id": _("Duplicate edge ID"),
    "edge.end_too_long": _("A name on an edge is too long"),
    "edge.ends": _("An edge needs a source and a target"),
    "edge.handle": _("The edge uses a branch that doesn't exist"),
    "edit.base": _("The edit is based on a draft that no longer exists"),
    "edit.ops": _("The edit is invalid"),
    "export.assigner": _("An assignment can't be exported to this format"),
    "export.container": _("A container can't be exported to this format"),
    "export.enhanced_memory": _("The model's memory can't be exported to this format"),
    "export.kind": _("A node type can't be exported to this format"),
    "export.parts": _("Parts can't be exported to this format"),
    "export.variable": _("A variable can't be exported to this format"),
    "delay.no_time": _("This is not a time"),
    "delay.too_long": _("The delay is too long"),
    "feature.not_offered": _("A feature is not offered here"),
    "form.duplicate": _("A field or a button has a name that is used twice"),
    "mail.no_address": _("A question has no address to be mailed to"),
    "mail.not_configured": _("This server can't send mail"),
    "answerer.missing": _("A row of people names nobody"),
    "answerer.no_address": _("This is no email address"),
    "answerer.unknown": _("Somebody who is asked is not in this team"),
    "form.escalates_to_nobody": _("A question is escalated to nobody"),
    "form.too_late": _("This would happen after the time to answer"),
    "form.no_field": _("A field of the message is missing in the form"),
    "graph.cycle": _("The nodes form a cycle"),
    "http.authorization": _("The authorization has no API key"),
    "http.body": _("The body is empty or has too many items"),
    "http.file": _("No file selected"),
    "http.json": _("The body is no valid JSON"),
    "http.json_repaired": _("The JSON of the body is repaired when it is sent"),
    "http.method_body": _("A request with this method is usually sent without a body"),
    "http.method": _("Unsupported HTTP method"),
    "http.url": _("Invalid URL"),
    "input.invalid": _("Invalid input"),
    "input.unknown": _("Unknown input"),
    "kind.unknown": _("This installation lacks the node type"),
    "list.operator": _("A condition on the list has an unknown operator"),
    "list.operation": _("The operation is not supported"),
    "llm.vision": _("The model gets no images"),
    "loop.variable": _("Invalid loop variable"),
    "memory.in_system": _("Memories in a system message"),
    "memory.no_turns": _("The memory window adds nothing"),
    "memory.waits": _("External content needs review"),
    "memory.sent": _("Memories may be sent outside"),
    "model.missing": _("The model is not connected"),
    "model.unreachable": _("The model provider could not be reached"),
    "mode.answer": _("An Answer node may be ignored here"),
    "mode.end": _("An End node may be ignored here"),
    "mode.no_answer": _("There is no answer node, so the workflow has no output"),
    "mode.no_end": _("There is no end node, so the workflow has no output"),
    "node.data_missing": _("The node has no data"),
    "node.disabled_start": _("A Start node can't be disabled"),
    "node.duplicate_id": _("Duplicate node ID"),
    "node.id_missing": _("A node has no ID"),
    "node.id_reserved": _("The node ID is reserved for built-in variables"),
    "node.id_too_long": _("The node ID is too long"),
    "node.id_given": _("Nodes had the same ID"),
    "node.id_twice": _("Duplicate node ID"),
    "node.kind_missing": _("The node has no type"),
    "node.misplaced": _("The node can't be placed here"),
    "node.parent_circle": _("The node is nested in itself"),
    "node.parent_kind": _("The parent node is not a container"),
    "node.parent_unknown": _("The parent container doesn't exist"),
    "node.too_deep": _("Containers are nested too deeply"),
    "node.unreachable": _("The node is not reachable"),
    "note.invalid": _("A note is not readable"),
    "parameters.duplicate": _("Several parameters have the same name"),
    "policy.invalid": _("Invalid error handling"),
    "policy.never_retried": _("Retries are off"),
    "reference.may_be_missing": _("A variable may be missing here"),
    "reference.disabled_node": _("A variable comes from a disabled node"),
    "reference.inside_container": _("A variable is inside a container"),
    "reference.malformed": _("Invalid reference, kept as text"),
    "reference.unclosed": _("A reference is not closed, and kept as text"),
    "reference.more": _("More references have problems"),
    "reference.not_a_list": _("The variable is not a list"),
    "reference.not_upstream": _("A variable comes from a node that doesn't run before this one"),
    "reference.undeclared": _("A conversation variable is not declared"),
    "reference.undeclared_output": _("An output of the code is not declared"),
    "reference.unknown_node": _("A variable comes from a node that doesn't exist"),
    "reference.unknown_variable": _("Unknown variable"),
    "root.missing": _("The workflow has no Start node"),
    "root.mixed": _("A workflow starts with a Start node or with triggers, not both"),
    "root.several": _("There is already a Start node"),
    "schedule.invalid": _("The schedule names no times"),
    "tool.argument": _("A tool needs a value"),
    "tool.connected": _("The tool isn't connected"),
    "tool.unavailable": _("The team does not have this tool"),
    "agent.outside": _("The agent has memory and reads from outside"),
    "agent.tool": _("The agent goes on without this tool, which the team does not have"),
    "code.module": _("The code imports a module that is not here"),
    "value.missing": _("A value is missing"),
    "variable.description": _("The description of a variable is too long"),
    "variable.duplicate": _("Duplicate variable name"),
    "variable.incomplete": _("A variable is incomplete"),
    "variable.name_given": _("Variables had the same name"),
    "variable.name_too_long": _("The name of a variable is too long"),
    "variable.size": _("The value of a variable is too large"),
    "variable.type": _("Unknown variable type"),
    "variable.value": _("The value doesn't match the variable type"),
    "webhook.body": _("A request with this method has no body"),
    "webhook.duplicate": _("Several values have the same name"),
    "webhook.type": _("A value has an unknown type"),
}


@register.filter
def describe_problem(problem: Problem) -> str:
    """Return the problem's message in the reader's language; the message of an unknown code stays as it is."""
    message = say_plainly(problem.message)
    if (get_language() or "en").startswith("en"):
        return message
    if translation := translate_message(message):
        return translation
    is_setting = problem.code.startswith("config.")
    sentence = SENTENCES_BY_CODE.get(problem.code) or (_("Invalid setting") if is_setting else "")
    return f"{sentence} ({problem.message})" if sentence else problem.message


@register.filter
def get_node_title(node_id: str, titles: Mapping[str, str]) -> str:
    """Return the node's title, or its id if the node doesn't exist."""
    return titles.get(node_id) or node_id


@register.filter
def replace_ids_by_titles(message: str, titles: Mapping[str, str]) -> str:
    """Replace the ids of nodes in a message of the engine by the nodes' titles."""

    def replace_id(match: re.Match[str]) -> str:
        title = titles.get(match["id"])
        return f"{title}{' › ' if match['dot'] else ''}" if title else match[0]

    return _ID.sub(replace_id, message)


def list_titles(document: Document, kinds: Mapping[str, AnyKind]) -> dict[str, str]:
    """Return the titles of the nodes by id; a node without a title gets the title of its kind."""
    return {node.id: node.title or get_kind_title(node.kind, kinds) for node in document.nodes}


def describe_with_location(problem: Problem, titles: Mapping[str, str]) -> str:
    """Return the message with the problem's location, for a list that shows nothing else of the document.

    Nodes are named by their titles, as far as these are known.
    """
    message = replace_ids_by_titles(describe_problem(problem), titles)
    title = titles.get(problem.node or "")
    where = ", ".join(filter(None, (title, problem.field))) if title else problem.where
    return f"{where}: {message}" if where else message
