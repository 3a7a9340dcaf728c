"""The messages of a provider's failures. Pages read them without loading the package of the provider's API."""

import re
from functools import cache
from typing import Final


# HTTP status → message, and whether the same request may succeed later
BY_STATUS: Final[dict[int, tuple[str, bool]]] = {
    400: ("{provider} rejected the request as malformed. Check the model parameters.", False),
    401: ("{provider} rejected the credential. Check the API key.", False),
    402: ("{provider} reports that the account has no credit left.", False),
    403: ("{provider} rejected the credential for the model {model!r}.", False),
    404: ("{provider} doesn't have the model {model!r}, or the base URL is wrong.", False),
    405: ("The base URL of {provider} is not a model provider API.", False),
    408: ("{provider} timed out.", True),
    409: ("{provider} is busy with a conflicting request.", True),
    413: ("The request is too large for {provider}.", False),
    422: ("{provider} rejected the request as malformed. Check the model parameters.", False),
}
SERVER_ERROR: Final = ("{provider} had a server error (status {status}).", True)
REDIRECT: Final = ("The base URL of {provider} redirects. Enter the final URL.", False)
# Statuses with which servers refuse tools and images: OpenRouter says 404, llama.cpp 500.
REFUSING_STATUSES: Final = frozenset({400, 404, 422, 500, 501})
OTHER_STATUS: Final = ("{provider} rejected the request (status {status}).", False)

TOO_LONG: Final = "The prompt is too long for the model {model!r}."
FILTERED: Final = "The content filter of {provider} stopped the answer."
CUT_OFF: Final = "The response of {provider} was cut off."
EMPTY: Final = "{provider} sent an empty answer."
NO_ROOM: Final = (
    "The answer of {provider} reached its length limit before its first word. Raise max_tokens."
)
UNREADABLE: Final = "{provider} sent a response that is not OpenAI-compatible."
NO_TOOLS: Final = (
    "The model {model!r} of {provider} can't call tools. "
    "Select the strategy ReAct in the agent, or another model."
)
BAD_TOOL: Final = "{provider} rejected the description of a tool. Check the names and the parameters of the tools."
BAD_CALL: Final = "The model {model!r} wrote an invalid tool call."
NO_IMAGES: Final = "The model {model!r} of {provider} can't read images. Select another model."
NO_ADDRESS: Final = "{provider} has no base URL. Enter one under Models."
UNREACHABLE: Final = "{provider} isn't responding at {address}. Is it running?"
UNKNOWN_HOST: Final = "Can't resolve {host}. Check your connection."
NO_CERTIFICATE: Final = "{provider} has no valid certificate."
BAD_ADDRESS: Final = "The base URL of {provider} can't be used."
# The provider can't be used with any of its models.
_ABOUT_PROVIDER: Final = (
    UNREACHABLE,
    UNKNOWN_HOST,
    NO_CERTIFICATE,
    BAD_ADDRESS,
    NO_ADDRESS,
    REDIRECT[0],
    *(BY_STATUS[status][0] for status in (401, 402, 405)),
)
# The statuses of a server that is away, or in front of one that is.
_AWAY_STATUSES: Final = frozenset({502, 503, 504})
# People solve these on the page Models.
_ABOUT_CONNECTION: Final = (*_ABOUT_PROVIDER, *(BY_STATUS[status][0] for status in (403, 404)))


def is_about_connection(message: str) -> bool:
    """Return whether a failure is solved where the model provider is connected, and not in the workflow."""
    return any(pattern.fullmatch(message) for pattern in _compile_patterns(_ABOUT_CONNECTION))


def is_about_provider(message: str, status: int | None) -> bool:
    """Return whether a failure tells that a provider can't be used now, whichever of its models is asked."""
    if status in _AWAY_STATUSES:
        return True
    return any(pattern.fullmatch(message) for pattern in _compile_patterns(_ABOUT_PROVIDER))


@cache
def _compile_patterns(texts: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(".+".join(map(re.escape, re.split(r"\{[^}]*\}", text))), re.DOTALL)
        for text in texts
    )
