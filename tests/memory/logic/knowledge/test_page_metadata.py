"""What a search says about where a page is from."""

from memory.logic.knowledge.page_metadata import describe_source
from memory.logic.knowledge.pages import KnowledgePage, PageSource
from memory.logic.knowledge.wiki_sources import SourceKind, WikiSource


def test_page_of_a_document_names_its_original_and_its_place_there() -> None:
    page = KnowledgePage("a", "A", sources=(PageSource("s", "d", heading="Travel › Hotels"),))
    source = WikiSource("s", "rules.pdf", "text", SourceKind.DOCUMENT, file_id="01a2")

    assert describe_source(source, page) == {
        "title": "rules.pdf",
        "kind": "document",
        "url": "",
        "file_id": "01a2",
        "heading": "Travel › Hotels",
    }


def test_page_of_another_source_has_neither() -> None:
    page = KnowledgePage("a", "A", sources=(PageSource("s", "d"),))

    described = describe_source(WikiSource("s", "Note", "text", url="https://example.org"), page)

    assert described == {"title": "Note", "kind": "text", "url": "https://example.org"}
