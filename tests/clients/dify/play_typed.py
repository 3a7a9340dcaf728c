"""``dify-client-python`` and ``dify-api-client``, which share their names and parse answers into models."""

import io
from typing import Any

import dify_client
from dify_client import models

# Beside this script, whose folder is where Python looks first.
from table import Row, check, run


BLOCKING, STREAMING = models.ResponseMode.BLOCKING, models.ResponseMode.STREAMING
PERSON = "typed"
NO_TASK = "00000000-0000-7000-8000-000000000000"


def play(url: str, chat: str, flow: str, slow_chat: str, slow_flow: str) -> Row:
    row = Row()
    talk, work = connect(url, chat), connect(url, flow)
    first = row.call("chat, blocking", lambda: ask(talk, BLOCKING, "tea?"))
    row.call("chat, streaming", lambda: check_chat_stream(ask(talk, STREAMING, "more")))
    row.call("chat, stop", lambda: stop_chat(connect(url, slow_chat)))
    play_workflow(row, work, connect(url, slow_flow))
    play_completion(row, work)
    play_message(row, talk, first.message_id)
    if hasattr(talk, "get_conversations"):
        play_conversation(row, talk, first.conversation_id)
    return row


def connect(url: str, key: str) -> Any:
    make = getattr(dify_client, "DifyClient", None) or dify_client.Client
    return make(api_key=key, api_base=url)


def ask(client: Any, mode: Any, query: str) -> Any:
    request = models.ChatRequest(query=query, inputs={}, user=PERSON, response_mode=mode)
    return client.chat_messages(request, timeout=60)


def run_flow(client: Any, mode: Any) -> Any:
    inputs = {"name": "Ana"}
    request = models.WorkflowsRunRequest(inputs=inputs, user=PERSON, response_mode=mode)
    return client.run_workflows(request, timeout=60)


def complete(client: Any, mode: Any) -> Any:
    inputs = {"name": "Ana", "query": "Ana"}
    request = models.CompletionRequest(inputs=inputs, user=PERSON, response_mode=mode)
    return client.completion_messages(request, timeout=60)


def play_workflow(row: Row, work: Any, slow: Any) -> None:
    def answer() -> None:
        check(run_flow(work, BLOCKING).data.outputs == {"text": "Ana"})

    def stream() -> None:
        check(get_status(list(run_flow(work, STREAMING))[-1]) == "succeeded")

    row.call("workflow, blocking", answer)
    row.call("workflow, streaming", stream)
    row.call("workflow, stop", lambda: stop(run_flow(slow, STREAMING), slow.stop_workflows))


def play_completion(row: Row, work: Any) -> None:
    def stream() -> None:
        texts = [each.answer for each in complete(work, STREAMING) if each.event == "message"]
        check("".join(texts) == "Ana", texts)

    def stop_nothing() -> None:
        # The stream names its task with the first text, and this app then has ended.
        stopped = work.stop_completion_messages(NO_TASK, models.StopRequest(user=PERSON))
        check(stopped.result == "success")

    row.call("completion, blocking", lambda: check(complete(work, BLOCKING).answer == "Ana"))
    row.call("completion, streaming", stream)
    row.call("completion, stop", stop_nothing)


def play_message(row: Row, talk: Any, message: str) -> None:
    def upload() -> None:
        file = ("note.txt", io.BytesIO(b"Tea."), "text/plain")
        check(talk.upload_files(file, models.UploadFileRequest(user=PERSON)).id)

    def rate() -> None:
        request = models.FeedbackRequest(rating="like", user=PERSON)
        check(talk.feedback_messages(message, request).result == "success")

    def suggest() -> None:
        check(talk.suggest_messages(message, models.ChatSuggestRequest(user=PERSON)).data)

    row.call("upload file", upload)
    row.call("give feedback", rate)
    row.call("suggest questions", suggest)


def play_conversation(row: Row, talk: Any, key: str) -> None:
    def list_conversations() -> None:
        check(talk.get_conversations(models.ConversationRequest(user=PERSON)).data)

    def list_messages() -> None:
        request = models.ConversationHistoryMessageRequest(conversation_id=key, user=PERSON)
        check(talk.get_conversation_history_messages(request).data)

    row.call("list conversations", list_conversations)
    row.call("list messages", list_messages)


def check_chat_stream(events: Any) -> None:
    received = list(events)
    answer = "".join(each.answer for each in received if each.event == "message")
    check(answer == "You said more", answer)
    end = next(each for each in received if each.event == "message_end")
    check(end.metadata.usage.currency == "USD")


def stop_chat(client: Any) -> None:
    stop(ask(client, STREAMING, "x"), client.stop_chat_messages)


def stop(events: Any, end: Any) -> None:
    """Stop a task that has begun. Its stream then ends by itself."""
    first = next(events)
    check(end(first.task_id, models.StopRequest(user=PERSON)).result == "success")
    rest = list(events)
    check(get_status(rest[-1]) == "stopped", rest[-1])


def get_status(event: Any) -> str:
    """Return the status in an event. One of the clients leaves it as it came."""
    data = event.data
    return str(data["status"] if isinstance(data, dict) else data.status.value)


if __name__ == "__main__":
    run(play)
