"""The providers that are offered by name, so that a person only has to enter the key."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Preset:
    """A well-known provider. ``name`` is its name in documents, and of its mark in ``static/icons.svg``."""

    name: str
    title: str
    base_url: str = ""
    # The page on which people create a key; empty for servers that need none.
    key_page: str = ""
    # The beginnings of the names of models that suit most workflows, best first.
    models: tuple[str, ...] = ()
    # The port on which a server of this kind listens on this machine.
    local_port: int | None = None
    # An example of an address that every customer has another one of.
    example_url: str = ""

    @property
    def is_local(self) -> bool:
        return self.local_port is not None


PRESETS: Final[tuple[Preset, ...]] = (
    Preset(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "https://platform.openai.com/api-keys",
        ("gpt-5-mini", "gpt-4.1-mini", "gpt-4o-mini", "gpt-"),
    ),
    Preset(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        "https://console.anthropic.com/settings/keys",
        ("claude-sonnet", "claude-haiku", "claude-"),
    ),
    Preset(
        "google",
        "Google",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://aistudio.google.com/apikey",
        ("models/gemini-2.5-flash", "gemini-2.5-flash", "models/gemini-", "gemini-"),
    ),
    Preset(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "https://platform.deepseek.com/api_keys",
        ("deepseek-chat",),
    ),
    Preset(
        "qwen",
        "Qwen",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "https://bailian.console.aliyun.com/?tab=model#/api-key",
        ("qwen-plus", "qwen-turbo", "qwen"),
    ),
    Preset(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "https://console.mistral.ai/api-keys",
        ("mistral-small-latest", "mistral-small", "mistral-"),
    ),
    Preset(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "https://openrouter.ai/settings/keys",
        ("openai/gpt-4o-mini", "openai/gpt-"),
    ),
    Preset(
        "azure",
        "Azure OpenAI",
        key_page="https://ai.azure.com",
        models=("gpt-5-mini", "gpt-4.1-mini", "gpt-4o-mini", "gpt-"),
        example_url="https://my-resource.openai.azure.com/openai/v1",
    ),
    Preset("ollama", "Ollama", "http://127.0.0.1:11434/v1", local_port=11434),
    Preset("vllm", "vLLM", "http://127.0.0.1:8000/v1", local_port=8000),
    Preset("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", local_port=1234),
)

_BY_NAME: Final = {preset.name: preset for preset in PRESETS}
# Parts of the names of models that don't write texts.
_OTHER_USES: Final = (
    *("embed", "whisper", "tts", "dall-e", "image", "audio", "moderation", "rerank", "realtime"),
    *("transcribe", "bge-", "clip", "sora", "veo", "imagen", "guard"),
)


def find_preset(name: str) -> Preset | None:
    return _BY_NAME.get(name)


def select_model(names: Iterable[str], preferred: Iterable[str] = ()) -> str:
    """Return the model to use at first: one that begins as a preferred one, or else the first that writes texts."""
    all_names = list(names)
    writers = [name for name in all_names if not any(part in name.lower() for part in _OTHER_USES)]
    for beginning in preferred:
        for name in writers:
            if name.startswith(beginning):
                return name
    return next(iter(writers or all_names), "")
