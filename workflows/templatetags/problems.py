"""What is wrong with a document, in the reader's language.

The engine speaks English. Other languages get the same sentence where it is known, otherwise one for the
problem's code, and the engine's own after it for the ids and numbers it names.
"""

import re
from collections.abc import Mapping

from django import template
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from workflows.engine.document import Document, NodeSpec
from workflows.engine.kinds import AnyKind
from workflows.engine.problems import Problem
from workflows.templatetags.problem_sentences import translated


register = template.Library()


SENTENCES: Mapping[str, str | Promise] = {
    "assigner.invalid": _("An assignment is incomplete"),
    "code.empty": _("There is no code"),
    "code.language": _("The code's language can't be run here"),
    "code.main": _("The code must define a function main"),
    "code.output_type": _("An output has an unknown type"),
    "code.variable": _("A variable can't be an argument of the code"),
    "condition.invalid": _("A condition is incomplete"),
    "config.empty": _("What the node needs to be of use is empty"),
    "config.unknown_field": _("A setting of the node is not known"),
    "config.unknown_scope": _("There is no such memory scope"),
    "container.start_missing": _("The container doesn't say where it begins"),
    "container.start_unknown": _("The container can't begin there"),
    "document.edges": _("The workflow has too many edges"),
    "document.kind": _("The document's kind is not the usual one"),
    "document.nodes": _("The workflow has too many nodes"),
    "document.unknown_key": _("A part is not understood; it is kept"),
    "edge.crosses": _("The edge leads across the border of a container"),
    "edge.dangling": _("The edge leads to a node that isn't there"),
    "edge.duplicate": _("The same edge is drawn twice"),
    "edge.duplicate_id": _("Several edges have the same id"),
    "edge.end_too_long": _("A name at an edge is too long"),
    "edge.ends": _("An edge needs a source and a target"),
    "edge.handle": _("The edge leaves by a handle the node doesn't have"),
    "edit.base": _("The edit is about a draft that is gone"),
    "edit.ops": _("The edit isn't understood"),
    "export.assigner": _("An assignment can't be written in this language"),
    "export.container": _("A container can't be written in this language"),
    "export.enhanced_memory": _("The model's memory can't be written in this language"),
    "export.kind": _("A kind of node can't be written in this language"),
    "export.parts": _("Parts can't be written in this language"),
    "export.variable": _("A variable can't be written in this language"),
    "graph.cycle": _("The nodes form a circle"),
    "http.authorization": _("The authorization has no key"),
    "http.body": _("The body has the wrong number of parts"),
    "http.file": _("No file is chosen"),
    "http.method": _("The method can't be used"),
    "http.url": _("The address can't be called"),
    "input.invalid": _("The input doesn't fit"),
    "kind.unknown": _("There is no such kind of node here"),
    "list.operator": _("A condition on the list has an unknown operator"),
    "list.variable": _("There is no list to work on"),
    "loop.variable": _("A loop variable isn't as it has to be"),
    "memory.waits": _("What comes from outside waits for a review"),
    "mode.answer": _("An answer node may go unheard here"),
    "mode.end": _("An end node may go unheard here"),
    "mode.no_answer": _("Without an answer node nothing comes out"),
    "mode.no_end": _("Without an end node nothing comes out"),
    "node.data_missing": _("The node has no data"),
    "node.disabled_start": _("A start node can't be switched off"),
    "node.duplicate_id": _("Several nodes have the same id"),
    "node.id_missing": _("A node has no id"),
    "node.id_reserved": _("The node's id is the name of built-in variables"),
    "node.id_too_long": _("The node's id is too long"),
    "node.id_twice": _("Several nodes have the same id"),
    "node.kind_missing": _("The node doesn't say its type"),
    "node.misplaced": _("The node can't lie where it lies"),
    "node.parent_circle": _("The node lies inside itself"),
    "node.parent_kind": _("The node lies in one that can't hold others"),
    "node.parent_unknown": _("The node lies in one that isn't there"),
    "node.too_deep": _("Too many containers lie in one another"),
    "node.unreachable": _("No edge leads to the node"),
    "policy.invalid": _("What to do about errors is set wrongly"),
    "reference.disabled_node": _("A variable comes from a node that is switched off"),
    "reference.inside_container": _("A variable lies inside a container"),
    "reference.malformed": _("This isn't a reference and stays as it is written"),
    "reference.not_upstream": _("A variable comes from a node that doesn't run before this one"),
    "reference.unknown_node": _("A variable comes from a node that isn't there"),
    "reference.unknown_variable": _("The node has no such variable"),
    "root.missing": _("The workflow has no start node"),
    "root.mixed": _("A workflow begins at a start node or at triggers, not at both"),
    "root.several": _("There is a start node already"),
    "value.missing": _("A value is missing"),
    "variable.description": _("The description of a variable is too long"),
    "variable.duplicate": _("Two variables have the same name"),
    "variable.incomplete": _("A variable is incomplete"),
    "variable.name_too_long": _("The name of a variable is too long"),
    "variable.size": _("The value of a variable is too large"),
    "variable.type": _("The type of a variable is not known"),
    "variable.value": _("The value of a variable is not of its type"),
}


@register.filter
def in_words(problem: Problem) -> str:
    """A code without a sentence, a plug-in's say, keeps the engine's."""
    if (get_language() or "en").startswith("en"):
        return problem.message
    if known := translated(problem.message):
        return known
    sentence = SENTENCES.get(problem.code) or _of_family(problem.code)
    return f"{sentence} ({problem.message})" if sentence else problem.message


def _of_family(code: str) -> str | Promise | None:
    return _("A setting of the node isn't as it has to be") if code.startswith("config.") else None


@register.filter
def name_in(node: str, titles: Mapping[str, str]) -> str:
    """What people call it; a node that isn't there has its id only."""
    return titles.get(node) or node


@register.filter
def by_title(sentence: str, titles: Mapping[str, str]) -> str:
    """The engine names nodes by their ids, in places that are known; people know their titles."""

    def named(found: re.Match[str]) -> str:
        title = titles.get(found["id"])
        return f"{title}{' › ' if found['dot'] else ''}" if title else found[0]

    return _ID.sub(named, sentence)


def titles_in(document: Document, kinds: Mapping[str, AnyKind]) -> dict[str, str]:
    """Id → title, that of its kind where it has none of its own."""

    def title(node: NodeSpec) -> str:
        kind = kinds.get(node.kind)
        return node.title or (gettext(kind.title) if kind else node.kind)

    return {node.id: title(node) for node in document.nodes}


# Where a sentence begins or goes on to name a node: "a.text is unknown: a has no text".
_ID = re.compile(
    r"(?:^|(?<=\()|(?<=: )|(?<=node )|(?<=inside )|(?<=what )|(?<=mean )|(?<=, )|(?<=→ )|(?<=“))"
    r"(?!there is no )(?P<id>[^\s.;,()?“”]+)(?P<dot>\.(?=\w))?"
)


def addressed(problem: Problem) -> str:
    """With where it is, for a list that shows nothing else of the document."""
    return f"{problem.where}: {in_words(problem)}" if problem.where else in_words(problem)
