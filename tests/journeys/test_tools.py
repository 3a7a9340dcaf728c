"""Tools in the browser: an API is connected, its operations are chosen, and a tool is tried."""

import json
import os

import pytest
from playwright.sync_api import Page, expect


pytestmark = pytest.mark.browser

TITLE = "City library"
DOCUMENT = json.dumps(
    {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": "1"},
        "servers": [{"url": "http://127.0.0.1:9/v1"}],
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
        },
        "paths": {
            "/books": {
                "get": {
                    "operationId": "findBooks",
                    "summary": "Finds books by title, author or year.",
                    "parameters": [
                        {
                            "name": "title",
                            "in": "query",
                            "required": True,
                            "description": "A part of the title.",
                            "schema": {"type": "string"},
                        },
                        {"name": "year", "in": "query", "schema": {"type": "integer"}},
                        {
                            "name": "sort",
                            "in": "query",
                            "schema": {"type": "string", "enum": ["newest", "title"]},
                        },
                        {"name": "lent", "in": "query", "schema": {"type": "boolean"}},
                    ],
                },
                "post": {
                    "operationId": "addBook",
                    "description": "Adds a book to the catalog.",
                    "requestBody": {
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "properties": {
                                        "title": {"type": "string"},
                                        "authors": {"type": "array", "items": {"type": "string"}},
                                    },
                                }
                            }
                        }
                    },
                },
            }
        },
    }
)


def shot(page: Page, name: str) -> None:
    folder = os.environ.get("SHOTS")
    if not folder:
        return
    for language in ("en", "zh-hans"):
        page.context.add_cookies(
            [{"name": "django_language", "value": language, "url": page.url.split("/tools/")[0]}]
        )
        page.reload()
        for scheme in ("light", "dark"):
            for width in (1280, 390):
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size({"width": width, "height": 900})
                page.screenshot(
                    path=f"{folder}/{name}-{language}-{scheme}-{width}.png", full_page=True
                )
    page.context.add_cookies(
        [{"name": "django_language", "value": "en", "url": page.url.split("/tools/")[0]}]
    )
    page.set_viewport_size({"width": 1280, "height": 900})
    page.reload()


def test_api_is_connected_chosen_and_tried(signed_in: Page):
    page = signed_in
    page.goto("/tools/")
    expect(page.get_by_role("heading", name="No connections yet")).to_be_visible()
    shot(page, "empty")

    page.get_by_role("link", name="Connect tools").first.click()
    shot(page, "connect")
    page.locator("[name=document]").fill(DOCUMENT)
    page.locator("[name=base_url]").fill("http://127.0.0.1:9/v1")
    page.locator("[name=secret]").fill("library-key-0123456789")
    page.get_by_role("button", name="Connect").click()

    expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
    expect(page.get_by_role("checkbox", name="findBooks needs approval")).not_to_be_checked()
    expect(page.get_by_role("checkbox", name="addBook needs approval")).to_be_checked()
    shot(page, "connection")
    page.get_by_role("checkbox", name="Enable addBook").uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("checkbox", name="Enable addBook")).not_to_be_checked()
    expect(page.get_by_role("link", name="Try addBook")).to_have_count(0)

    page.get_by_role("link", name="Try findBooks").click()
    page.get_by_label("title").fill("Faust")
    page.get_by_role("button", name="Call").click()
    expect(page.locator(".tools-result")).to_contain_text("NET_ALLOW")
    page.goto("/tools/")
    expect(page.locator("li", has_text=TITLE)).to_contain_text("1 of 2 enabled")
    shot(page, "list")


def test_built_in_tool_answers_in_the_browser(signed_in: Page):
    page = signed_in
    page.goto("/tools/local/builtin/calculator/")
    shot(page, "try")
    page.locator("form [name^='argument-']").first.fill("6 * 7")
    page.get_by_role("button", name="Call").click()

    expect(page.locator(".tools-result").first).to_contain_text("42")
