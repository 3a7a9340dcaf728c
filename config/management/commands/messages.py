"""Update the translation catalogs from the code. Django's makemessages finds the strings, and needs xgettext for it."""

from pathlib import Path
from typing import Any

import polib
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from config.translations import compile_outdated


IGNORED = (".*", "tests", "bench", "staticfiles", "node_modules")
CHANGING_METADATA = (
    *("POT-Creation-Date", "PO-Revision-Date", "Report-Msgid-Bugs-To", "Last-Translator"),
    "Language-Team",
)


class Command(BaseCommand):
    help = "Find the texts to translate and write them to the catalogs in locale/."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        old_catalogs = {
            path: polib.pofile(str(path), wrapwidth=0)
            for folder in settings.LOCALE_PATHS
            for path in sorted(Path(folder).glob("*/LC_MESSAGES/*.po"))
        }
        call_command(
            "makemessages", all=True, no_location=True, no_wrap=True, no_obsolete=True,
            ignore_patterns=list(IGNORED), verbosity=0,
        )  # fmt: skip
        unfinished = 0
        for path, catalog in old_catalogs.items():
            add_texts_of_files(path, catalog)
            unfinished += clean_catalog(path)
        compile_outdated(settings.LOCALE_PATHS)
        if unfinished:
            raise CommandError(f"{unfinished} texts are not translated (empty or fuzzy).")


def add_texts_of_files(path: Path, old_catalog: polib.POFile) -> None:
    """Add the strings that apps keep in files which xgettext can't read, with their translations in the old catalog."""
    translations = {(entry.msgctxt, entry.msgid): entry.msgstr for entry in old_catalog}
    catalog = polib.pofile(str(path), wrapwidth=0)
    existing = {(entry.msgctxt, entry.msgid) for entry in catalog}
    for app in apps.get_app_configs():
        for key in dict.fromkeys(getattr(app, "texts_of_files", list)()):
            if key not in existing:
                context, text = key
                translation = translations.get(key, "")
                catalog.append(polib.POEntry(msgctxt=context, msgid=text, msgstr=translation))
    catalog.save()


def clean_catalog(path: Path) -> int:
    """Sort a catalog and drop metadata that changes with every run; return the number of untranslated strings."""
    catalog = polib.pofile(str(path), wrapwidth=0)
    catalog.header = ""
    for name in CHANGING_METADATA:
        catalog.metadata.pop(name, None)
    catalog.sort(key=lambda entry: (entry.msgid, entry.msgctxt or ""))
    catalog.save()
    return len(catalog.untranslated_entries()) + len(catalog.fuzzy_entries())
