"""Any endpoint that speaks the OpenAI protocol of embeddings, through the one guarded client."""

import base64
import struct
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import openai

from config import net
from memory.core.recall.embedding import Embedder, EmbedderFault
from memory.embedding.embedders import Options


MOST_BYTES: Final = 32 * 1024 * 1024  # of an answer
_OF_TEXTS: Final = frozenset({400, 413, 422})  # others may do better
_FOR_GOOD: Final = frozenset({400, 401, 402, 403, 404, 405, 413, 422})


class OpenAICompatible(Embedder):
    def __init__(self, options: Options) -> None:
        if not options.url.startswith(("http://", "https://")):
            raise ValueError(
                "MEMORY_EMBEDDER_URL: must be an address like https://api.example.com/v1."
            )
        if not options.model:
            raise ValueError("MEMORY_EMBEDDER_MODEL is missing.")
        self.dimensions = options.dimensions
        self.name = _name(options)
        self._options = options
        self._clients: dict[float, openai.OpenAI] = {}
        self._lock = threading.Lock()

    def embed(
        self, texts: Sequence[str], *, question: bool, seconds: float
    ) -> Sequence[Sequence[float]]:
        prefix = self._options.question_prefix if question else self._options.text_prefix
        body: dict[str, Any] = {  # the protocol's
            "model": self._options.model,
            "input": [prefix + text or " " for text in texts],
            "encoding_format": "float",
        }
        if self._options.dimensions is not None:
            body["dimensions"] = self._options.dimensions
        try:
            asked = self._client(seconds).embeddings.with_raw_response
            said = asked.create(**body).http_response.json()
        except openai.APIStatusError as refused:
            raise _refusal(refused) from None
        except openai.APITimeoutError:
            raise EmbedderFault("The request timed out.") from None
        except (openai.APIError, net.NetFault, OSError) as failed:
            raise _unreached(failed) from None
        except ValueError:
            raise EmbedderFault("The answer is not valid JSON.") from None
        return _in_order(said, len(texts))

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _client(self, seconds: float) -> openai.OpenAI:
        """Kept, as a question has no time to meet a server anew; one of each patience, which bounds a whole answer."""
        with self._lock:
            if seconds not in self._clients:
                self._clients[seconds] = self._new_client(seconds)
            return self._clients[seconds]

    def _new_client(self, seconds: float) -> openai.OpenAI:
        http = net.sync_client(timeout=seconds, max_body=MOST_BYTES)
        client = openai.OpenAI(
            base_url=self._options.url.rstrip("/"),
            api_key=self._options.key or "none",  # local servers ask for none
            timeout=http.timeout,
            max_retries=0,  # when to try again is upkeep's to decide
            http_client=http,
        )
        # The package would take these from the process's environment.
        client.organization = client.project = None
        client._custom_headers = {}
        return client


def _name(options: Options) -> str:
    """Everything that changes a vector, but for the key."""
    marks = [
        options.model,
        *([str(options.dimensions)] if options.dimensions else []),
        *([options.text_prefix.strip()] if options.text_prefix.strip() else []),
    ]
    return f"{options.url.rstrip('/').partition('://')[2]} {' '.join(marks)}"[:200]


def _in_order(said: Any, wanted: int) -> list[list[float]]:
    """By the index each has; a server that gives none gives them in order."""
    data = said.get("data") if isinstance(said, Mapping) else None
    if not isinstance(data, list) or len(data) != wanted:
        raise EmbedderFault(
            "The answer doesn't follow the OpenAI protocol, or has too few vectors."
        )
    placed: dict[int, list[float]] = {}
    for place, one in enumerate(data):
        found = one if isinstance(one, Mapping) else {}
        index = found.get("index", place)
        placed[index if isinstance(index, int) else place] = _numbers(found.get("embedding"))
    if sorted(placed) != list(range(wanted)):
        raise EmbedderFault("The answer doesn't cover all texts.")
    return [placed[place] for place in range(wanted)]


def _numbers(given: Any) -> list[float]:
    """As numbers, or as base64 of them, which some servers send whatever was asked for."""
    if isinstance(given, str):
        try:
            packed = base64.b64decode(given, validate=True)
            return list(struct.unpack(f"<{len(packed) // 4}f", packed))
        except (ValueError, struct.error):
            raise EmbedderFault("The answer contains an unreadable vector.") from None
    if not isinstance(given, list) or not all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in given
    ):
        raise EmbedderFault("The answer contains an unreadable vector.")
    return [float(one) for one in given]


def _refusal(refused: openai.APIStatusError) -> EmbedderFault:
    """Nothing of what the other side said: it may repeat the key or the texts."""
    status = refused.status_code
    wait = _seconds(refused.response.headers.get("retry-after", ""))
    if status == 429:
        return EmbedderFault("Rate limit exceeded.", retry_after=wait)
    words = (
        "The API key was rejected."
        if status in (401, 403)
        else f"The server answered with status {status}."
    )
    return EmbedderFault(
        words, retryable=status not in _FOR_GOOD, retry_after=wait, of_texts=status in _OF_TEXTS
    )


def _unreached(failed: Exception) -> EmbedderFault:
    causes = [failed, failed.__cause__, failed.__context__]
    ours = next((one for one in causes if isinstance(one, net.NetFault)), None)
    return EmbedderFault(str(ours) if ours else "The server can't be reached.")


def _seconds(header: str) -> float | None:
    try:
        seconds = float(header)
    except ValueError:
        return None
    return seconds if 0 <= seconds <= 86_400 else None
