"""The context sizes of well-known models."""

from tests.support.cases import for_each
from workflows.llm.known_models import find_context_size


@for_each(
    "model, size",
    [
        ("gpt-4", 8_192),
        ("gpt-4o-mini", 128_000),
        ("openai/gpt-5-mini", 400_000),
        ("models/gemini-2.5-flash", 1_048_576),
        ("Qwen/Qwen3-8B", 32_768),
        ("llama3.2:3b", 131_072),
        ("my-own-model", None),
        ("", None),
    ],
)
def test_longest_beginning_of_the_name_tells_the_context_size(model: str, size: int | None) -> None:
    assert find_context_size(model) == size
