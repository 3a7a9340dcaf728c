"""PyPI's ``dify-client``: the plain one, which returns the responses of requests."""

import io
from typing import Any

from dify_client.client import ChatClient, CompletionClient

# Beside this script, whose folder is where Python looks first.
from table import Row, check, read_events, run


PERSON = "plain"


def play(url: str, chat: str, flow: str, **_others: str) -> Row:
    row = Row()
    play_chat(row, connect(ChatClient, url, chat))
    play_completion(row, connect(CompletionClient, url, flow))
    return row


def connect(kind: Any, url: str, key: str) -> Any:
    client = kind(key)
    client.base_url = url
    return client


def succeed(response: Any, status: int = 200) -> Any:
    check(response.status_code == status, response.text)
    return response.json()


def play_chat(row: Row, talk: Any) -> None:
    first = row.call(
        "chat, blocking", lambda: succeed(talk.create_chat_message({}, "tea?", PERSON))
    )
    key, message = first["conversation_id"], first["message_id"]

    def stream() -> None:
        response = talk.create_chat_message({}, "more", PERSON, "streaming", key)
        events = list(read_events(response.iter_lines()))
        answer = "".join(each["answer"] for each in events if each["event"] == "message")
        check(answer == "You said more", answer)
        check(events[-1]["event"] == "workflow_finished", events[-1])

    def list_conversations() -> None:
        check(succeed(talk.get_conversations(PERSON))["data"][0]["id"] == key)

    def list_messages() -> None:
        check(len(succeed(talk.get_conversation_messages(PERSON, key))["data"]) == 2)

    def rename() -> None:
        check(succeed(talk.rename_conversation(key, "Tea", PERSON))["name"] == "Tea")

    def upload() -> None:
        files = {"file": ("note.txt", io.BytesIO(b"Tea."), "text/plain")}
        check(succeed(talk.file_upload(PERSON, files), 201)["id"])

    row.call("chat, streaming", stream)
    row.call("list conversations", list_conversations)
    row.call("list messages", list_messages)
    row.call("rename conversation", rename)
    row.call("give feedback", lambda: succeed(talk.message_feedback(message, "like", PERSON)))
    row.call("get parameters", lambda: succeed(talk.get_application_parameters(PERSON)))
    row.call("upload file", upload)


def play_completion(row: Row, complete: Any) -> None:
    def answer() -> None:
        response = complete.create_completion_message({"name": "Ana"}, "blocking", PERSON)
        check(succeed(response)["answer"] == "Ana")

    def stream() -> None:
        response = complete.create_completion_message({"name": "Ana"}, "streaming", PERSON)
        events = list(read_events(response.iter_lines()))
        check([each["event"] for each in events] == ["message", "message_end"], events)

    row.call("completion, blocking", answer)
    row.call("completion, streaming", stream)


if __name__ == "__main__":
    run(play)
