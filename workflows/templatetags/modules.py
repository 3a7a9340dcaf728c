"""Tags for static files: URLs that change with the content, so no page mixes two releases, and the ES import map."""

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
    import_map_json = dumps({"imports": _load_imports()}, sort_keys=True)
    return format_html(
        '<script type="importmap" nonce="{}">{}</script>',
        context.get("csp_nonce") or "",
        mark_safe(import_map_json),  # noqa: S308 -- the application's file names and digests
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
    urls = [versioned for url, versioned in _load_imports().items() if url.startswith(prefixes)]
    return format_html_join("\n", '<link rel="modulepreload" href="{}">', ([url] for url in urls))


def _load_imports() -> dict[str, str]:
    """Return the versioned URL of each module by its plain URL, from the cache unless a file was modified."""
    folder = Path(str(finders.find("js")))
    files = sorted(folder.rglob("*.js"))
    return _build_imports(folder, tuple((file, file.stat().st_mtime_ns) for file in files))


@lru_cache(maxsize=2)
def _build_imports(folder: Path, files: tuple[tuple[Path, int], ...]) -> dict[str, str]:
    imports = {}
    for file, modified_at in files:
        url = static(f"js/{file.relative_to(folder).as_posix()}")
        imports[url] = f"{url}?{_compute_digest(file, modified_at)}"
    return imports


@lru_cache(maxsize=1024)
def _compute_digest(file: Path, _modified_at: int) -> str:
    return hash_file(file)
