"""``dify-oapi2``, whose requests are built step by step."""

import json
from io import BytesIO
from typing import Any

from dify_oapi.api.chat.v1.model.chat_request import ChatRequest
from dify_oapi.api.chat.v1.model.chat_request_body import ChatRequestBody
from dify_oapi.api.chat.v1.model.delete_conversation_request import DeleteConversationRequest
from dify_oapi.api.chat.v1.model.delete_conversation_request_body import (
    DeleteConversationRequestBody,
)
from dify_oapi.api.chat.v1.model.get_conversation_list_request import GetConversationsListRequest
from dify_oapi.api.chat.v1.model.get_conversation_variables_request import (
    GetConversationVariablesRequest,
)
from dify_oapi.api.chat.v1.model.get_suggested_questions_request import (
    GetSuggestedQuestionsRequest,
)
from dify_oapi.api.chat.v1.model.message_history_request import GetMessageHistoryRequest
from dify_oapi.api.chat.v1.model.rename_conversation_request import RenameConversationRequest
from dify_oapi.api.chat.v1.model.rename_conversation_request_body import (
    RenameConversationRequestBody,
)
from dify_oapi.api.chat.v1.model.stop_chat_request import StopChatRequest
from dify_oapi.api.chat.v1.model.stop_chat_request_body import StopChatRequestBody
from dify_oapi.api.completion.v1.model.completion.send_message_request import SendMessageRequest
from dify_oapi.api.completion.v1.model.completion.send_message_request_body import (
    SendMessageRequestBody,
)
from dify_oapi.api.dify.v1.model.get_feedbacks_request import GetFeedbacksRequest
from dify_oapi.api.dify.v1.model.get_info_request import GetInfoRequest
from dify_oapi.api.dify.v1.model.get_meta_request import GetMetaRequest
from dify_oapi.api.dify.v1.model.get_parameters_request import GetParametersRequest
from dify_oapi.api.dify.v1.model.get_site_request import GetSiteRequest
from dify_oapi.api.dify.v1.model.submit_feedback_request import SubmitFeedbackRequest
from dify_oapi.api.dify.v1.model.submit_feedback_request_body import SubmitFeedbackRequestBody
from dify_oapi.api.dify.v1.model.upload_file_body import UploadFileBody
from dify_oapi.api.dify.v1.model.upload_file_request import UploadFileRequest
from dify_oapi.api.workflow.v1.model.get_workflow_logs_request import GetWorkflowLogsRequest
from dify_oapi.api.workflow.v1.model.get_workflow_run_detail_request import (
    GetWorkflowRunDetailRequest,
)
from dify_oapi.api.workflow.v1.model.run_workflow_request import RunWorkflowRequest
from dify_oapi.api.workflow.v1.model.run_workflow_request_body import RunWorkflowRequestBody
from dify_oapi.api.workflow.v1.model.stop_workflow_request import StopWorkflowRequest
from dify_oapi.api.workflow.v1.model.stop_workflow_request_body import StopWorkflowRequestBody
from dify_oapi.api.workflow.v1.model.workflow_inputs import WorkflowInputs
from dify_oapi.client import Client
from dify_oapi.core.model.request_option import RequestOption

# Beside this script, whose folder is where Python looks first.
from table import Row, check, run


PERSON = "oapi2"


def play(url: str, chat: str, flow: str, slow_chat: str, slow_flow: str) -> Row:
    row = Row()
    # It adds the path ``/v1`` itself.
    client = Client.builder().domain(url.removesuffix("/v1")).timeout(60.0).build()
    talk, work = sign(chat), sign(flow)
    api = client.chat.v1.chat
    first = row.call("chat, blocking", lambda: succeed(api.chat(build_chat("tea?"), talk, False)))
    row.call("chat, streaming", lambda: check_stream(api.chat(build_chat("more"), talk, True)))
    row.call("chat, stop", lambda: stop_chat(client, sign(slow_chat)))
    play_workflow(row, client.workflow.v1.workflow, work)
    row.call("workflow, stop", lambda: stop_run(client, sign(slow_flow)))
    play_completion(row, client.completion.v1.completion, work)
    play_conversation(row, client.chat.v1.conversation, talk, first.conversation_id)
    play_message(row, client.chat.v1, talk, first.message_id)
    delete_conversation(row, client.chat.v1.conversation, talk, first.conversation_id)
    play_information(row, client.chat.v1, talk)
    return row


def play_workflow(row: Row, api: Any, work: Any) -> None:
    ended = row.call("workflow, blocking", lambda: succeed(api.run(build_run(), work, False)))

    def read() -> None:
        request = GetWorkflowRunDetailRequest.builder().workflow_run_id(ended.workflow_run_id)
        check(succeed(api.detail(request.build(), work)).status == "succeeded")

    def list_runs() -> None:
        request = GetWorkflowLogsRequest.builder().limit(5).page(1).build()
        check(succeed(api.logs(request, work)).data)

    row.call("workflow, streaming", lambda: check_stream(api.run(build_run(), work, True)))
    row.call("get run", read)
    row.call("list runs", list_runs)


def play_completion(row: Row, api: Any, work: Any) -> None:
    def answer() -> None:
        check(succeed(api.send_message(build_completion(), work, False)).answer == "Ana")

    def stream() -> None:
        check_stream(api.send_message(build_completion(), work, True), "message_end")

    row.call("completion, blocking", answer)
    row.call("completion, streaming", stream)


def play_conversation(row: Row, api: Any, talk: Any, key: str) -> None:
    def list_conversations() -> None:
        request = GetConversationsListRequest.builder().user(PERSON).limit(5).build()
        check(succeed(api.list(request, talk)).data)

    def list_messages() -> None:
        request = GetMessageHistoryRequest.builder().conversation_id(key).user(PERSON).build()
        check(succeed(api.history(request, talk)).data[0].query == "tea?")

    def rename() -> None:
        body = RenameConversationRequestBody.builder().name("Tea").user(PERSON).build()
        request = RenameConversationRequest.builder().conversation_id(key).request_body(body)
        check(succeed(api.rename(request.build(), talk)).id == key)

    def list_variables() -> None:
        request = GetConversationVariablesRequest.builder().conversation_id(key).user(PERSON)
        check(succeed(api.variables(request.build(), talk)).data[0].value == "tea")

    row.call("list conversations", list_conversations)
    row.call("list messages", list_messages)
    row.call("rename conversation", rename)
    row.call("list conversation variables", list_variables)


def play_message(row: Row, api: Any, talk: Any, message: str) -> None:
    def rate() -> None:
        body = SubmitFeedbackRequestBody.builder().rating("like").user(PERSON).content("Good")
        request = SubmitFeedbackRequest.builder().message_id(message).request_body(body.build())
        succeed(api.feedback.submit(request.build(), talk))

    def list_feedback() -> None:
        request = GetFeedbacksRequest.builder().page(1).limit(5).build()
        check(succeed(api.feedback.list(request, talk)).data)

    def suggest() -> None:
        request = GetSuggestedQuestionsRequest.builder().message_id(message).user(PERSON).build()
        check(succeed(api.message.suggested(request, talk)).data)

    row.call("give feedback", rate)
    row.call("list feedback", list_feedback)
    row.call("suggest questions", suggest)


def delete_conversation(row: Row, api: Any, talk: Any, key: str) -> None:
    def delete() -> None:
        body = DeleteConversationRequestBody.builder().user(PERSON).build()
        request = DeleteConversationRequest.builder().conversation_id(key).request_body(body)
        succeed(api.delete(request.build(), talk), 204)

    row.call("delete conversation", delete)


def play_information(row: Row, api: Any, talk: Any) -> None:
    def read_parameters() -> None:
        request = GetParametersRequest.builder().user(PERSON).build()
        check(succeed(api.app.parameters(request, talk)).opening_statement == "Hello!")

    def read_info() -> None:
        check(succeed(api.app.get(GetInfoRequest.builder().user(PERSON).build(), talk)).name)

    def read_meta() -> None:
        succeed(api.app.meta(GetMetaRequest.builder().user(PERSON).build(), talk))

    def read_site() -> None:
        check(succeed(api.app.site(GetSiteRequest.builder().build(), talk)).title)

    def upload() -> None:
        body = UploadFileBody.builder().user(PERSON).build()
        request = UploadFileRequest.builder().request_body(body).file(BytesIO(b"Tea."), "note.txt")
        check(succeed(api.file.upload(request.build(), talk), 201).id)

    row.call("get parameters", read_parameters)
    row.call("get info", read_info)
    row.call("get meta", read_meta)
    row.call("get site", read_site)
    row.call("upload file", upload)


def sign(key: str) -> Any:
    return RequestOption.builder().api_key(key).build()


def succeed(response: Any, status: int = 200) -> Any:
    check(response.raw.status_code == status, response.raw.content)
    return response


def build_chat(query: str) -> Any:
    body = ChatRequestBody.builder().query(query).inputs({}).user(PERSON)
    return ChatRequest.builder().request_body(body.response_mode("blocking").build()).build()


def build_run(**inputs: str) -> Any:
    values = WorkflowInputs.builder().inputs(inputs or {"name": "Ana"}).build()
    body = RunWorkflowRequestBody.builder().inputs(values).response_mode("blocking").user(PERSON)
    return RunWorkflowRequest.builder().request_body(body.build()).build()


def build_completion() -> Any:
    body = SendMessageRequestBody.builder().inputs({"name": "Ana"}).response_mode("blocking")
    return SendMessageRequest.builder().request_body(body.user(PERSON).build()).build()


def check_stream(chunks: Any, last: str = "workflow_finished") -> None:
    text = b"".join(chunks).decode()
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    check(events[-1]["event"] == last, events[-1])


def stop_chat(client: Any, option: Any) -> None:
    chunks = client.chat.v1.chat.chat(build_chat("x"), option, True)
    body = StopChatRequestBody.builder().user(PERSON).build()

    def stop(task_id: str) -> Any:
        request = StopChatRequest.builder().task_id(task_id).request_body(body).build()
        return client.chat.v1.chat.stop(request, option)

    check_stopped(chunks, stop)


def stop_run(client: Any, option: Any) -> None:
    chunks = client.workflow.v1.workflow.run(build_run(), option, True)
    body = StopWorkflowRequestBody.builder().user(PERSON).build()

    def stop(task_id: str) -> Any:
        request = StopWorkflowRequest.builder().task_id(task_id).request_body(body).build()
        return client.workflow.v1.workflow.stop(request, option)

    check_stopped(chunks, stop)


def check_stopped(chunks: Any, stop: Any) -> None:
    first = next(chunks)
    task_id = json.loads(first.split(b"\n\n")[0].removeprefix(b"data: "))["task_id"]
    check(succeed(stop(task_id)).result == "success")
    text = b"".join(chunks).decode()
    check('"status":"stopped"' in text, text[-300:])


if __name__ == "__main__":
    run(play)
