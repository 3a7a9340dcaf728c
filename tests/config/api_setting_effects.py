"""What the settings of the APIs change, as ``setting_effects`` does for the others."""


def openai_forwarded_headers() -> object:
    """Return the person and the conversation that a request takes from the headers."""
    from django.test import RequestFactory

    from workflows.openai_api.completions import read_context
    from workflows.openai_api.messages import read_messages
    from workflows.openai_api.schemas import CompletionIn, MessageIn

    headers = {"X-OpenWebUI-User-Id": "ana", "X-OpenWebUI-Chat-Id": "chat-7"}
    messages = [MessageIn(role="user", content="Hello?")]
    request = RequestFactory().post("/", headers=headers)
    body = CompletionIn(model="any", messages=messages)
    context = read_context(request, body, read_messages(messages))
    return [context.user, context.conversation]
