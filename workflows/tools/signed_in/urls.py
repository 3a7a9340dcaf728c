"""URLs as they are compared: two that name the same place are written alike."""

from typing import Final
from urllib.parse import urldefrag, urlsplit

from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter, ValidationError


_URL: Final = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))


def normalize_url(url: str) -> str:
    """Return the URL with its scheme and host in lower case, and without the scheme's own port or a fragment.

    That is how the official package reads the addresses in metadata. What is no URL stays as it is.
    """
    try:
        return urldefrag(str(_URL.validate_python(url))).url
    except ValidationError:
        return url


def have_same_origin(url: str, other_url: str) -> bool:
    """Return whether both URLs have the same scheme, host and port."""
    return urlsplit(normalize_url(url))[:2] == urlsplit(normalize_url(other_url))[:2]
