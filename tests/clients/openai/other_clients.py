"""Runs in the environment of the clients: plays the scenario with one of them, and streams an answer."""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

# Beside this script, whose folder is where Python looks first.
from scenario import FACT, QUESTION, play


Stream = Callable[[str, str, str], Iterator[str]]


def make_langchain(url: str, key: str) -> tuple[Any, Stream]:
    from langchain_openai import ChatOpenAI

    def connect(model: str, person: str) -> Any:
        return ChatOpenAI(base_url=url, api_key=key, model=model, extra_body={"user": person})

    def ask(model: str, text: str, person: str) -> str:
        return str(connect(model, person).invoke(text).content)

    def stream(model: str, text: str, person: str) -> Iterator[str]:
        return (str(chunk.content) for chunk in connect(model, person).stream(text))

    return ask, stream


def make_litellm(url: str, key: str) -> tuple[Any, Stream]:
    import litellm

    def call(model: str, text: str, person: str, **options: Any) -> Any:
        messages = [{"role": "user", "content": text}]
        # Of a model that it doesn't know, LiteLLM drops the parameter ``user``.
        return litellm.completion(
            model=f"openai/{model}",
            api_base=url,
            api_key=key,
            messages=messages,
            extra_body={"user": person},
            **options,
        )

    def ask(model: str, text: str, person: str) -> str:
        return str(call(model, text, person).choices[0].message.content)

    def stream(model: str, text: str, person: str) -> Iterator[str]:
        chunks = call(model, text, person, stream=True)
        return (chunk.choices[0].delta.content or "" for chunk in chunks)

    return ask, stream


def make_llama_index(url: str, key: str) -> tuple[Any, Stream]:
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.openai_like import OpenAILike

    def connect(model: str, person: str) -> Any:
        return OpenAILike(
            model=model, api_base=url, api_key=key, is_chat_model=True,
            additional_kwargs={"user": person},
        )  # fmt: skip

    def ask(model: str, text: str, person: str) -> str:
        return str(connect(model, person).chat([ChatMessage(text)]).message.content)

    def stream(model: str, text: str, person: str) -> Iterator[str]:
        return (
            chunk.delta or "" for chunk in connect(model, person).stream_chat([ChatMessage(text)])
        )

    return ask, stream


CLIENTS = {"langchain": make_langchain, "litellm": make_litellm, "llama_index": make_llama_index}


def main(client: str, url: str, key: str) -> dict[str, Any]:
    ask, stream = CLIENTS[client](url, key)
    story = play(ask, client)
    ask("diary", FACT, f"{client}-stream")
    story["streamed"] = "".join(stream("diary", QUESTION, f"{client}-stream"))
    try:
        ask("gpt-4o", "Hello?", client)
    except Exception as error:  # each client has classes of its own
        story["error"] = [base.__name__ for base in type(error).__mro__]
    return story


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
