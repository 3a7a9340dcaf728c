"""The errors of runs and steps in the reader's language.

The engine and the model providers write their errors in English. They are translated when they are shown, so that each
reader of a run reads them in their own language; an unknown error is shown as it is.
"""

import re
from functools import cache

from django import template
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_noop as _

from workflows.templatetags.problem_sentences import build_pattern, say_plainly, translate_message


register = template.Library()

# The first match is used, so more specific patterns come before more general ones.
ERRORS = (
    # nodes whose type is missing
    _(
        "%(node)s can't run: this installation has no node type %(kind)s of the plug-in %(plugin)s."
        " Replace the node, or handle its failure; runs from the editor can use pinned outputs instead."
    ),
    _(
        "%(node)s can't run: this installation has no node type %(kind)s of the provider %(provider)s."
        " Replace the node, or handle its failure; runs from the editor can use pinned outputs instead."
    ),
    _(
        "%(node)s can't run: this installation has no node type %(kind)s of %(product)s."
        " Replace the node, or handle its failure; runs from the editor can use pinned outputs instead."
    ),
    _(
        "%(node)s can't run: this installation has no node type %(kind)s."
        " Replace the node, or handle its failure; runs from the editor can use pinned outputs instead."
    ),
    # sub-workflows
    _("%(name)s has only partially succeeded."),
    # classes
    _("The model named none of the classes, so the first one was taken: %(name)s"),
    # to-dos of agents
    _("%(count)s of %(total)s to-dos were not done: %(todos)s. Last error: %(error)s"),
    _("%(count)s of %(total)s to-dos were not done: %(todos)s."),
    # models
    _("This task needs a language model. Connect one under Models."),
    _(
        "This task needs a language model. The default model is the offline demo model. Choose another one under Models."
    ),
    _(
        "This task needs a language model. This node uses the offline demo model. Select another one in the node."
    ),
    _("%(provider)s isn't responding at %(address)s. Is it running?"),
    _("Can't resolve %(host)s. Check your connection."),
    _("%(provider)s is not responding at its base URL. Is it running?"),  # of earlier runs
    _("%(provider)s rejected the request as malformed. Check the model parameters."),
    _("%(provider)s rejected the credential. Check the API key."),
    _("%(provider)s rejected the credential for the model '%(model)s'."),
    _("%(provider)s reports that the account has no credit left."),
    _("%(provider)s doesn't have the model '%(model)s', or the base URL is wrong."),
    _("The base URL of %(provider)s is not a model provider API."),
    _("The base URL of %(provider)s redirects. Enter the final URL."),
    _("The base URL of %(provider)s can't be used."),
    _("%(provider)s has no base URL. Enter one under Models."),
    _("%(provider)s timed out."),
    _("%(provider)s took too long to respond."),
    _("%(provider)s is busy with a conflicting request."),
    _("%(provider)s is busy: %(count)s calls at the same time are allowed."),
    _("The request is too large for %(provider)s."),
    _("%(provider)s had a server error (status %(status)s)."),
    _("%(provider)s rejected the request (status %(status)s)."),
    _("The prompt is too long for the model '%(model)s'."),
    _("The content filter of %(provider)s stopped the answer."),
    _("The response of %(provider)s was cut off."),
    _("%(provider)s sent an empty answer."),
    _(
        "The answer of %(provider)s reached its length limit before its first word. Raise max_tokens."
    ),
    _("%(provider)s sent a response that is not OpenAI-compatible."),
    _(
        "The model '%(model)s' of %(provider)s can't call tools. Select the strategy ReAct in the agent, or another model."
    ),
    _("The model '%(model)s' of %(provider)s can't read images. Select another model."),
    _("The model '%(model)s' wrote an invalid tool call."),
    _(
        "%(provider)s rejected the description of a tool. Check the names and the parameters of the tools."
    ),
    _("The rate limit of %(provider)s was reached. Retry after %(seconds)s s."),
    _("The rate limit of %(provider)s was reached."),
    _("The host name of %(provider)s could not be resolved."),  # of earlier runs
    _("%(provider)s has no valid certificate."),
    _("The model's answer was cut off"),
    _("The model did not respond."),
    # the engine
    _("Variable %(name)s not found"),
    _("The node failed."),
    _("The template couldn't be rendered."),
    _("The code raised an error."),
    _("The request got no response."),
    _("A variable in the path of the URL is “.” or “..”, which leads elsewhere"),
    _("The sub-workflow failed."),
    _("The sub-workflow does not exist, is not published, or may not be run."),
    _("Workflows are nested too deep, or in a circle."),
    _("No memory provider is configured."),
    _("The memory provider %(provider)s can't be reached."),
    _("The memory provider %(provider)s answered with an error; the server's log says which."),
    _("The memory provider %(provider)s did not answer: %(reason)s"),
    _("The node exceeded its time limit."),
    _("The run exceeded its time limit."),
    _("The run exceeded one of its limits."),
    _("The run was stopped."),
    _("The workflow was archived, so nobody answers its question any more."),
    # calls of MCP servers
    _("The tool %(name)s took longer than %(seconds)s seconds, the limit of its connection"),
    _("The MCP server took longer than %(seconds)s seconds"),
    _(
        "The MCP server answered with the status %(status)s and asks to wait for %(seconds)s seconds"
    ),
    _("The MCP server answered with the status %(status)s"),
    # sign-ins to MCP servers
    _(
        "The connection %(name)s needs a new sign-in: an admin signs in again on its page under Tools (%(reason)s)"
    ),
    _(
        "The connection %(name)s needs a new sign-in: an admin signs in again on its page under Tools"
    ),
    _("The connection %(name)s needs a sign-in: an admin signs in on its page under Tools"),
    _("The sign-in of the connection %(name)s could not be renewed: %(reason)s"),
    _("The sign-in could not be renewed: %(reason)s"),
    _("The sign-in has expired"),
    _("The MCP server refuses the key of the connection %(name)s"),
    _("The MCP server refuses the token"),
    _("The MCP server wants more permissions: %(scope)s"),
    _("The MCP server wants more permissions"),
    _("The MCP server wants a sign-in, but doesn't say where"),
    _("The MCP server describes another server: %(url)s"),
    _("The authorization server says that it is another one: %(url)s"),
    _("The authorization server doesn't support PKCE with S256"),
    _(
        "The authorization server doesn't register applications by itself. Register one there and enter its client ID"
    ),
    _(
        "The authorization server doesn't register this installation (status %(status)s)."
        " Register an application there and enter its client ID"
    ),
    _("The authorization server answered with the status %(status)s"),
    _("The authorization server sent an answer that is not valid"),
    _("The server wants a sign-in without encryption: %(url)s"),
    _("The answer doesn't come from the server that was asked"),
    # files and documents
    _(
        "%(name)s is an image, which has no text to take out; a model node with Images switched on can read it"
    ),
    _("%(name)s is audio or video, which has no text to take out"),
    _("%(name)s has a format that can't be read. These can: %(formats)s"),
    _("%(name)s is protected by a password"),
    _("%(name)s would unpack to far more than a document has, and is not opened"),
    _("%(name)s contains XML entities or a document type, and is not opened"),
    _(
        "%(name)s has pages but no text: it may be scanned. A model that reads images can read pictures of its pages"
    ),
    _("%(name)s needs more memory than reading a document may use"),
    _("%(name)s needs more time or memory than reading a document may use"),
    _("%(name)s takes too long to read"),
    _("%(name)s is nested too deeply"),
    _("%(name)s is damaged, or is not what its content says it is"),
    _("%(name)s has more than %(megabytes)s MB, the most for taking out text"),
    _("%(name)s has more than %(megabytes)s MB"),
    _("%(name)s is not a PNG, JPEG, GIF or WebP image, which models read"),
    _("The file is not there, or is not of the person that the run is for"),
    _("The content of %(name)s is gone"),
    _("The content of %(name)s can't be read at the moment"),
    _("The content of %(name)s can't be read"),
    # workers
    _(
        "The worker crashed three times in a row during the same steps of this run, the last time in a process that executed "
        "nothing else, so the run was aborted. One of the steps may use more memory than there is, or crash the process."
    ),
    _("The worker was lost before this step finished."),
)


@register.filter
def translate_error(message: str | None) -> str:
    """Return an error of a run in the reader's language, or as it is if it is unknown."""
    message = say_plainly(message or "")
    if not message or (get_language() or "en").startswith("en"):
        return message
    for sentence, pattern in _compile_patterns():
        if match := pattern.fullmatch(message):
            return gettext(sentence) % match.groupdict()
    return translate_message(message) or message


@cache
def _compile_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((sentence, re.compile(build_pattern(sentence), re.DOTALL)) for sentence in ERRORS)
