"""Every sample in the editor as it opens: large enough to read, nothing cut off, no edge or label over a card."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.chatting import copy_sample
from tests.journeys.looking import CUT, complaints
from tests.journeys.seeing import ready
from workflows.samples.catalogue import SAMPLES


pytestmark = pytest.mark.browser

READABLE = 0.8

# Every edge is given the longest label and selected, so that all labels are shown at once.
LABEL_ALL = """() => {
  const { canvas } = mnemoflow.editor;
  for (const { id } of canvas.model.edges.values()) canvas.paintEdge(id, { taken: true, text: "3 items · the beginning of what went along" });
  canvas.pick([...canvas.model.edges.keys()]);
}"""

# Texts on cards that are longer than the card: a card cuts off nothing itself.
BEYOND_CARDS = """() => {
  const range = document.createRange();
  return [...document.querySelectorAll(".wf-card :is(b, small, em, .wf-text)")].filter((text) => {
    range.selectNodeContents(text);
    const [box, card] = [range.getBoundingClientRect(), text.closest(".wf-card").getBoundingClientRect()];
    return box.width && (box.right > card.right - 2 || box.bottom > card.bottom + 2);
  }).map((text) => `longer than its card: ${text.textContent}`);
}"""

# Edges and labels that lie over a card, in the coordinates of the screen.
OVER_CARDS = """() => {
  const { model } = mnemoflow.editor.canvas;
  const inside = ({ x, y }, box) => x > box.left + 2 && x < box.right - 2 && y > box.top + 2 && y < box.bottom - 2;
  const hits = (a, b) => a.left < b.right - 1 && a.right > b.left + 1 && a.top < b.bottom - 1 && a.bottom > b.top + 1;
  const nodes = [...model.nodes.values()].filter((node) => !node.isNote).map((node) => [node, node.el.getBoundingClientRect()]);
  const wrong = new Set();
  for (const edge of model.edges.values()) {
    const length = edge.el.getTotalLength();
    const matrix = edge.el.getScreenCTM();
    for (let at = 0; at <= 60; at++) {
      const point = edge.el.getPointAtLength((length * at) / 60).matrixTransform(matrix);
      for (const [node, box] of nodes) {
        if (node.scope === edge.scope && inside(point, box)) wrong.add(`${edge.id} runs over ${node.id}`);
      }
    }
  }
  for (const label of document.querySelectorAll(".wf-label")) {
    if (!label.checkVisibility()) continue;
    const scope = model.edges.get(label.dataset.edge).scope;
    for (const [node, box] of nodes) {
      if (node.scope === scope && hits(label.getBoundingClientRect(), box)) wrong.add(`the label of ${label.dataset.edge} lies over ${node.id}`);
    }
  }
  return [...wrong];
}"""


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", pytest.param("zh-hans", marks=pytest.mark.nightly)])
def test_every_sample_opens_large_enough_and_nothing_covers_anything(
    signed_in: Page, language: str
):
    page, wrong = signed_in, []
    page.goto("/samples/")
    page.context.add_cookies([{"name": "django_language", "value": language, "url": page.url}])

    for sample in SAMPLES:
        page.goto(copy_sample(page.context, sample.slug))
        ready(page)
        scale = page.evaluate("() => mnemoflow.editor.canvas.viewport.k")
        found = [] if scale >= READABLE else [f"opens at {scale:.0%}"]
        found += complaints(page, CUT, BEYOND_CARDS)
        page.evaluate(LABEL_ALL)
        expect(page.locator(".wf-edge.selected").first).to_be_attached()
        found += complaints(page, OVER_CARDS)
        wrong += [f"{sample.slug}: {complaint}" for complaint in found]

    assert wrong == []
