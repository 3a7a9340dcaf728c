"""Checks a URL before anything is looked up: its scheme, its host and its port."""

import re
from typing import Final

import httpx2

from config.net.addresses import parse_address
from config.net.allow import AllowList, find_entry
from config.net.errors import AddressRefused


DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_URL: Final = 8192
_MAX_HOST: Final = 253  # of a name in the DNS

# Of a host as it is looked up: labels of letters, digits, hyphens and, in names of services, underscores.
_NAME: Final = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?", re.IGNORECASE)
_NUMBERS: Final = re.compile(
    r"[0-9.]+"
)  # which is no name; the C library reads 127.1 as an address

_RULE: Final = "only public http and https addresses on ports 80 and 443 can be called."


def check_url(request: httpx2.Request, allowed: AllowList) -> None:
    """Raise ``AddressRefused`` unless the request's host and port may be called, if its addresses may."""
    url = request.url
    port = find_port(url)
    if not _is_well_formed(url):
        raise AddressRefused(f"{_name_host(url)} is blocked: {_RULE}", request=request)
    if not allowed.may_look_up(_read_host(url), port):
        raise refuse(request)


def refuse(request: httpx2.Request) -> AddressRefused:
    """Build the error for a blocked address. It contains the user's URL and no resolved address."""
    url = request.url
    entry = find_entry(_read_host(url), find_port(url))
    advice = (
        f"The operator can allow this one with NET_ALLOW={entry}."
        if entry
        else "No entry of NET_ALLOW opens this one."
    )
    return AddressRefused(f"{_name_host(url)} is blocked: {_RULE} {advice}", request=request)


def find_port(url: httpx2.URL) -> int:
    return DEFAULT_PORTS.get(url.scheme, 0) if url.port is None else url.port


def _read_host(url: httpx2.URL) -> str:
    """Return the host as it is looked up; ``url.host`` has it as it is read, in the letters of its language."""
    return url.raw_host.decode("ascii")


def _is_well_formed(url: httpx2.URL) -> bool:
    host = _read_host(url)
    return (
        url.scheme in DEFAULT_PORTS
        and len(str(url)) <= _MAX_URL
        and not url.userinfo  # http://public.example@127.0.0.1/ reads as another host
        and "%" not in host  # a zone, or an encoded name
        and len(host) <= _MAX_HOST
        and (parse_address(host) is not None or _is_name(host))
    )


def _is_name(host: str) -> bool:
    return _NAME.fullmatch(host) is not None and _NUMBERS.fullmatch(host) is None


def _name_host(url: httpx2.URL) -> str:
    return repr(url.host[:100])
