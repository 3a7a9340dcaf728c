"""Tags for static files: URLs that change with the content, so no page mixes two releases, and the ES import map."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from json import dumps
from pathlib import Path

from django import template
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from config.http.assets import hash_file


register = template.Library()


@register.filter
def split_words(text: str) -> list[str]:
    return text.split()


@register.simple_tag(takes_context=True)
def import_map(context: template.Context) -> SafeString:
    """Return ``<script type="importmap">`` for everything under ``static/js``."""
    return format_html(
        '<script type="importmap" nonce="{}">{}</script>',
        context.get("csp_nonce") or "",
        _build_modules(*_find_modules()).import_map,
    )


@register.simple_tag
def build_versioned_url(path: str) -> str:
    """Return the URL of a static file with the digest of its content, so that browsers can cache it."""
    file = Path(str(finders.find(path)))
    return f"{static(path)}?{_compute_digest(file, file.stat().st_mtime_ns)}"


@register.simple_tag
def preload_modules(*folders: str) -> SafeString:
    """Preload every module of these folders at once instead of one import after the other."""
    return _build_preloads(folders, *_find_modules())


@dataclass(frozen=True, slots=True)
class _Modules:
    """The versioned URL of each module by its plain URL, and all of them as an import map."""

    urls: Mapping[str, str]
    import_map: SafeString


def _find_modules() -> tuple[str, tuple[tuple[str, int], ...]]:
    """Return the folder of all modules, and each with the time of its last change, in order."""
    folder = str(finders.find("js"))
    return folder, tuple(sorted(_scan(folder)))


def _scan(folder: str) -> Iterator[tuple[str, int]]:
    # By entries of folders: each page with an import map looks whether one of hundreds of files was modified.
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _scan(entry.path)
            elif entry.name.endswith(".js"):
                yield entry.path, entry.stat().st_mtime_ns


@lru_cache(maxsize=8)
def _build_preloads(
    folders: tuple[str, ...], root: str, files: tuple[tuple[str, int], ...]
) -> SafeString:
    prefixes = tuple(static(f"js/{folder}/") for folder in folders)
    urls = _build_modules(root, files).urls
    versioned = [urls[url] for url in urls if url.startswith(prefixes)]
    return format_html_join(
        "\n", '<link rel="modulepreload" href="{}">', ([url] for url in versioned)
    )


@lru_cache(maxsize=2)
def _build_modules(root: str, files: tuple[tuple[str, int], ...]) -> _Modules:
    urls = {}
    for file, modified_at in files:
        url = static(f"js/{Path(file).relative_to(root).as_posix()}")
        urls[url] = f"{url}?{_compute_digest(Path(file), modified_at)}"
    import_map_json = dumps({"imports": urls}, sort_keys=True)
    return _Modules(urls, mark_safe(import_map_json))  # noqa: S308 -- the application's file names and digests


@lru_cache(maxsize=1024)
def _compute_digest(file: Path, _modified_at: int) -> str:
    return hash_file(file)
