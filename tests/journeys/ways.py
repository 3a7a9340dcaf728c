"""Three ways to build the same workflow: with a mouse, without one, and without the canvas, on a phone's width."""

from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from tests.journeys.building import END, RECALL, START, STORE, THINK, kept, type_in
from tests.journeys.editing import Draft, choose_in_menu, has_current_form
from tests.journeys.seeing import box_of, middle, steady, until


# Where the canvas has nothing that a menu could be about.
FREE_POINT = """() => {
  const canvas = document.querySelector("[data-canvas]");
  const { left, top, right, bottom } = canvas.getBoundingClientRect();
  for (let y = top + 40; y < bottom; y += 40) {
    for (let x = left + 40; x < right; x += 40) {
      const { node, edge } = mnemoflow.editor.canvas.at(x, y);
      const hit = document.elementFromPoint(x, y);
      if (!node && !edge && canvas.contains(hit) && !hit.closest("button")) return [x, y];
    }
  }
  return null;
}"""
MANY = 60  # stops of the tab key until something is surely not on its way


def settings_of(page: Page, id_: str) -> Locator:
    return page.locator(f"#panel-node [data-inspector=node][data-node='{id_}']")


def chosen(page: Page) -> str:
    """The id of the one node that is selected."""
    ids = page.evaluate("() => [...mnemoflow.editor.selection]")
    assert len(ids) == 1
    return str(ids[0])


def new_chosen(page: Page, before: str) -> str:
    until(page, lambda: page.evaluate("() => mnemoflow.editor.selection.size === 1"))
    until(page, lambda: chosen(page) != before)
    kept(page)
    return chosen(page)


def take_title(page: Page, id_: str) -> Locator:
    """Select what it is called, once its panel is drawn no more: that of a new node is, when the server has checked it."""
    name = settings_of(page, id_).locator(".insp-title")
    expect(name).to_be_visible()
    kept(page)
    until(page, lambda: has_current_form(page))
    name.click(click_count=3)
    expect(name).to_be_focused()
    return name


@dataclass
class Mouse:
    """Pressing, dragging and dropping; the keyboard is for text."""

    draft: Draft

    def build(self) -> None:
        page = self.draft.page
        self._call(self.draft.id_of_kind("start"), START)
        recall = self._drag_from_the_palette("memory-recall", 150, 100)
        self._call(recall, RECALL)
        self._draw(START, RECALL)
        think = self._draw_into_nothing(RECALL, "llm", 480, 140)
        self._call(think, THINK)
        store = self._draw_into_nothing(THINK, "memory-store", 60, 560)
        self._call(store, STORE)
        end = self._draw_into_nothing(STORE, "end", 480, 560)
        self._call(end, END)
        # the picture is put in order by the menu of the empty canvas
        x, y = steady(page, lambda: page.evaluate(FREE_POINT))
        page.mouse.click(x, y, button="right")
        choose_in_menu(page, "tidy")
        kept(page)

    def open(self, title: str) -> None:
        page, node = self.draft.page, self.draft.node(title)
        page.locator("[data-canvas] [data-tool=fit]").click()
        page.mouse.click(*middle(node.locator("b").first))
        expect(settings_of(page, str(node.get_attribute("data-id")))).to_be_visible()

    def press(self, control: Locator) -> None:
        control.click()

    def write(self, control: Locator, text: str) -> None:
        control.click()
        self.draft.page.keyboard.press("Control+a")
        type_in(self.draft.page, text)

    def choose(self, control: Locator, value: str) -> None:
        control.select_option(value)
        kept(self.draft.page)

    def _call(self, id_: str, title: str) -> None:
        page = self.draft.page
        card = page.locator(f"wf-node[data-id='{id_}']")
        page.mouse.click(*middle(card.locator("b").first))
        take_title(page, id_)
        page.keyboard.type(title)
        page.keyboard.press("Enter")
        expect(self.draft.node(title)).to_be_visible()
        kept(page)

    def _on_canvas(self, x: float, y: float) -> tuple[float, float]:
        box = box_of(self.draft.page.locator("[data-canvas]"))
        return box["x"] + x, box["y"] + y

    def _drag_from_the_palette(self, kind: str, x: float, y: float) -> str:
        page = self.draft.page
        before = chosen(page)
        page.locator(".ed-top [data-command=search-palette]").click()
        item = page.locator(f"[data-add-kind='{kind}']")
        item.scroll_into_view_if_needed()
        self._drag(middle(item), self._on_canvas(x, y))
        return new_chosen(page, before)

    def _draw(self, source: str, target: str) -> None:
        way_out = self.draft.node(source).locator(".port.out")
        way_in = self.draft.node(target).locator(".port.in")

        def draw() -> bool:
            # Where the picture moves between two looks at it, the pointer misses, and a menu offers what to add there.
            self._drag(middle(way_out), middle(way_in))
            kept(self.draft.page)
            if (source, "source", target) in self.draft.ends:
                return True
            self.draft.page.keyboard.press("Escape")
            return False

        until(self.draft.page, draw)

    def _draw_into_nothing(self, source: str, kind: str, x: float, y: float) -> str:
        page = self.draft.page
        before = chosen(page)
        self._drag(middle(self.draft.node(source).locator(".port.out")), self._on_canvas(x, y))
        self.draft.pick(kind)
        return new_chosen(page, before)

    def _drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        mouse = self.draft.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move(*end, steps=8)
        mouse.up()


@dataclass
class Keyboard:
    """No pointer at all: keys of the canvas, and the tab key through the settings."""

    draft: Draft

    def build(self) -> None:
        page = self.draft.page
        self._to_canvas()
        page.keyboard.press("Home")
        self._call(START)
        for kind, title in (
            ("memory-recall", RECALL),
            ("llm", THINK),
            ("memory-store", STORE),
            ("end", END),
        ):
            before = chosen(page)
            page.keyboard.press("a")
            self.draft.pick(kind)
            new_chosen(page, before)
            self._call(title)

    def open(self, title: str) -> None:
        page = self.draft.page
        self._to_canvas()
        page.keyboard.press("Control+k")
        self.draft.pick(title)
        expect(self.draft.node(title)).to_be_focused()
        page.keyboard.press("Enter")
        expect(settings_of(page, chosen(page)).locator(":focus")).to_be_attached()

    def press(self, control: Locator) -> None:
        self._reach(control)
        self.draft.page.keyboard.press("Space")

    def write(self, control: Locator, text: str) -> None:
        self._reach(control)
        self.draft.page.keyboard.press("Control+a")
        type_in(self.draft.page, text)
        if control.evaluate("(control) => Boolean(control.closest('[data-code]'))"):
            self.draft.page.keyboard.press("Escape")  # there the tab key indents until Escape

    def choose(self, control: Locator, value: str) -> None:
        self._reach(control)
        self.draft.page.keyboard.press("Home")
        for _ in range(MANY):
            if control.input_value() == value:
                return kept(self.draft.page)
            self.draft.page.keyboard.press("ArrowDown")
        raise AssertionError(f"{control} has no {value}")

    def _reach(self, control: Locator) -> None:
        page = self.draft.page
        expect(control).to_be_visible()
        for _ in range(MANY):
            if control.evaluate("(control) => control === document.activeElement"):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"The tab key doesn't come to {control}")

    def _to_canvas(self) -> None:
        page = self.draft.page
        for _ in range(MANY):
            if page.evaluate("() => Boolean(document.activeElement.closest('[data-canvas]'))"):
                return
            page.keyboard.press("F6")
        raise AssertionError("F6 doesn't come to the canvas")

    def _call(self, title: str) -> None:
        page = self.draft.page
        page.keyboard.press("F2")
        page.keyboard.press("Control+a")
        page.keyboard.type(title)
        page.keyboard.press("Enter")
        expect(self.draft.node(title)).to_be_focused()
        kept(page)


@dataclass
class Outline:
    """As on a phone: the list of nodes, what can be done with each, and its settings."""

    draft: Draft

    def build(self) -> None:
        page = self.draft.page
        page.set_viewport_size({"width": 390, "height": 844})
        self._call(self.draft.id_of_kind("start"), START)
        for after, kind, title in (
            (START, "memory-recall", RECALL),
            (RECALL, "llm", THINK),
            (THINK, "memory-store", STORE),
            (THINK, "end", END),
        ):
            known = set(self.draft.titles)
            self._do(after, "add-after")
            self.draft.pick(kind)
            until(page, lambda known=known: set(self.draft.titles) - known)
            (new,) = set(self.draft.titles) - known
            self._call(new, title)
        # the end was to come after what is stored
        self._do(STORE, "connect")
        self.draft.pick(END)
        kept(page)
        self._do(THINK, "disconnect")
        self.draft.pick(END)
        kept(page)

    def open(self, title: str) -> None:
        self._do(title, "open")
        expect(self.draft.page.locator("#panel-node .insp-title")).to_have_value(title)

    def press(self, control: Locator) -> None:
        control.click()

    def write(self, control: Locator, text: str) -> None:
        control.click()
        self.draft.page.keyboard.press("Control+a")
        type_in(self.draft.page, text)

    def choose(self, control: Locator, value: str) -> None:
        control.select_option(value)
        kept(self.draft.page)

    def _row(self, title: str) -> Locator:
        return self.draft.page.locator(f'#outline [data-row]:has(b:text-is("{title}"))')

    def _do(self, title: str, command: str) -> None:
        self._in_row(self._row(title), command)

    def _in_row(self, row: Locator, command: str) -> None:
        page = self.draft.page
        page.locator(".ed-bar [data-view=outline]").click()
        row.locator("[data-more]").click()
        choose_in_menu(page, command)

    def _call(self, id_: str, title: str) -> None:
        page = self.draft.page
        self._in_row(page.locator(f"#outline [data-row='{id_}']"), "open")
        name = take_title(page, id_)
        page.keyboard.type(title)
        expect(name).to_have_value(title)
        page.keyboard.press("Enter")
        page.locator(".ed-bar [data-view=outline]").click()
        expect(self._row(title)).to_be_visible()
        kept(page)
