"""The embedder for any endpoint with OpenAI's embeddings API. All requests go through the guarded client of ``config.net``."""

import base64
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import openai

from accounts.request_transaction import without_connection
from config import net
from memory.core.recall.embedding import Embedder, EmbedderFault
from memory.embedding.embedders import Options
from memory.host import EmbeddingModel


MAX_BYTES: Final = 32 * 1024 * 1024  # of an answer
_TEXT_STATUSES: Final = frozenset({400, 413, 422})  # the texts may be the cause
_PERMANENT_STATUSES: Final = frozenset({400, 401, 402, 403, 404, 405, 413, 422})


PATH: Final = "/embeddings"
BATCH: Final = 32  # texts in a call of a team's model; some endpoints accept no more
CountCall = Callable[[int, float, Exception | None], None]  # takes tokens, seconds, and what failed


class OpenAICompatible(Embedder):
    """The embedder of an endpoint. Its clients never retry a request: ``memory.upkeep.embedding`` tries again later."""

    def __init__(self, options: Options, count_call: CountCall | None = None) -> None:
        if not options.url.startswith(("http://", "https://")):
            raise ValueError(
                "MEMORY_EMBEDDER_URL: must be an address like https://api.example.com/v1."
            )
        if not options.model:
            raise ValueError("MEMORY_EMBEDDER_MODEL is missing.")
        self.dimensions = options.dimensions
        self.name = _build_name(options)
        self.unrelated_cosine = options.unrelated_cosine
        self._options = options
        self._count_call = count_call
        self._clients: dict[float, openai.OpenAI] = {}
        self._lock = threading.Lock()

    def embed(
        self, texts: Sequence[str], *, question: bool, seconds: float
    ) -> Sequence[Sequence[float]]:
        prefix = self._options.question_prefix if question else self._options.text_prefix
        body: dict[str, Any] = {
            "model": self._options.model,
            "input": [prefix + text or " " for text in texts],
            "encoding_format": "float",
        }
        if self._options.dimensions is not None:
            body["dimensions"] = self._options.dimensions
        begin = time.monotonic()
        try:
            with without_connection(is_required=False):
                response = self._request(body, seconds)
            vectors = _sort_vectors(response, len(texts))
        except EmbedderFault as fault:
            # What the client raised says more than the fault, and leaves no trace in the logs.
            self._count(0, time.monotonic() - begin, fault.__context__ or fault)
            raise
        self._count(_read_tokens(response), time.monotonic() - begin)
        return vectors

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _request(self, body: dict[str, Any], seconds: float) -> Any:
        """Return the answer. An endpoint that refuses the encoding by name is asked again without it."""
        try:
            return self._post(body, seconds)
        except openai.APIStatusError as error:
            is_refused = error.status_code in _TEXT_STATUSES and "encoding_format" in str(error)
            if not (is_refused and body.pop("encoding_format", None)):
                raise _build_status_fault(error) from None
            return self._request(body, seconds)
        except openai.APITimeoutError:
            raise EmbedderFault("The request timed out.") from None
        except (openai.APIError, net.NetFault, OSError) as error:
            raise _build_connection_fault(error) from None
        except ValueError:
            raise EmbedderFault("The answer is not valid JSON.") from None
        except Exception as error:
            failure = net.describe_failure(error, self._options.url)
            if failure is None:
                raise
            raise EmbedderFault(str(failure), retryable=failure.retryable) from None

    def _post(self, body: dict[str, Any], seconds: float) -> Any:
        # The package's own method would add an encoding where none is asked for.
        response = self._get_client(seconds).post(PATH, cast_to=object, body=body)
        if isinstance(response, str):  # the package returns what isn't JSON as it is
            raise ValueError("The answer is not JSON")
        return response

    def _count(self, tokens: int, seconds: float, error: BaseException | None = None) -> None:
        if self._count_call is not None:
            self._count_call(tokens, seconds, error if isinstance(error, Exception) else None)

    def _get_client(self, seconds: float) -> openai.OpenAI:
        """Return the client with this timeout. It is reused, because a query has no time for a new connection."""
        with self._lock:
            if seconds not in self._clients:
                self._clients[seconds] = self._create_client(seconds)
            return self._clients[seconds]

    def _create_client(self, seconds: float) -> openai.OpenAI:
        http_client = net.build_sync_client(
            timeout=seconds, max_body=MAX_BYTES, for_models=self._options.for_models
        )
        client = openai.OpenAI(
            base_url=self._options.url.rstrip("/"),
            api_key=self._options.key or "none",  # local servers ask for none
            timeout=http_client.timeout,
            max_retries=0,
            http_client=http_client,
        )
        # Without this, the package would read them from the environment variables of the process.
        client.organization = client.project = None
        client._custom_headers = {}
        return client


def build_team_embedder(model: EmbeddingModel, count_call: CountCall) -> OpenAICompatible:
    """Return the embedder for a model that a team has connected."""
    options = Options(
        model.url,
        model.key,
        model.model,
        model.dimensions,
        model.question_prefix,
        model.text_prefix,
        model.unrelated_cosine,
        for_models=True,
    )
    embedder = OpenAICompatible(options, count_call)
    embedder.batch = BATCH
    return embedder


def _build_name(options: Options) -> str:
    """Return a name from all settings that change a vector; the API key is not one of them."""
    address = options.url.rstrip("/").partition("://")[2]
    parts = [address, options.model, str(options.dimensions or ""), options.text_prefix.strip()]
    return " ".join(filter(None, parts))[:200]


def _sort_vectors(response: Any, count: int) -> list[list[float]]:
    """Return the vectors by their index, or in the given order if the server sends no index."""
    data = response.get("data") if isinstance(response, Mapping) else None
    if not isinstance(data, list) or len(data) != count:
        raise EmbedderFault(
            "The answer doesn't follow the OpenAI protocol, or has too few vectors."
        )
    vectors: dict[int, list[float]] = {}
    for position, item in enumerate(data):
        fields = item if isinstance(item, Mapping) else {}
        index = fields.get("index")
        vector = _parse_vector(fields.get("embedding"))
        vectors[index if isinstance(index, int) else position] = vector
    if sorted(vectors) != list(range(count)):
        raise EmbedderFault("The answer doesn't cover all texts.")
    return [vectors[position] for position in range(count)]


def _read_tokens(response: Any) -> int:
    """Return the tokens that the endpoint counted, or 0 if it says nothing of them."""
    usage = response.get("usage") if isinstance(response, Mapping) else None
    usage = usage if isinstance(usage, Mapping) else {}
    tokens = usage.get("prompt_tokens") or usage.get("total_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else 0


def _parse_vector(vector: Any) -> list[float]:
    """Return the numbers of a list or of base64, which some servers send although a list was requested."""
    if isinstance(vector, str):
        try:
            raw = base64.b64decode(vector, validate=True)
            return list(struct.unpack(f"<{len(raw) // 4}f", raw))
        except (ValueError, struct.error):
            raise EmbedderFault("The answer contains an unreadable vector.") from None
    if not isinstance(vector, list) or not all(
        isinstance(number, int | float) and not isinstance(number, bool) for number in vector
    ):
        raise EmbedderFault("The answer contains an unreadable vector.")
    return [float(number) for number in vector]


def _build_status_fault(error: openai.APIStatusError) -> EmbedderFault:
    """Build a fault without the server's message, which may repeat the key or the texts."""
    status = error.status_code
    retry_after = _parse_seconds(error.response.headers.get("retry-after", ""))
    if status == 429:
        return EmbedderFault("Rate limit exceeded.", retry_after=retry_after)
    message = f"The server answered with status {status}."
    return EmbedderFault(
        "The API key was rejected." if status in (401, 403) else message,
        retryable=status not in _PERMANENT_STATUSES,
        retry_after=retry_after,
        rejects_texts=status in _TEXT_STATUSES,
    )


def _build_connection_fault(error: Exception) -> EmbedderFault:
    causes = [error, error.__cause__, error.__context__]
    fault = next((cause for cause in causes if isinstance(cause, net.NetFault)), None)
    return EmbedderFault(str(fault) if fault else "The server can't be reached.")


def _parse_seconds(header: str) -> float | None:
    try:
        seconds = float(header)
    except ValueError:
        return None
    return seconds if 0 <= seconds <= 86_400 else None
