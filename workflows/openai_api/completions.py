"""Start the run of a request: its inputs, its person, and who keeps its conversation.

Without a conversation's id the client keeps the conversation: its earlier messages are the history of this run alone. With
one the server does: only the last message counts, and the stored history is used. Never both, so that no turn is doubled.

Without a ``user`` nobody's memory is read or written, and a client that keeps its conversations has no conversation here
whose memory could be. See ``execution.ports.client_calls``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.access import check
from accounts.models import HistoryKeeper
from accounts.principals import KeyPrincipal, Principal
from config.http import strict_json
from workflows.engine.files.rules import read_message_rules
from workflows.engine.language.document import Document
from workflows.engine.language.start_form import (
    FILE_FIELDS,
    TEXT_FIELDS,
    Field,
    find_start,
    list_fields,
)
from workflows.execution.ports.client_calls import CONVERSATION, PERSON, ClientCall
from workflows.models import Run, Workflow
from workflows.models.documents import read_document
from workflows.models.run import Channel
from workflows.openai_api.errors import CompletionError
from workflows.openai_api.messages import SentFile, Talk, read_messages
from workflows.openai_api.models import SelectedModel, find_model
from workflows.openai_api.schemas import CompletionIn, check_supported
from workflows.services.files.uploading import upload_file
from workflows.services.runs.runs import start_run
from workflows.services.runs.waits import answer_with_message


Json = Any  # JSON
INPUTS_HEADER: Final = "X-App-Inputs"
CONVERSATION_HEADER: Final = "X-Conversation-Id"
# Those that Open WebUI forwards if it is told to.
FORWARDED_USER: Final = "X-OpenWebUI-User-Id"
FORWARDED_CHAT: Final = "X-OpenWebUI-Chat-Id"
# A header that a connection of Open WebUI can be given: the name of a task, and empty for a message.
FORWARDED_TASK: Final = "X-OpenWebUI-Task"
# The headers that say for whom, with what and for what a run is started.
CONTEXT_HEADERS: Final = (
    INPUTS_HEADER,
    CONVERSATION_HEADER,
    FORWARDED_USER,
    FORWARDED_CHAT,
    FORWARDED_TASK,
)
# How Open WebUI begins what it asks a model besides the conversation: a title for it, tags, questions, a search; an emoji for
# a message; one answer out of several models'.
TASK_PROMPTS: Final = (
    "### Task:",
    "Your task is to reflect the speaker's likely facial expression",
    "You have been provided with a set of responses from various models",
)
# How the id of a temporary chat begins, of which Open WebUI stores nothing.
TEMPORARY_CHAT: Final = "local:"
_INPUT_PREFIX: Final = "inputs."


@dataclass(frozen=True, slots=True)
class CallContext:
    """Names the person of a request, and the stored conversation that it continues if the server keeps it."""

    user: str | None
    conversation: str | None
    inputs: Mapping[str, Json]

    @property
    def left_out(self) -> frozenset[str]:
        """Return the scopes of memory that the run leaves out."""
        scopes = {PERSON} if self.user is None else set()
        return frozenset(scopes | ({CONVERSATION} if self.conversation is None else set()))


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run, and the number of the last event that doesn't belong to this answer. ``conversation`` is a stored one.

    Its workflow is loaded, because the answer is built without a database. ``streams``: whether the text of the run is its
    answer as it grows.
    """

    run: Run
    model_id: str
    after: int = 0
    conversation: str | None = None
    version: int | None = None
    streams: bool = True


def start_completion(
    principal: Principal, team_id: UUID, request: HttpRequest, body: CompletionIn
) -> StartedRun:
    """Start the run of a request, or answer the question that its conversation waits for."""
    check_supported(body)
    talk = read_messages(body.messages)
    model = find_model(principal, team_id, body.model)
    check(principal, "run.view", model.workflow)  # whoever reads the answer reads the run
    context = read_context(request, body, talk, get_history_keeper(principal))
    answered = _answer_question(principal, model, context, talk.question)
    if answered is not None:
        return answered
    document = read_document(model.version.snapshot)
    files = [_store(principal, team_id, model, context.user, each) for each in talk.files]
    fields = _list_start_fields(document)
    inputs = _build_inputs(model, fields, body, talk, context.inputs)
    if files and read_message_rules(document.features) is None:
        inputs, files = _place_files(fields, inputs, files), []
    run = start_run(
        principal,
        workflow=model.workflow,
        version=model.version,
        subject=context.user,
        inputs=inputs,
        query=talk.question if model.workflow.is_chat else None,
        files=files,
        conversation=context.conversation,
        channel=Channel.OPENAI,
        client_call=ClientCall(
            talk.earlier if context.conversation is None else None, context.left_out
        ),
    )
    return StartedRun(
        run,
        model.id,
        conversation=context.conversation,
        version=model.version.number,
        streams=_has_one_text(model.workflow, document),
    )


def _answer_question(
    principal: Principal, model: SelectedModel, context: CallContext, message: str
) -> StartedRun | None:
    """Answer the question that the stored conversation waits for, if there is one. The run goes on with its own version."""
    if context.conversation is None:
        return None
    run = answer_with_message(
        principal,
        workflow=model.workflow,
        conversation=context.conversation,
        message=message,
        subject=context.user,
    )
    if run is None:
        return None
    run.workflow = model.workflow
    return StartedRun(
        run,
        model.id,
        after=run.last_seq,
        conversation=context.conversation,
        version=run.version.number if run.version else None,
        streams=_has_one_text(model.workflow, read_document(run.snapshot)),
    )


def _has_one_text(workflow: Workflow, document: Document) -> bool:
    """Return whether the answer is one text: several outputs of a workflow become one at the end only."""
    ends = [node for node in document.nodes if node.kind == "end"]
    return workflow.is_chat or all(len(node.data.get("outputs") or ()) == 1 for node in ends)


def read_context(
    request: HttpRequest,
    body: CompletionIn,
    talk: Talk,
    keeper: HistoryKeeper = HistoryKeeper.REQUEST,
) -> CallContext:
    """Read the person, the conversation and the inputs of a request, from its body first and then from its headers.

    ``keeper`` is who keeps the conversation, as the key says it.
    """
    metadata = body.metadata or {}
    conversation = metadata.get("conversation_id")
    if conversation is not None and not isinstance(conversation, str):
        raise CompletionError(_("This must be a text."), param="metadata.conversation_id")
    user, chat = body.user, ForwardedChat()
    if settings.OPENAI_FORWARDED_HEADERS:
        user = user or request.headers.get(FORWARDED_USER)
        chat = read_forwarded_chat(request, talk)
    conversation = conversation or request.headers.get(CONVERSATION_HEADER) or chat.id
    if keeper == HistoryKeeper.CLIENT:
        conversation = None
    elif keeper == HistoryKeeper.SERVER and not conversation and not chat.is_unkept:
        message = _("With this API key the server keeps conversations: send the id of one.")
        raise CompletionError(message, param="metadata.conversation_id")
    return CallContext(user or None, conversation or None, _read_inputs(request, metadata))


@dataclass(frozen=True, slots=True)
class ForwardedChat:
    """The chat of Open WebUI that a request belongs to. ``is_unkept``: it is a task, or of a chat that nobody stores."""

    id: str | None = None
    is_unkept: bool = False


def read_forwarded_chat(request: HttpRequest, talk: Talk) -> ForwardedChat:
    """Read the chat that Open WebUI names. Neither a task nor a temporary chat has one whose turn the request would be."""
    chat = request.headers.get(FORWARDED_CHAT, "")
    is_task = talk.question.startswith(TASK_PROMPTS) or bool(request.headers.get(FORWARDED_TASK))
    if is_task or chat.startswith(TEMPORARY_CHAT):
        return ForwardedChat(is_unkept=True)
    return ForwardedChat(chat or None)


def get_history_keeper(principal: Principal) -> HistoryKeeper:
    """Return who keeps the conversation of a request, as its key says it."""
    if isinstance(principal, KeyPrincipal):
        return HistoryKeeper(principal.key.history)
    return HistoryKeeper.REQUEST


def _read_inputs(request: HttpRequest, metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Read the inputs of the header, and over them those of the metadata.

    OpenAI's metadata are texts, so the inputs may be one text of JSON, or each be a key of its own.
    """
    inputs: dict[str, Json] = {}
    header = request.headers.get(INPUTS_HEADER)
    if header:
        inputs |= _parse_object(header, INPUTS_HEADER)
    together = metadata.get("inputs")
    if isinstance(together, str):
        together = _parse_object(together, "metadata.inputs")
    if isinstance(together, Mapping):
        inputs |= together
    elif together is not None:
        raise CompletionError(_("This must be a JSON object."), param="metadata.inputs")
    names = (key for key in metadata if key.startswith(_INPUT_PREFIX))
    return inputs | {name.removeprefix(_INPUT_PREFIX): metadata[name] for name in names}


def _parse_object(text: str, param: str) -> dict[str, Json]:
    try:
        value = strict_json.loads(text)
    except strict_json.NotStrictJson:
        value = None
    if not isinstance(value, dict):
        raise CompletionError(_("This must be a JSON object."), param=param)
    return value


def _list_start_fields(document: Document) -> Sequence[Field]:
    start = find_start(document)
    return list_fields(start) if start else ()


def _build_inputs(
    model: SelectedModel,
    fields: Sequence[Field],
    body: CompletionIn,
    talk: Talk,
    inputs: Mapping[str, Json],
) -> dict[str, Json]:
    """Return the inputs of the run. A field of the start node that has the name of a parameter gets its value."""
    names = [field.name for field in fields]
    unknown = next((name for name in inputs if name not in names), None)
    if unknown is not None:
        message = _("The workflow has no input %(name)s. Its inputs are: %(names)s.")
        message %= {"name": unknown[:80], "names": ", ".join(names) or "–"}
        raise CompletionError(message, param=f"metadata.inputs.{unknown}")
    offered = {
        "system": talk.system or None,
        "temperature": body.temperature,
        "max_tokens": body.max_completion_tokens or body.max_tokens,
    }
    values = {name: value for name, value in offered.items() if name in names and value is not None}
    values |= inputs
    if not model.workflow.is_chat:
        values |= _place_question(fields, values, talk.question)
    return values


def _place_question(
    fields: Sequence[Field], values: Mapping[str, Json], question: str
) -> dict[str, Json]:
    """Return the last message as the value of the only text field. Several fields need inputs with their names."""
    texts = [field.name for field in fields if field.type in TEXT_FIELDS]
    texts = [name for name in texts if name != "system"]
    if len(texts) == 1 and texts[0] not in values:
        return {texts[0]: question}
    if len(texts) > 1 and not set(texts) & set(values):
        message = _(
            "This workflow has several text inputs (%(names)s): send them as metadata.inputs."
        )
        raise CompletionError(
            message % {"names": ", ".join(texts)}, param=f"metadata.inputs.{texts[0]}"
        )
    return {}


def _place_files(
    fields: Sequence[Field], inputs: Mapping[str, Json], files: Sequence[Json]
) -> dict[str, Json]:
    """Return the inputs with the files in the only field that takes some."""
    places = [field for field in fields if field.type in FILE_FIELDS and field.name not in inputs]
    if len(places) != 1:
        raise CompletionError(_("This workflow takes no files with a message."), param="messages")
    return {**inputs, places[0].name: list(files)}


def _store(
    principal: Principal, team_id: UUID, model: SelectedModel, user: str | None, file: SentFile
) -> dict[str, Json]:
    """Return the reference to a file with which runs are started; a content is stored for the person first."""
    if file.url:
        return {"transfer_method": "remote_url", "url": file.url, "type": file.kind}
    if file.upload is None:
        return {"transfer_method": "local_file", "upload_file_id": file.file_id}
    stored = upload_file(principal, team_id, file.upload, workflow=model.workflow, subject=user)
    return {"transfer_method": "local_file", "upload_file_id": str(stored.pk)}
