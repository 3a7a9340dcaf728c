// Resolves the design tokens to colours for a bitmap: a custom property holds `light-dark(…)`, which only an element
// resolves.

const NAMES = ["page", "panel", "panel-2", "line", "line-strong", "ink", "ink-2", "ink-3", "accent", "run", "warn", "memory", "data", "ok", "bad"];
const OF_FAMILY = { flow: "accent", model: "run", logic: "warn", memory: "memory", data: "data" };

export class Palette extends EventTarget {
  #colours = null;

  constructor(root) {
    super();
    this.probe = document.createElement("span");
    this.probe.hidden = true;
    root.append(this.probe);
    const forget = () => {
      this.#colours = null;
      this.dispatchEvent(new Event("change"));
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", forget);
    new MutationObserver(forget).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  /** @returns {Record<string, string>} */
  get colours() {
    return (this.#colours ??= Object.fromEntries(
      NAMES.map((name) => {
        this.probe.style.color = `var(--${name})`;
        return [name, getComputedStyle(this.probe).color];
      }),
    ));
  }

  /** Return the colour of a card's family, the same as its icon. */
  colourOf(node) {
    node.family ??= node.el.querySelector(":scope > .wf-card")?.className.match(/wf-(flow|model|logic|memory|data)/)?.[1] ?? "none";
    return this.colours[OF_FAMILY[node.family] ?? "ink-3"];
  }
}
