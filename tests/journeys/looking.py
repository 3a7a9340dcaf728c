"""What is wrong with a page for people who look at it, or who can't: asked in the page itself."""

from collections.abc import Sequence

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Frame, Page


# Each answers a list of complaints. Functions, not strings to evaluate: the pages' policy forbids eval.
OVERFLOW = """() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  return scrollWidth > clientWidth ? [`${scrollWidth} px of content in ${clientWidth} px`] : [];
}"""

# Text that is cut at the side, or that sticks out of its card: by the box of each text, not of its element. What ends in an
# ellipsis, or can be scrolled to, is neither.
CUT = """() => {
  const found = new Set();
  const read = new Map(); // each box once: all texts below it ask for it
  const boxOf = (e) => {
    if (!read.has(e)) read.set(e, readBox(e));
    return read.get(e);
  };
  const readBox = (e) => {
    const { overflowX, position, clipPath, textOverflow } = getComputedStyle(e);
    const cuts = ["hidden", "clip"].includes(overflowX);
    return {
      // What lies above the page, or is there for screen readers only, is in no box of the page.
      isLast: ["auto", "scroll"].includes(overflowX) || position === "fixed" || clipPath !== "none" || (cuts && textOverflow === "ellipsis"),
      holds: cuts || e.matches(".card, .page"),
      sides: e.getBoundingClientRect(),
    };
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (e.closest(".visually-hidden, .skip, template, option, svg, [data-canvas], [aria-hidden=true], .table-stack > thead")) continue;
    range.selectNodeContents(walker.currentNode);
    const text = range.getBoundingClientRect();
    if (!text.width || !text.height) continue;
    for (let box = e; box; box = box.parentElement) {
      const { isLast, holds, sides } = boxOf(box);
      if (isLast) break;
      if (holds && (text.right > sides.right + 1 || text.left < sides.left - 1)) {
        found.add(`cut or sticking out of ${box.tagName}.${box.className}: ${walker.currentNode.textContent.trim().slice(0, 40)}`);
        break;
      }
    }
  }
  return [...found];
}"""

# All pages begin and end at the same places: the content of the main part, up to one width. The chat fills all of it.
GUTTER = """() => {
  const page = document.querySelector(".main > .page:not(.page-talk)");
  if (!page) return [];
  const main = page.parentElement;
  const style = getComputedStyle(main);
  const box = main.getBoundingClientRect();
  const left = box.left + parseFloat(style.paddingLeft);
  const right = box.right - parseFloat(style.paddingRight);
  const width = Math.min(1240, right - left);
  const expected = [(left + right - width) / 2, (left + right + width) / 2].map(Math.round);
  const { left: from, right: to } = page.getBoundingClientRect();
  return Math.abs(from - expected[0]) > 1 || Math.abs(to - expected[1]) > 1 ? [`${from} to ${to} instead of ${expected.join(" to ")}`] : [];
}"""

HEADINGS = """() => {
  const found = [...document.querySelectorAll("h1")].filter((h) => h.checkVisibility());
  return found.length === 1 ? [] : [`${found.length} first headings`];
}"""

# By what is shown, if only to a screen reader: a word that a narrow page hides names nothing.
NAMELESS = """() => {
  const shown = (e) => {
    const walker = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    let text = "";
    while (walker.nextNode()) {
      const at = walker.currentNode.parentElement;
      if (at.checkVisibility() && !at.closest("[aria-hidden=true]")) text += walker.currentNode.textContent;
    }
    return text;
  };
  const named = (e) => {
    const by = (e.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean);
    const texts = [
      e.getAttribute("aria-label"),
      ...by.map((id) => document.getElementById(id)?.textContent),
      ...[...(e.labels ?? [])].map((label) => label.textContent),
    ];
    return texts.some((text) => text?.trim()) || (e.matches("button, a, summary") && shown(e).trim());
  };
  const controls = "button, a[href], summary, input:not([type=hidden]), select, textarea";
  return [...document.querySelectorAll(controls)]
    .filter((e) => e.checkVisibility() && !named(e))
    .map((e) => e.outerHTML.slice(0, 160));
}"""

# What a control says it has opened, chosen or pressed is what is seen of it.
STATES = """() => {
  const wrong = [];
  const check = (e, name, isSo) => {
    if (e.checkVisibility() && (e.getAttribute(name) === "true") !== isSo) wrong.push(`${name} is not so: ${e.outerHTML.slice(0, 160)}`);
  };
  const part = (e) => document.getElementById(e.getAttribute("aria-controls"));
  for (const tab of document.querySelectorAll("[role=tab][aria-controls]")) if (part(tab)) check(tab, "aria-selected", !part(tab).hidden);
  for (const e of document.querySelectorAll("[aria-expanded][aria-controls]")) if (part(e)) check(e, "aria-expanded", part(e).checkVisibility());
  for (const list of document.querySelectorAll("[role=tablist]")) {
    const chosen = list.querySelectorAll("[role=tab][aria-selected=true]").length;
    if (chosen !== 1) wrong.push(`${chosen} chosen of ${list.outerHTML.slice(0, 160)}`);
  }
  const editor = document.getElementById("editor")?.dataset ?? {};
  for (const e of document.querySelectorAll("[data-toggle][aria-expanded]")) check(e, "aria-expanded", editor[e.dataset.toggle] === "open");
  for (const e of document.querySelectorAll(".ed-bar [data-view]")) check(e, "aria-pressed", editor.view === e.dataset.view);
  return wrong;
}"""

# A menu whose panel lies beside the screen once it is opened.
MENUS = """async () => {
  const { clientWidth } = document.documentElement;
  const wrong = [];
  for (const menu of document.querySelectorAll("details.menu:not([open])")) {
    const panel = menu.querySelector(":scope > .menu-panel");
    if (!panel || !menu.checkVisibility()) continue;
    const toggled = new Promise((resolve) => menu.addEventListener("toggle", resolve, { once: true }));
    menu.open = true;
    await toggled;
    const { left, right } = panel.getBoundingClientRect();
    menu.open = false;
    if (left < -1 || right > clientWidth + 1) wrong.push(`a menu from ${left} to ${right}: ${menu.outerHTML.slice(0, 160)}`);
  }
  return wrong;
}"""

# Options of menus that show a value of the program, such as a dict of Python, instead of a word for people.
OPTIONS = r"""() => [...document.querySelectorAll("option")]
  .map((e) => e.textContent.trim())
  .filter((text) => /^[[{(]|['"]\w*['"]\s*[:,\]]|^(True|False)$|object at 0x/.test(text))
  .map((text) => `option ${text}`)"""

IDS = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  return ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `#${id} twice`);
}"""

# WCAG AA on text whose own or inherited background is a plain colour. A text of the inspector is drawn in two layers: what
# has no colour in one of them is read in the other, which is measured though screen readers don't hear it.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const once = (read, known = new Map()) => (what) => {
    if (!known.has(what)) known.set(what, read(what));
    return known.get(what);
  };
  const rgba = once((colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  });
  const channel = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const over = (top, under) => {
    const a = top[3] / 255;
    return [0, 1, 2].map((i) => top[i] * a + under[i] * (1 - a));
  };
  const ground = rgba(getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "Canvas" : "#fff");
  const behind = once((e) => {
    if (!e) return ground;
    const style = getComputedStyle(e);
    if (style.backgroundImage !== "none") return null;
    const colour = rgba(style.backgroundColor);
    const under = colour[3] === 255 ? ground : behind(e.parentElement);
    return under && colour[3] ? over(colour, under) : under;
  });
  const isUncoloured = (e) => rgba(getComputedStyle(e).color)[3] === 0;
  const isReadInOtherLayer = (e) => {
    const layers = e.closest(".insp-paper")?.querySelectorAll(":scope > pre, :scope > textarea");
    return Boolean(layers) && isUncoloured(e) && ![...layers].every(isUncoloured);
  };
  const wrong = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (e.closest("[disabled], .visually-hidden, .skip, template, [aria-hidden=true]:not(.insp-paper > pre)") || isReadInOtherLayer(e)) continue;
    const style = getComputedStyle(e);
    const under = behind(e);
    if (!under) continue;
    const [a, b] = [light(over(rgba(style.color), under)), light(under)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) wrong.add(`${ratio.toFixed(2)} ${e.tagName}.${e.className}: ${walker.currentNode.textContent.trim().slice(0, 30)}`);
  }
  return [...wrong];
}"""

# What a finger presses, on a screen that is touched: by the cell or the label of a box that is ticked, and by what lies around
# a small sign to be hit. A link within a sentence is as high as its line.
FINGER = """() => {
  const least = 44;
  const sizeOf = (e) => {
    const { width, height } = e.getBoundingClientRect();
    return [width, height];
  };
  const around = (e) => ["::before", "::after"].map((name) => getComputedStyle(e, name)).filter(({ content, position }) => content !== "none" && position === "absolute");
  const found = new Set();
  for (const e of document.querySelectorAll("button, summary, select, textarea, input:not([type=hidden]), a[href], [role=button], [role=tab], [role=menuitem], [role=option]")) {
    if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || e.closest(".visually-hidden, .skip, [data-canvas], svg, [inert]")) continue;
    const style = getComputedStyle(e);
    if (style.display === "inline" || e.matches(".link, a.pill, .crumbs a, .copy-id")) continue;
    const boxes = [e, ...(e.labels ?? [])].map(sizeOf);
    for (const { width, height } of around(e)) boxes.push([parseFloat(width), parseFloat(height)]);
    const [width, height] = [0, 1].map((side) => Math.max(...boxes.map((box) => box[side])));
    if (width && height && (width < least - 0.5 || height < least - 0.5)) {
      found.add(`too small for a finger: ${e.localName}.${e.className} ${(e.ariaLabel ?? e.textContent).trim().slice(0, 30)} ${Math.round(width)} x ${Math.round(height)}`);
    }
  }
  return [...found];
}"""

# What looks the same when the keyboard is on it as when it isn't; a ring may be drawn around the box it stands in. Most have
# a ring of their own: those aren't looked at twice, since the browser works out the whole page's styles for each look.
UNSEEN_FOCUS = """() => {
  const of = (e) => {
    const s = getComputedStyle(e);
    return [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow, s.borderColor].join();
  };
  const look = (e) => [e, e.parentElement, e.parentElement?.parentElement].filter(Boolean).map(of).join(";");
  const controls = "button, a[href], summary, input:not([type=hidden]), select, textarea, [tabindex='0']";
  const hasRing = (e) => getComputedStyle(e).outlineStyle !== "none" && parseFloat(getComputedStyle(e).outlineWidth) > 0;
  const focus = (e) => e.focus({ focusVisible: true, preventScroll: true });
  const wrong = new Set();
  document.activeElement?.blur();
  for (const e of document.querySelectorAll(controls)) {
    if (!e.checkVisibility() || e.disabled) continue;
    const hadRing = hasRing(e);
    focus(e);
    if (document.activeElement !== e || (!hadRing && hasRing(e))) continue;
    e.blur();
    const before = look(e);
    focus(e);
    if (document.activeElement === e && look(e) === before) wrong.add(e.outerHTML.slice(0, 160));
  }
  document.activeElement?.blur();
  return [...wrong];
}"""


def complaints(page: Page, *checks: str) -> list[str]:
    """Of all checks in one question: each is answered only when the browser has time for it."""
    one_by_one = "for (const check of checks) found.push(...(await check()));"
    question = f"async () => {{ const checks = [{', '.join(checks)}], found = []; {one_by_one} return found; }}"
    return list(page.evaluate(question))


# A rule says itself how serious its findings are. Those whose findings don't count aren't asked, and some take long.
AXE = """async ([rules, leftOut]) => {
  const only = rules.length ? { runOnly: { type: "rule", values: rules } } : {};
  const slight = axe._audit.rules.filter(({ impact }) => ["minor", "moderate"].includes(impact)).map(({ id }) => id);
  const off = Object.fromEntries([...slight, ...leftOut].map((rule) => [rule, { enabled: false }]));
  const { violations } = await axe.run(document, { ...only, rules: off, resultTypes: ["violations"] });
  return violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `axe ${id}: ${target.join(" ")} ${failureSummary.slice(0, 240)}`));
}"""
# All of its rules that ask for colours: what may change when it gets dark.
COLOURS = ("color-contrast", "link-in-text-block")


def shut_out(page: Page | Frame, *rules: str, without: Sequence[str] = ()) -> list[str]:
    """What axe-core says keeps somebody out: its serious and critical findings, by these rules or by all but some."""
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(f"() => {{ {AXE_SCRIPT} }}")
    return list(page.evaluate(AXE, [rules, without]))
