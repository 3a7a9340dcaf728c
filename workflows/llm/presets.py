"""The providers that are offered by name, so that a person only has to enter the key."""

from collections.abc import Iterable, Mapping, Sequence
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
    # Likewise of models that embed texts, and of those that rank documents.
    embedding_models: tuple[str, ...] = ()
    rerank_models: tuple[str, ...] = ()
    # Whether it has models that write texts, and lists its models.
    has_chat_models: bool = True
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
        ("text-embedding-3-small", "text-embedding-"),
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
        ("models/gemini-embedding", "gemini-embedding"),
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
        ("text-embedding-v4", "text-embedding-"),
    ),
    Preset(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "https://console.mistral.ai/api-keys",
        ("mistral-small-latest", "mistral-small", "mistral-"),
        ("mistral-embed",),
    ),
    Preset(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "https://openrouter.ai/settings/keys",
        ("openai/gpt-4o-mini", "openai/gpt-"),
    ),
    Preset(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "https://console.groq.com/keys",
        ("llama-3.3-70b", "llama-"),
    ),
    Preset(
        "siliconflow",
        "SiliconFlow",
        "https://api.siliconflow.cn/v1",
        "https://cloud.siliconflow.cn/account/ak",
        ("Qwen/Qwen3-8B", "Qwen/Qwen3", "Qwen/", "deepseek-ai/"),
        ("BAAI/bge-m3", "BAAI/bge-"),
        ("BAAI/bge-reranker-v2-m3", "BAAI/bge-reranker"),
    ),
    Preset(
        "volcengine_maas",
        "Volcengine",
        "https://ark.cn-beijing.volces.com/api/v3",
        "https://console.volcengine.com/ark",
        ("doubao-seed", "doubao-"),
    ),
    Preset(
        "moonshot",
        "Moonshot",
        "https://api.moonshot.cn/v1",
        "https://platform.moonshot.cn/console/api-keys",
        ("kimi-", "moonshot-v1-auto", "moonshot-"),
    ),
    Preset(
        "zhipuai",
        "Zhipu AI",
        "https://open.bigmodel.cn/api/paas/v4",
        "https://open.bigmodel.cn/usercenter/apikeys",
        ("glm-4-flash", "glm-"),
        ("embedding-3", "embedding-"),
        ("rerank",),
    ),
    Preset(
        "bedrock",
        "Amazon Bedrock",
        key_page="https://console.aws.amazon.com/bedrock",
        models=("openai.gpt-oss-20b", "openai."),
        example_url="https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1",
    ),
    Preset(
        "azure",
        "Azure OpenAI",
        key_page="https://ai.azure.com",
        models=("gpt-5-mini", "gpt-4.1-mini", "gpt-4o-mini", "gpt-"),
        example_url="https://my-resource.openai.azure.com/openai/v1",
    ),
    Preset(
        "jina",
        "Jina AI",
        "https://api.jina.ai/v1",
        "https://jina.ai/api-dashboard/key-manager",
        embedding_models=("jina-embeddings-v3",),
        rerank_models=("jina-reranker-v2-base-multilingual",),
        has_chat_models=False,
    ),
    Preset(
        "cohere",
        "Cohere",
        "https://api.cohere.com/v2",
        "https://dashboard.cohere.com/api-keys",
        rerank_models=("rerank-v3.5",),
        has_chat_models=False,
    ),
    Preset("ollama", "Ollama", "http://127.0.0.1:11434/v1", local_port=11434),
    Preset("vllm", "vLLM", "http://127.0.0.1:8000/v1", local_port=8000),
    Preset("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", local_port=1234),
)

# The names that documents of Dify have for some of these providers.
ALIASES: Final[Mapping[str, str]] = {
    "tongyi": "qwen",
    "gemini": "google",
    "mistralai": "mistral",
    "azure_openai": "azure",
    "volcengine": "volcengine_maas",
}
_BY_NAME: Final = {preset.name: preset for preset in PRESETS}
# Parts of the names of models that don't write texts.
_OTHER_USES: Final = (
    *("embed", "whisper", "tts", "dall-e", "image", "audio", "moderation", "rerank", "realtime"),
    *("transcribe", "bge-", "clip", "sora", "veo", "imagen", "guard"),
)


# Parts of the names of models that embed texts, and of those that rank documents.
_RERANK_PARTS: Final = ("rerank",)
_EMBEDDING_PARTS: Final = ("embed", "bge-", "e5-", "gte-", "minilm")


def find_preset(name: str) -> Preset | None:
    return _BY_NAME.get(ALIASES.get(name, name))


def list_embedding_models(names: Iterable[str]) -> list[str]:
    """Return the models that embed texts, as far as their names tell."""
    return [
        name
        for name in names
        if _has_part(name, _EMBEDDING_PARTS) and not _has_part(name, _RERANK_PARTS)
    ]


def list_rerank_models(names: Iterable[str]) -> list[str]:
    """Return the models that rank documents, as far as their names tell."""
    return [name for name in names if _has_part(name, _RERANK_PARTS)]


def select_by_beginning(names: Iterable[str], preferred: Iterable[str]) -> str:
    """Return the first name that begins as a preferred one, in the order of the preferred ones, or else the first name."""
    all_names = list(names)
    for beginning in preferred:
        for name in all_names:
            if name.startswith(beginning):
                return name
    return next(iter(all_names), "")


def _has_part(name: str, parts: Iterable[str]) -> bool:
    return any(part in name.lower() for part in parts)


def select_model(names: Iterable[str], preferred: Sequence[str] = ()) -> str:
    """Return the model to use at first: one that begins as a preferred one, or else the first that writes texts."""
    all_names = list(names)
    writers = [name for name in all_names if not _has_part(name, _OTHER_USES)]
    preferred_names = [name for name in writers if name.startswith(tuple(preferred))]
    return select_by_beginning(preferred_names or writers or all_names, preferred)
