"""The import map of the application's ES modules, whose URLs change with the content, so no page mixes two releases."""

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
    text = dumps({"imports": _build_imports()}, sort_keys=True)
    return format_html(
        '<script type="importmap" nonce="{}">{}</script>',
        context.get("csp_nonce") or "",
        mark_safe(text),  # noqa: S308 -- the application's file names and digests
    )


@register.simple_tag
def build_versioned_url(path: str) -> str:
    """Return the URL of a static file with the digest of its content, so that browsers can cache it."""
    file = Path(str(finders.find(path)))
    return f"{static(path)}?{_compute_digest(file, file.stat().st_mtime_ns)}"


@register.simple_tag
def preload_modules(*folders: str) -> SafeString:
    """Preload every module of these folders at once instead of one import after the other."""
    prefixes = tuple(static(f"js/{folder}/") for folder in folders)
    addresses = [href for address, href in _build_imports().items() if address.startswith(prefixes)]
    return format_html_join(
        "\n", '<link rel="modulepreload" href="{}">', ([url] for url in addresses)
    )


def _build_imports() -> dict[str, str]:
    folder = Path(str(finders.find("js")))
    files = sorted(folder.rglob("*.js"))
    stamp = tuple((str(file), file.stat().st_mtime_ns) for file in files)
    return _build_import_map(folder, stamp)


@lru_cache(maxsize=2)
def _build_import_map(folder: Path, stamp: tuple[tuple[str, int], ...]) -> dict[str, str]:
    return {
        (
            address := static(f"js/{Path(name).relative_to(folder).as_posix()}")
        ): f"{address}?{_compute_digest(Path(name), mtime)}"
        for name, mtime in stamp
    }


@lru_cache(maxsize=1024)
def _compute_digest(file: Path, _changed: int) -> str:
    return hash_file(file)
