// The comments panel and the counts on cards. Unsent text survives every refresh.

import { getNodeName } from "../graph_queries.js";
import { t } from "../../common/translations.js";

export function install(editor) {
  const panel = editor.root.querySelector("#panel-comments");
  if (!panel) return;
  const comments = new Comments(editor, panel);
  editor.addEventListener("selection", () => comments.showSelection());
  editor.addEventListener("panel", ({ detail: { name } }) => name === "comments" && comments.showSelection());
  editor.addEventListener("comment", ({ detail }) => comments.onComment(detail));
  editor.addEventListener("change", () => comments.updateBadges());
  editor.commands.add({ id: "comment", label: t("Comment on selected node"), keys: "Mod+Alt+M", group: "panels", run: () => comments.startComment() });
  comments.refresh();
  comments.openLinked();
}

class Comments {
  #counts = {};
  #request = null;
  #showsAll = false;

  constructor(editor, panel) {
    this.editor = editor;
    this.panel = panel;
    panel.addEventListener("submit", (event) => this.#onSubmit(event));
    panel.addEventListener("click", (event) => this.#onClick(event));
    panel.addEventListener("keydown", (event) => this.#onKey(event));
    panel.addEventListener("input", (event) => this.#suggest(event.target));
  }

  /** Return the selected node, or null when the comments of the whole workflow are shown. */
  get node() {
    if (this.#showsAll) return null;
    const selected = [...this.editor.selection].filter((id) => this.editor.model.nodes.has(id));
    return selected.length === 1 ? selected[0] : null;
  }

  showSelection() {
    this.#showsAll = false;
    if (!this.panel.hidden) this.refresh();
  }

  startComment() {
    this.#showsAll = false;
    this.editor.panel("comments");
    this.refresh().then(() => this.panel.querySelector("#comment-new")?.focus());
  }

  /** Show the comment that the address names, as the list of mentions does. */
  openLinked() {
    const id = /^#(comment-[\w-]+)$/.exec(location.hash)?.[1];
    if (!id) return;
    this.#showsAll = true;
    this.editor.panels.open("comments");
    this.#showsAll = true;
    this.refresh().then(() => document.getElementById(id)?.scrollIntoView({ block: "center" }));
  }

  onComment({ what, by, mentions, node }) {
    this.refresh();
    if (what !== "created" || !mentions?.includes(this.editor.root.dataset.me)) return;
    this.editor.say(node ? t("{who} mentioned you in a comment on {node}.", { who: by, node: getNodeName(this.editor, node) }) : t("{who} mentioned you in a comment.", { who: by }));
  }

  async refresh() {
    this.#request?.abort();
    this.#request = new AbortController();
    this.#setLocked(true);
    try {
      const response = await fetch(this.#url(this.editor.urls.comments), { signal: this.#request.signal, redirect: "manual", headers: { "HX-Request": "true" } });
      if (response.ok) this.#show(await response.text());
    } catch {
      // replaced by a newer request, or offline: the present list stays
    }
    if (!this.#request.signal.aborted) this.#setLocked(false);
  }

  /** Lock the fields while the panel still shows the comments of another node. */
  #setLocked(isLocked) {
    const list = this.panel.querySelector("[data-comments]");
    const isForOtherNode = list && this.node !== null && list.dataset.node !== this.node;
    for (const area of this.panel.querySelectorAll("form[data-comment-form] textarea")) area.disabled = Boolean(isLocked && isForOtherNode);
  }

  #url(path) {
    const url = new URL(path, location.href);
    if (this.node !== null) url.searchParams.set("node", this.node);
    return url;
  }

  #show(html, sentForm = null) {
    const drafts = this.#drafts(sentForm);
    const top = this.panel.scrollTop;
    this.panel.replaceChildren(document.createRange().createContextualFragment(html));
    this.#restore(drafts);
    this.panel.scrollTop = top;
    this.#counts = JSON.parse(this.panel.querySelector("#comment-counts")?.textContent ?? "{}");
    this.updateBadges();
  }

  /** Return unsent texts by their form, and the position of the caret. */
  #drafts(sentForm) {
    const texts = {};
    for (const area of this.panel.querySelectorAll("form[data-comment-form] textarea")) {
      const { commentForm } = area.form.dataset;
      if (commentForm !== sentForm && area.value !== area.defaultValue) texts[commentForm] = area.value;
    }
    const focused = this.panel.contains(document.activeElement) ? document.activeElement : null;
    const open = [...this.panel.querySelectorAll("details[open][data-keep-open]")].map((el) => el.dataset.keepOpen);
    return { texts, open: open.filter((name) => name !== sentForm), focus: focused?.id, caret: focused?.selectionStart };
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

  async #onSubmit(event) {
    const form = event.target.closest("form[data-comment-form]");
    if (!form || event.defaultPrevented) return;
    event.preventDefault();
    if (form.dataset.confirm && event.returnValue === false) return;
    const button = form.querySelector("[type=submit]");
    button.disabled = true;
    try {
      const response = await fetch(this.#url(form.action), { method: "POST", body: new FormData(form), redirect: "manual", headers: { "X-CSRFToken": JSON.parse(document.body.getAttribute("hx-headers:inherited"))["X-CSRFToken"], "HX-Request": "true" } });
      if (response.ok) this.#show(await response.text(), form.dataset.commentForm);
      else if (response.status === 422) this.#show(await response.text());
      else this.editor.say(t("The comment could not be saved."));
    } catch {
      this.editor.say(t("You are offline. The comment was not saved and stays in the field."));
    } finally {
      button.disabled = false;
    }
  }

  #onClick(event) {
    if (event.target.closest("[data-comments-all]")) {
      this.#showsAll = true;
      this.refresh();
    }
    const jump = event.target.closest("[data-comment-jump]")?.dataset.commentJump;
    if (!jump) return;
    this.editor.canvas.pick([jump]);
    this.editor.canvas.reveal(jump);
  }

  #onKey(event) {
    if (this.#onMentionKey(event)) return event.preventDefault();
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const form = event.target.closest("form[data-comment-form]");
    if (!form) return;
    event.preventDefault(); // prevents the shortcut that runs the workflow
    form.requestSubmit();
  }

  /** After "@", suggest the names of team members. */
  #suggest(area) {
    const typed = area.value?.slice(0, area.selectionStart).match(/@([\p{L}\p{N} ._-]{0,40})$/u)?.[1];
    const box = area.form?.querySelector(".tg-mentions");
    box?.remove();
    if (typed === undefined) return;
    const people = JSON.parse(this.panel.querySelector("#comment-people")?.textContent ?? "[]");
    const matches = people.filter((name) => name.toLowerCase().startsWith(typed.toLowerCase()) && name !== typed).slice(0, 5);
    if (!matches.length) return;
    const list = Object.assign(document.createElement("div"), { className: "tg-mentions row" });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", t("Team members"));
    for (const name of matches) {
      const pick = Object.assign(document.createElement("button"), { type: "button", className: "button button-s", textContent: `@${name}`, tabIndex: -1 });
      pick.setAttribute("role", "option");
      pick.setAttribute("aria-selected", String(name === matches[0]));
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

  /** Choose a name with the arrows, take it with Enter or Tab, close the list with Escape. */
  #onMentionKey(event) {
    const list = event.target.form?.querySelector(".tg-mentions");
    if (!list || event.isComposing || event.ctrlKey || event.metaKey) return false;
    const options = [...list.children];
    const index = options.findIndex((option) => option.ariaSelected === "true");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const next = (index + step + options.length) % options.length;
      options.forEach((option, position) => (option.ariaSelected = String(position === next)));
      this.editor.say(options[next].textContent);
    } else if (event.key === "Enter" || event.key === "Tab") options[index].click();
    else if (event.key === "Escape") {
      list.remove();
      event.stopPropagation();
    } else return false;
    return true;
  }

  /** Show the number of comments on each card; the badge lies beside the card, which belongs to the server. */
  updateBadges() {
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
          this.startComment();
        });
        el.append(badge);
      }
      badge.textContent = String(count);
      badge.title = t("Comments: {n}", { n: count });
      badge.setAttribute("aria-label", t("Comments: {n}", { n: count }));
    }
  }
}
