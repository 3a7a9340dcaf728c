// Puts the editor together: the canvas, the queue of edits, and the features, each in a module of its own.

import { Canvas } from "../canvas/index.js";
import { Commands } from "./commands.js";
import { Edits } from "./edits.js";
import { Panels } from "./panels.js";

const FEATURES = [
  "topbar", "keyboard", "palette", "picker", "clipboard", "find", "command_palette", "shortcuts", "outline", "context_menu", "align",
  "notes", "select", "subflow", "drop_import", "announce", "problems", "../inspector/main", "history", "runs", "edge_data", "tests", "live", "presence", "comments", "conflicts",
  "checklist",
];

/** What the features share. Events: change, selection, open, run, node-state, panel. */
export class Editor extends EventTarget {
  constructor(root) {
    super();
    this.root = root;
    this.urls = JSON.parse(document.getElementById("urls").textContent);
    this.canEdit = root.dataset.canEdit === "yes";
    this.live = root.querySelector("#live-words");
    this.panels = new Panels(this);
    this.commands = new Commands(this);
    this.edits = new Edits(this);
    this.canvas = new Canvas(root.querySelector("[data-canvas]"), this);
  }

  get model() {
    return this.canvas.model;
  }

  get selection() {
    return this.canvas.selection;
  }

  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  say(text) {
    if (this.live) this.live.textContent = text;
  }

  panel(name) {
    this.panels.open(name);
  }
}

const root = document.getElementById("editor");
if (root) {
  const editor = new Editor(root);
  for (const name of FEATURES) {
    try {
      (await import(`./${name}.js`)).install(editor);
    } catch (error) {
      console.warn(`editor: ${name}`, error);
    }
  }
  root.dataset.ready = "yes";
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("interactive")));
  window.mnemoflow = { editor }; // for who looks under the bonnet, and for the journeys
}
