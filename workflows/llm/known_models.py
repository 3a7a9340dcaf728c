"""The context sizes of well-known models, by the beginnings of their names.

Providers rarely tell them. They only help people to choose; no call is cut by them.
"""

from typing import Final


# The longest beginning counts. Tokens.
_CONTEXT_SIZES: Final = {
    "claude-": 200_000,
    "codestral": 256_000,
    "command-a": 256_000,
    "command-r": 128_000,
    "deepseek-chat": 128_000,
    "deepseek-r1": 128_000,
    "deepseek-reasoner": 128_000,
    "deepseek-v3": 128_000,
    "gemini-1.5-pro": 2_097_152,
    "gemini-": 1_048_576,
    "gemma2": 8_192,
    "gemma3": 131_072,
    "glm-4": 128_000,
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-turbo": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-5": 400_000,
    "gpt-oss": 131_072,
    "llama-3.1": 131_072,
    "llama-3.3": 131_072,
    "llama3": 8_192,
    "llama3.1": 131_072,
    "llama3.2": 131_072,
    "llama3.3": 131_072,
    "ministral": 128_000,
    "mistral-large": 128_000,
    "mistral-medium": 128_000,
    "mistral-small": 128_000,
    "mixtral-8x7b": 32_768,
    "moonshot-v1-128k": 131_072,
    "moonshot-v1-32k": 32_768,
    "moonshot-v1-8k": 8_192,
    "o1": 200_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "phi4": 16_384,
    "qwen-plus": 131_072,
    "qwen-turbo": 1_000_000,
    "qwen2.5": 32_768,
    "qwen3": 32_768,
}


def find_context_size(model: str) -> int | None:
    """Return the number of tokens that a model reads at most, or None if it is not known here.

    The name may have the maker before it, as with OpenRouter, or ``models/``, as with Google.
    """
    name = model.lower().rpartition("/")[2]
    beginnings = (beginning for beginning in _CONTEXT_SIZES if name.startswith(beginning))
    longest = max(beginnings, key=len, default=None)
    return None if longest is None else _CONTEXT_SIZES[longest]
