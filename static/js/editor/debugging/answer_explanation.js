// Explains an answer right below it, so that the conversation stays in view: what the step that made the answer recalled, what
// it was asked and what it returned. The same link, a button and Escape close the explanation again.

import { fetchFragment, setContent } from "../../inspector/previews.js";
import { getNodeName } from "../graph_queries.js";
import { isNarrow } from "../panels.js";
import { t } from "../../common/translations.js";

export class AnswerExplanation {
  #box = null;
  #link = null; // the "Why?" of the explained answer
  #closing = new AbortController();

  constructor(editor, runs) {
    this.editor = editor;
    this.runs = runs;
    this.template = document.getElementById("answer-explanation");
    runs.panel.addEventListener("click", (event) => event.target.closest("[data-close-explanation]") && this.close());
    runs.panel.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** Open the explanation of an answer, or close it when it is the open one. */
  toggle(link, run) {
    const isOpen = link === this.#link && this.#box?.isConnected;
    this.close();
    if (!isOpen) this.#open(link, run);
  }

  close() {
    const hadFocus = this.#box?.contains(document.activeElement);
    this.#closing.abort();
    this.#box?.remove();
    this.#link?.setAttribute("aria-expanded", "false");
    if (hadFocus) this.#link?.focus();
    this.#box = this.#link = null;
  }

  #onKey(event) {
    if (event.key !== "Escape" || !this.#box || !event.target.closest("[data-explanation], [data-why]")) return;
    event.stopPropagation();
    this.close();
  }

  #open(link, run) {
    this.#link = link;
    this.#box = this.template.content.firstElementChild.cloneNode(true);
    this.#closing = new AbortController();
    link.setAttribute("aria-expanded", "true");
    link.closest(".chat-note").after(this.#box);
    this.#reveal();
    if (this.runs.run === run.id && !this.runs.isLive) return this.#show(run);
    const { signal } = this.#closing;
    // Who looks at something else by the time the run has ended stays there.
    const { choices } = this.editor.panels;
    const show = ({ detail }) => detail.id === run.id && this.#show(run, { isExpected: this.editor.panels.choices === choices });
    this.editor.addEventListener("run-over", show, { signal });
    return this.runs.open({ ...run, status: run.status || "succeeded" }, { focus: null });
  }

  async #show(run, { isExpected = true } = {}) {
    const box = this.#box;
    const node = this.runs.view.findAnswerStep();
    const isBeside = isExpected && !isNarrow(); // the canvas and the dock are beside the chat, and in its place on a phone
    if (isBeside) this.editor.panel("memory"); // of the whole run, each memory with its reason
    if (!node) return this.#showMessage(this.runs.message || t("No step of this run was executed."));
    if (isBeside) this.editor.canvas.reveal(node);
    const address = new URL(`nodes/${encodeURIComponent(node)}/last/`, new URL(this.editor.root.dataset.page, location.href));
    address.search = new URLSearchParams({ run: run.id, part: "explanation" });
    const html = await fetchFragment(address, this.#closing.signal).catch(() => null);
    if (box !== this.#box) return undefined; // closed meanwhile
    if (!html) return this.#showMessage(t("The explanation could not be loaded."));
    setContent(box.querySelector("[data-explanation-body]"), html);
    this.#nameNode(node);
    this.#reveal();
    return this.editor.say(t("The explanation is open below the answer."));
  }

  /** Scroll to as much of the explanation as there is room for below its link, which closes it again. */
  #reveal() {
    this.#box.scrollIntoView({ block: "nearest" });
    this.#link.scrollIntoView({ block: "nearest" });
  }

  #nameNode(node) {
    this.#box.querySelector("[data-explanation-title]").textContent = t("Answered by {node}", { node: getNodeName(this.editor, node) });
    const button = this.#box.querySelector("[data-select-node]");
    button.hidden = !this.editor.model.nodes.has(node); // it may have been deleted since
    button.dataset.selectNode = node;
  }

  #showMessage(text) {
    const message = Object.assign(document.createElement("p"), { className: "hint", textContent: text });
    this.#box.querySelector("[data-explanation-body]").replaceChildren(message);
    this.editor.say(text);
  }
}
