"""Translate the engine's messages about a document.

The engine's messages are English and contain ids, labels and numbers. Each pattern here is such a message with
placeholders: it extracts the values from the message, and its translation is formatted with them.
"""

import re
from functools import cache

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from workflows.engine.kinds import AnyKind
from workflows.engine.language.config_errors import build_field_label


# The first match is used, so more specific patterns come before more general ones.
SENTENCES = (
    _("The model %(model)s has no price, so the cost isn't limited; set it on the page Models"),
    _("The model %(model)s is not connected; select a model for it on the page Models"),
    _("The provider %(provider)s could not be reached; test it on the page Models"),
    _("The tool %(tool)s isn't connected; select another one, or connect it on the page Tools"),
    _("This is a file of %(product)s. Only documents of Dify and of Mnemoflow can be imported"),
    _("The question is not mailed: this server has no EMAIL_URL or no PUBLIC_URL"),
    _("The question is not mailed: no address is entered"),
    _("Two fields have the name %(name)s; each needs a name of its own"),
    _("Two buttons have the name %(name)s; each needs a name of its own"),
    _("The team has no connection %(name)s; connect it on the page Tools"),
    _("Several connections are named %(name)s; use the connection name"),
    _("%(tool)s of %(name)s is disabled or does not exist"),
    _("The workflow %(name)s is not published as a tool"),
    _("There is no tool %(name)s; no installed plug-in offers it"),
    # the configuration of a node
    _("%(label)s is missing"),
    _("%(label)s must be text"),
    _("%(label)s must be a whole number"),
    _("%(label)s must be a number"),
    _("%(label)s must be true or false"),
    _("%(label)s must be a list"),
    _("%(label)s must be an object"),
    _("%(label)s must have at least %(least)s characters"),
    _("%(label)s must have at most %(most)s characters"),
    _("%(label)s must be at least %(least)s"),
    _("%(label)s must be at most %(most)s"),
    _("%(label)s must be more than %(bound)s"),
    _("%(label)s must be less than %(bound)s"),
    _("%(label)s must be one of: %(words)s"),
    _("%(label)s must have at least %(least)s items"),
    _("%(label)s must have at most %(most)s items"),
    _("The prompt is empty"),
    _("The template is empty"),
    _("Answer is empty"),
    _("No assignments"),
    _("The node has no outputs"),
    _("Unknown node type %(kind)s; did you mean %(close)s?"),
    _("Unknown node type %(kind)s"),
    _("Unknown memory scope %(scope)s; use one of: %(words)s"),
    _("Unknown field %(name)s: memory is disabled"),
    _("%(node)s brings in external content, which stays in quarantine until it is approved"),
    _(
        "The conversation memory window adds nothing: only a chat has earlier messages;"
        " choose a variable with messages, or turn it off"
    ),
    _("No workflow is selected"),
    _("There is no workflow %(reference)s in this team"),
    _("The workflow %(name)s is not published"),
    _("The workflow %(name)s is archived"),
    _("A workflow can't run inside itself"),
    _("%(input)s is not an input of %(name)s"),
    # the graph
    _("There is no answer node, so the workflow has no output"),
    _("There is no end node, so the workflow has no output"),
    _("A %(mode)s app returns its output through %(kind)s nodes; this node may be ignored"),
    _("The node is not reachable from the Start node and never runs"),
    _("The workflow has no Start node"),
    _("There is already a Start node: %(node)s"),
    _("A workflow starts with a Start node or with triggers, not both"),
    _("The edges form a cycle: %(way)s. Use a Loop node to repeat steps"),
    _("Duplicate edge"),
    _("An edge can't cross the border of a container"),
    _("The edge connects to a node that doesn't exist: %(node)s"),
    _("The node has no branch %(handle)s; it has %(words)s"),
    _("The container can't start at %(node)s: it is not a node inside"),
    _("The container has no start node"),
    _("The container is empty"),
    _("Containers can be nested at most %(most)s levels deep"),
    _("A node of type %(kind)s must be placed directly inside: %(words)s"),
    _("A run can't start inside a container"),
    _("A Start node can't be disabled; it still runs"),
    # references
    _("%(reference)s is not a valid reference and is kept as text"),
    _("%(reference)s is not closed with #}} and is kept as text"),
    _("%(reference)s is never available: %(node)s is disabled"),
    _("%(reference)s is unknown: there is no node %(node)s; did you mean %(close)s?"),
    _("%(reference)s is unknown: there is no node %(node)s"),
    _("%(reference)s is unknown: %(node)s has no %(name)s; did you mean %(close)s?"),
    _("%(reference)s is unknown: %(node)s has no %(name)s"),
    _("%(reference)s is inside %(node)s; only the outputs of %(again)s are available here"),
    _("%(reference)s is not available yet: %(node)s doesn't run before this node"),
    # particular kinds of nodes
    _("The message is empty"),
    _("The message has a place for %(name)s, but the form has no such field"),
    _("A delay takes at most 366 days"),
    _("%(text)s is not a time; write it as 2026-12-24T18:00+01:00"),
    _("%(name)s is not a field of this form"),
    _("action must be one of the following: %(words)s"),
    _("%(name)s is required in input form"),
    _("%(name)s in input form must be a valid number"),
    _("Several classes have the id %(id)s"),
    _("The id %(id)s is that of the branch for other texts"),
    _("Several parameters have the name %(name)s"),
    _("The code is empty"),
    _("The code must define a function main"),
    _("The URL is empty"),
    _("The URL must start with http:// or https://"),
    _("The authorization has no API key"),
    _("No file selected"),
    _("No list selected"),
    _("A condition needs a variable"),
    _("The target must be a conversation variable or a loop variable"),
    _("A loop variable needs a name"),
    _("Duplicate loop variable %(name)s"),
    _("%(name)s needs a variable as its initial value"),
    _("Enter a number, zero or greater"),
    _("The default value doesn't match its type"),
)


def translate_message(message: str) -> str:
    """Return the engine's message in the reader's language, or "" if it matches none of the sentences."""
    for sentence, pattern in _compile_patterns():
        if match := pattern.fullmatch(message):
            values = match.groupdict()
            if "label" in values:
                values["label"] = translate_label(values["label"])
            return gettext(sentence) % values
    return ""


def translate_label(path: str) -> str:
    """Return the labels of a path to a field, such as "Model › Name", in the reader's language."""
    return " › ".join(gettext(part) for part in path.split(" › "))


def translate_field_path(path: str, kind: AnyKind | None) -> str:
    """Return the labels of a dotted path in the form of this kind, or the path itself without a kind."""
    steps = [int(step) if step.isdecimal() else step for step in path.split(".")]
    return translate_label(build_field_label(steps, kind.fields)) if kind else path


@cache
def _compile_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (sentence, re.compile(_build_pattern(sentence), re.DOTALL)) for sentence in SENTENCES
    )


def _build_pattern(sentence: str) -> str:
    """Return a regular expression with a named group for each placeholder of the sentence."""
    pattern, end = "", 0
    for placeholder in re.finditer(r"%\((\w+)\)s", sentence):
        pattern += re.escape(sentence[end : placeholder.start()]) + f"(?P<{placeholder[1]}>.+?)"
        end = placeholder.end()
    return pattern + re.escape(sentence[end:])
