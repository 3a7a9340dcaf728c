// The comments panel and the counts on cards. What somebody is writing survives every refresh.

import { nameOf } from "./graph.js";
import { t } from "./words.js";

export function install(editor) {
  const panel = editor.root.querySelector("#panel-comments");
  if (!panel) return;
  const talk = new Talk(editor, panel);
  editor.addEventListener("selection", () => talk.look());
  editor.addEventListener("panel", ({ detail: { name } }) => name === "comments" && talk.look());
  editor.addEventListener("comment", ({ detail }) => talk.heard(detail));
  editor.addEventListener("change", () => talk.badges());
  editor.commands.add({ id: "comment", label: t("Comment on the chosen node"), keys: "Mod+Alt+M", group: "panels", run: () => talk.begin() });
  talk.refresh();
}

class Talk {
  #counts = {};
  #asked = null;
  #wholeList = false;

  constructor(editor, panel) {
    this.editor = editor;
    this.panel = panel;
    panel.addEventListener("submit", (event) => this.#submit(event));
    panel.addEventListener("click", (event) => this.#click(event));
    panel.addEventListener("keydown", (event) => this.#key(event));
    panel.addEventListener("input", (event) => this.#suggest(event.target));
  }

  /** null: everything that is said of the workflow; else one node. */
  get node() {
    if (this.#wholeList) return null;
    const chosen = [...this.editor.selection].filter((id) => this.editor.model.nodes.has(id));
    return chosen.length === 1 ? chosen[0] : null;
  }

  look() {
    this.#wholeList = false;
    if (!this.panel.hidden) this.refresh();
  }

  begin() {
    this.#wholeList = false;
    this.editor.panel("comments");
    this.refresh().then(() => this.panel.querySelector("#comment-new")?.focus());
  }

  heard({ what, by, mentions, node }) {
    this.refresh();
    if (what !== "created" || !mentions?.includes(this.editor.root.dataset.me)) return;
    this.editor.say(node ? t("{who} mentions you in a comment on {node}.", { who: by, node: nameOf(this.editor, node) }) : t("{who} mentions you in a comment.", { who: by }));
  }

  async refresh() {
    this.#asked?.abort();
    this.#asked = new AbortController();
    this.#hold(true);
    try {
      const answer = await fetch(this.#url(this.editor.urls.comments), { signal: this.#asked.signal, redirect: "manual", headers: { "HX-Request": "true" } });
      if (answer.ok) this.#show(await answer.text());
    } catch {
      // gone for something newer, or offline: what is shown stays
    }
    if (!this.#asked.signal.aborted) this.#hold(false);
  }

  /** What is shown is about another node than the chosen one: nothing is written there until that one's is here. */
  #hold(isHeld) {
    const shown = this.panel.querySelector("[data-comments]");
    const isOther = shown && this.node !== null && shown.dataset.node !== this.node;
    for (const area of this.panel.querySelectorAll("form[data-comment-form] textarea")) area.disabled = Boolean(isHeld && isOther);
  }

  #url(path) {
    const url = new URL(path, location.href);
    if (this.node !== null) url.searchParams.set("node", this.node);
    return url;
  }

  #show(html, sent = null) {
    const kept = this.#drafts(sent);
    const top = this.panel.scrollTop;
    this.panel.replaceChildren(document.createRange().createContextualFragment(html));
    this.#restore(kept);
    this.panel.scrollTop = top;
    this.#counts = JSON.parse(this.panel.querySelector("#comment-counts")?.textContent ?? "{}");
    this.badges();
  }

  /** Texts that were begun, by the form they stand in, and where the caret is. */
  #drafts(sent) {
    const texts = {};
    for (const area of this.panel.querySelectorAll("form[data-comment-form] textarea")) {
      const { commentForm } = area.form.dataset;
      if (commentForm !== sent && area.value !== area.defaultValue) texts[commentForm] = area.value;
    }
    const focused = this.panel.contains(document.activeElement) ? document.activeElement : null;
    const open = [...this.panel.querySelectorAll("details[open][data-keep-open]")].map((el) => el.dataset.keepOpen);
    return { texts, open: open.filter((name) => name !== sent), focus: focused?.id, caret: focused?.selectionStart };
  }

  #restore({ texts, open, focus, caret }) {
    for (const name of open) this.panel.querySelector(`details[data-keep-open="${CSS.escape(name)}"]`)?.setAttribute("open", "");
    for (const [name, text] of Object.entries(texts)) {
      const area = this.panel.querySelector(`form[data-comment-form="${CSS.escape(name)}"] textarea`);
      if (area) area.value = text;
    }
    const field = focus && document.getElementById(focus);
    field?.focus({ preventScroll: true });
    if (field && caret != null) field.setSelectionRange?.(caret, caret);
    if (field?.matches("textarea")) this.#suggest(field);
  }

  async #submit(event) {
    const form = event.target.closest("form[data-comment-form]");
    if (!form || event.defaultPrevented) return;
    event.preventDefault();
    if (form.dataset.confirm && event.returnValue === false) return;
    const button = form.querySelector("[type=submit]");
    button.disabled = true;
    try {
      const answer = await fetch(this.#url(form.action), { method: "POST", body: new FormData(form), redirect: "manual", headers: { "X-CSRFToken": JSON.parse(document.body.getAttribute("hx-headers:inherited"))["X-CSRFToken"], "HX-Request": "true" } });
      if (answer.ok) this.#show(await answer.text(), form.dataset.commentForm);
      else if (answer.status === 422) this.#show(await answer.text());
      else this.editor.say(t("The comment wasn't saved."));
    } catch {
      this.editor.say(t("The comment wasn't saved: there is no connection. It stays in its field."));
    } finally {
      button.disabled = false;
    }
  }

  #click(event) {
    if (event.target.closest("[data-comments-all]")) {
      this.#wholeList = true;
      this.refresh();
    }
    const jump = event.target.closest("[data-comment-jump]")?.dataset.commentJump;
    if (!jump) return;
    this.editor.canvas.pick([jump]);
    this.editor.canvas.reveal(jump);
  }

  #key(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const form = event.target.closest("form[data-comment-form]");
    if (!form) return;
    event.preventDefault(); // elsewhere on the page the same keys run the workflow
    form.requestSubmit();
  }

  /** After "@": the team's names, as a list the browser completes from. */
  #suggest(area) {
    const typed = area.value?.slice(0, area.selectionStart).match(/@([\p{L}\p{N} ._-]{0,40})$/u)?.[1];
    const box = area.form?.querySelector(".tg-mentions");
    box?.remove();
    if (typed === undefined) return;
    const people = JSON.parse(this.panel.querySelector("#comment-people")?.textContent ?? "[]");
    const fitting = people.filter((name) => name.toLowerCase().startsWith(typed.toLowerCase()) && name !== typed).slice(0, 5);
    if (!fitting.length) return;
    const list = Object.assign(document.createElement("div"), { className: "tg-mentions row" });
    for (const name of fitting) {
      const pick = Object.assign(document.createElement("button"), { type: "button", className: "button button-s", textContent: `@${name}` });
      pick.addEventListener("click", () => {
        const from = area.selectionStart - typed.length;
        area.setRangeText(`${name} `, from, area.selectionStart, "end");
        list.remove();
        area.focus();
      });
      list.append(pick);
    }
    area.after(list);
  }

  /** How much is said about each node, on its card; the card itself is the server's, so it hangs beside it. */
  badges() {
    for (const { id, el } of this.editor.model.nodes.values()) {
      const count = this.#counts[id] ?? 0;
      let badge = el.querySelector(":scope > .tg-count");
      if (!count) {
        badge?.remove();
        continue;
      }
      if (!badge) {
        badge = Object.assign(document.createElement("button"), { type: "button", className: "tg-count", tabIndex: -1 });
        badge.addEventListener("click", () => {
          this.editor.canvas.pick([id]);
          this.begin();
        });
        el.append(badge);
      }
      badge.textContent = String(count);
      badge.title = t("Comments: {n}", { n: count });
      badge.setAttribute("aria-label", t("Comments: {n}", { n: count }));
    }
  }
}
