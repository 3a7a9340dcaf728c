"""Translate the engine's messages about a document.

The engine's messages are English and contain ids, labels and numbers. Each pattern here is such a message with
placeholders: it extracts the values from the message, and its translation is formatted with them.
"""

import re
from functools import cache
from typing import Final

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from workflows.engine.field_labels import ITEM_NAMES, SEPARATOR, build_field_label
from workflows.engine.kinds import AnyKind
from workflows.models import StoredFile


# The first match is used, so more specific patterns come before more general ones.
SENTENCES = (
    _("The model %(model)s has no price, so the cost isn't limited; set it on the page Models"),
    _("The model %(model)s is not connected; select a model for it on the page Models"),
    _("The provider %(provider)s could not be reached; test it on the page Models"),
    _(
        "The tool %(tool)s of %(provider)s isn't connected; select another one, or connect it on the page Tools"
    ),
    _("The tool %(tool)s isn't connected; select another one, or connect it on the page Tools"),
    _("This is a file of %(product)s. Only documents of Dify and of Mnemoflow can be imported"),
    _(
        "This is a knowledge pipeline of Dify, which fills a knowledge base and is no workflow."
        " Upload its documents into a knowledge base instead"
    ),
    _(
        "This is what Dify's console answers to an import, without the document."
        " Export the app in Dify, and import that file"
    ),
    _(
        "This is the answer of Dify's console with the export of an app; the document inside it was read"
    ),
    _(
        "This is the answer of Dify's console with the draft of an app; the document inside it was read"
    ),
    _("This is TOML. Workflows are YAML or JSON"),
    _("The question is not mailed: this server has no EMAIL_URL or no PUBLIC_URL"),
    _("The question is not mailed: no address is entered"),
    _("Nobody is chosen in this row"),
    _("%(text)s is no email address"),
    _("This is not a member of this team, so nobody is asked"),
    _("This is not a group of this team, so nobody is asked"),
    _("This is after the time to answer, so it never happens"),
    _("Nobody is chosen to whom the question is escalated"),
    _("The retries of this node are off, because it is never to be called again"),
    _("Two fields have the name %(name)s; each needs a name of its own"),
    _("Two buttons have the name %(name)s; each needs a name of its own"),
    _("The team has no connection %(name)s; connect it on the page Tools"),
    _("Several connections are named %(name)s; use the connection name"),
    _("%(tool)s of %(name)s is disabled or does not exist"),
    _("%(name)s needs a sign-in; an admin signs in on the page Tools"),
    _("%(service)s needs an API key; enter it on the page Tools"),
    _("%(service)s needs the URL of a server; enter it on the page Tools"),
    _("The workflow %(name)s is not published as a tool"),
    _("%(count)s nodes have this ID, and no edge says which of them it means"),
    _(
        "%(count)s nodes had the ID %(id)s: the first one keeps it, and edges lead to it; check the edges and the variables of the others"
    ),
    _(
        "%(count)s variables were named %(name)s: the last one keeps the name, and references read it; the others are %(names)s now"
    ),
    _("Line %(number)s of the code: Syntax error: %(message)s"),
    _("Line %(number)s of the code: This Python has no %(message)s"),
    _("Line %(number)s of the code: %(message)s"),
    _("The nodes were read from %(place)s, instead of workflow.graph where they belong"),
    _(
        "%(name)s may be missing: a run can come here from %(source)s without it; the reply then shows the name instead"
    ),
    _("There is no tool %(name)s; no installed plug-in offers it"),
    _("There is no module %(name)s here; the code fails when it imports it"),
    _("The knowledge base %(name)s does not exist; choose another one"),
    _("The knowledge base %(name)s of another installation is not here; choose one of yours"),
    _("The reranking model %(model)s is not connected; the order by words and meaning is kept"),
    _("No reranking model is chosen; the order by words and meaning is kept"),
    _("Condition %(number)s needs the name of a metadata field"),
    _("Condition %(number)s has an unknown operator %(operator)s; use one of: %(words)s"),
    _("%(label)s: %(name)s must begin with global: and hold no variable"),
    # the configuration of a node
    _("%(label)s: enter a value"),
    _("%(label)s: add at least one"),
    _("%(label)s: choose a variable"),
    _("%(label)s: choose a model"),
    _("%(label)s: choose one"),
    _("%(label)s: choose one of: %(words)s"),
    _("%(label)s: choose one that Python can use"),
    _("%(label)s: choose an operation"),
    _("%(label)s: choose an operator"),
    _("%(label)s: choose a conversation variable or a loop variable"),
    _("%(label)s: choose a property of the file, one of: %(words)s"),
    _("%(label)s: choose whether all conditions must be met, or any of them"),
    _("%(label)s is missing"),
    _("%(label)s is not valid"),
    _("%(label)s is not of the type %(type)s"),
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
    _("This installation has no node type %(kind)s of the plug-in %(plugin)s"),
    _("This installation has no node type %(kind)s of the provider %(provider)s"),
    _("This installation has no node type %(kind)s of %(product)s"),
    _("This installation has no node type %(kind)s; did you mean %(close)s?"),
    _("This installation has no node type %(kind)s"),
    _("Unknown field %(name)s: memory is disabled"),
    _(
        "The agent has memory, and text from outside reaches it through %(tools)s:"
        " let a person allow each call of these tools"
    ),
    _(
        "%(workflows)s gives the agent memories, and text from outside reaches it through %(tools)s:"
        " let a person allow each call of these tools"
    ),
    _(
        "%(node)s is shown memories and text from outside, which may make it write them, and this sends what it writes: let a person check it with Human input, or turn its memory off"
    ),
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
    _("%(label)s is not offered here; the setting is kept, but has no effect"),
    _(
        "The error handler of xworkflow is not run: a failed run ends with its error."
        " It is kept and exported; to go on after a failure, set the error handling of the node"
    ),
    _("An app of mode %(mode)s needs the section model_config"),
    _("The app of mode %(mode)s was turned into a graph; its own settings are kept, but not used"),
    _(
        "An older Dify exported this document (format %(version)s, read as %(supported)s);"
        " run the workflow once before you publish it"
    ),
    _("Version %(version)s is not the supported version %(supported)s; parts may be misread"),
    _("The document has no version; assuming %(version)s"),
    _("The fields of the form are inputs of the node Start: %(names)s"),
    _("The prompt and the model are in the node %(node)s"),
    _("The node Knowledge retrieval searches the data sets"),
    _("The node Agent has the tools: %(names)s"),
    _("The setting %(name)s became no node; it is kept, but has no effect"),
    # the graph
    _("There is no answer node, so the workflow has no output"),
    _("There is no end node, so the workflow has no output"),
    _("A %(mode)s app returns its output through %(kind)s nodes; this node may be ignored"),
    _("No branch leads to another node; the run ends here, without an output"),
    _(
        "Nothing is inside, so every round does nothing; add a node with the + of the start inside, or drag one into it"
    ),
    _("The branch %(label)s leads nowhere; a run that takes it ends there, without an output"),
    _("The node is not reachable from the Start node and never runs"),
    _("The workflow has no Start node"),
    _("There is already a Start node: %(node)s"),
    _("A workflow starts with a Start node or with triggers, not both"),
    _("The edges form a cycle: %(way)s. Use a Loop node to repeat steps"),
    _("Duplicate edge"),
    _("An edge can't cross the border of a container"),
    _("The edge connects to a node that doesn't exist: %(node)s"),
    _("The edge from “%(node)s” has no target; delete it, or connect the nodes anew"),
    _("The edge to “%(node)s” has no source; delete it, or connect the nodes anew"),
    _("An edge has neither a source nor a target; delete it"),
    _("The node has no branch %(handle)s; it has %(words)s"),
    _("The container can't start at %(node)s: it is not a node inside"),
    _("The container has no start node"),
    _("The container is empty"),
    _("Containers can be nested at most %(most)s levels deep"),
    _("A node of type %(kind)s must be placed directly inside: %(words)s"),
    _("A run can't start inside a container"),
    _("A Start node can't be disabled; it still runs"),
    _("The document has more than %(count)s values"),
    # references
    _("%(reference)s is not a valid reference and is kept as text"),
    _("%(reference)s is not closed with #}} and is kept as text"),
    _("%(reference)s is never available: %(node)s is disabled"),
    _("%(reference)s is of type %(type)s; a list is required"),
    _("%(reference)s is unknown: there is no node %(node)s; did you mean %(close)s?"),
    _("%(reference)s is unknown: there is no node %(node)s"),
    _("Reads %(title)s › %(name)s, which was deleted"),
    _("Reads %(title)s, which was deleted"),
    _("Reads %(name)s of a node that doesn't exist; did you mean %(close)s?"),
    _("Reads %(name)s of a node that doesn't exist"),
    _("Reads a node that doesn't exist; did you mean %(close)s?"),
    _("Reads a node that doesn't exist"),
    _("%(node)s has no output %(name)s; did you mean %(close)s?"),
    _("%(node)s has no output %(name)s"),
    _("There is no system variable %(name)s; did you mean %(close)s?"),
    _("There is no system variable %(name)s"),
    _("There is no environment variable %(name)s; did you mean %(close)s?"),
    _("There is no environment variable %(name)s"),
    _("There is no conversation variable %(name)s; did you mean %(close)s?"),
    _("There is no conversation variable %(name)s"),
    _(
        "%(reference)s is not declared as an output of %(node)s;"
        " it is empty unless the code returns it"
    ),
    _("More than %(count)s references have problems; the others are not listed"),
    _("%(reference)s is inside %(node)s; only the outputs of %(again)s are available here"),
    _("%(reference)s is not available yet: %(node)s doesn't run before this node"),
    # particular kinds of nodes
    _("The message is empty"),
    _("The message has a place for %(name)s, but the form has no such field"),
    _("A delay takes at most 366 days"),
    _("%(text)s is not a time; write it as 2026-12-24T18:00+01:00"),
    _("%(name)s is not a field of this form"),
    _("action must be one of the following: %(words)s"),
    _("Enter a value for %(names)s"),
    _("%(name)s in input form: %(file)s is not of an accepted type (%(types)s)"),
    _("%(name)s in input form: At most %(count)s files are accepted"),
    _("%(name)s in input form must be a valid number"),
    _("Several classes have the id %(id)s"),
    _("The id %(id)s is that of the branch for other texts"),
    _("Several parameters have the name %(name)s"),
    _("Several values have the name %(name)s"),
    _("There is no type %(name)s"),
    _("Choose a type"),
    _("A %(method)s request has no body"),
    # the times of a schedule
    _("There is no time zone %(name)s. Use a name such as Europe/Berlin."),
    _("There is no frequency %(name)s"),
    _("Choose a frequency"),
    _("Enter a time zone, such as Europe/Berlin"),
    _("Enter a time of day, such as 9:30 PM"),
    _("Enter a cron expression, such as 0 9 * * 1-5"),
    _("A cron expression has five parts: minute, hour, day, month, weekday"),
    _("This cron expression names no time: %(text)s"),
    _("%(text)s is no time of day"),
    _("The minute is a number from 0 to 59"),
    _("Choose weekdays from: %(names)s"),
    _("The days are numbers from 1 to 31, or “last”"),
    _("The code is empty"),
    _("The code must define a function main"),
    _("The URL must start with http:// or https://"),
    _("The authorization has no API key"),
    _("A body of type %(type)s must have exactly one item"),
    _("The body is empty"),
    _("Line %(number)s of the body is no valid JSON: %(text)s; it is repaired when it is sent"),
    _("Line %(number)s of the body is no valid JSON: %(text)s"),
    _("A %(method)s request is usually sent without a body; choose POST to send one"),
    _("%(language)s code is not supported: rewrite it in Python"),
    _("Several variables have the name %(name)s"),
    _("Enter a title or select a pages variable"),
    _("Set a key or a metadata filter to select what to forget"),
    _("%(model)s reads no images; choose a model that does, or switch off Images"),
    _("Images are not sent to %(model)s, because it is used as a completion model"),
    _("The operation %(name)s is not supported: use an iteration or code instead"),
    _("Duplicate loop variable %(name)s"),
    _("Enter a number, zero or greater"),
    _("The default value doesn't match its type"),
)


# What an input lacks is said in Dify's words to Dify's clients, and to people in ours.
_REQUIRED: Final = re.compile(r"(?P<name>.+) is required in input form", re.DOTALL)
_NUMBER = re.compile(r" \d+$")


def say_plainly(message: str) -> str:
    """Return the message of one or more problems, with the fields that lack a value named in one plain sentence."""
    parts = message.split("; ")
    matches = [_REQUIRED.fullmatch(part) for part in parts]
    names = [f"“{match['name']}”" for match in matches if match]
    if not names:
        return message
    remaining_parts = [part for part, match in zip(parts, matches, strict=True) if not match]
    return "; ".join([f"Enter a value for {', '.join(names)}", *remaining_parts])


def translate_message(message: str) -> str:
    """Return the engine's message in the reader's language, or "" if it matches none of the sentences."""
    for sentence, pattern in _compile_patterns():
        if match := pattern.fullmatch(message):
            values = match.groupdict()
            if "label" in values:
                values["label"] = translate_label(values["label"])
            if "types" in values:
                values["types"] = ", ".join(map(_translate_file_type, values["types"].split(", ")))
            if "words" in values:
                values["words"] = ", ".join(map(_translate_part, values["words"].split(", ")))
            return gettext(sentence) % values
    return ""


def _translate_file_type(name: str) -> str:
    """Return the name of a type of files in the reader's language, or an extension as it is."""
    return str(StoredFile.Kind(name).label) if name in StoredFile.Kind.values else name


def translate_label(path: str) -> str:
    """Return the labels of a path to a field, such as "Model › Name", in the reader's language."""
    return SEPARATOR.join(map(_translate_part, path.split(SEPARATOR)))


def _translate_part(part: str) -> str:
    """Return a label in the reader's language; of an item such as "Case 1" or "Output total", its first words."""
    if part and (translated := gettext(part)) != part:
        return translated
    items = [name for name in ITEM_NAMES if part.startswith(f"{name} ")]
    if number := _NUMBER.search(part):
        items.append(part[: number.start()])
    item = max(items, key=len, default="")
    return gettext(item) + part.removeprefix(item) if item else part


def translate_field_path(path: str, kind: AnyKind | None) -> str:
    """Return the labels of a dotted path in the form of this kind, or the path itself without a kind."""
    steps = [int(step) if step.isdecimal() else step for step in path.split(".")]
    return translate_label(build_field_label(steps, kind.fields)) if kind else path


@cache
def _compile_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (sentence, re.compile(build_pattern(sentence), re.DOTALL)) for sentence in SENTENCES
    )


def build_pattern(sentence: str) -> str:
    """Return a regular expression with a named group for each placeholder of the sentence."""
    pattern, end = "", 0
    for placeholder in re.finditer(r"%\((\w+)\)s", sentence):
        pattern += re.escape(sentence[end : placeholder.start()]) + f"(?P<{placeholder[1]}>.+?)"
        end = placeholder.end()
    return pattern + re.escape(sentence[end:])
