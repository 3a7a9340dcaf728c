// Puts the editor together: the canvas, the queue of edits, and the features, each in a module of its own.

import { Canvas } from "../canvas/index.js";
import * as inspector from "../inspector/main.js";
import * as align from "./align.js";
import * as announce from "./announce.js";
import * as begin from "./begin.js";
import * as checklist from "./checklist.js";
import * as clipboard from "./clipboard.js";
import * as commandPalette from "./command_palette.js";
import * as comments from "./comments.js";
import * as conflicts from "./conflicts.js";
import * as contextMenu from "./context_menu.js";
import * as dropImport from "./drop_import.js";
import * as edgeData from "./edge_data.js";
import * as find from "./find.js";
import * as focusing from "./focusing.js";
import * as history from "./history.js";
import * as keyboard from "./keyboard.js";
import * as live from "./live.js";
import * as notes from "./notes.js";
import * as outline from "./outline.js";
import * as palette from "./palette.js";
import * as picker from "./picker.js";
import * as pins from "./pins.js";
import * as presence from "./presence.js";
import * as problems from "./problems.js";
import * as runForm from "./run_form.js";
import * as runs from "./runs.js";
import * as select from "./select.js";
import * as shortcuts from "./shortcuts.js";
import * as subflow from "./subflow.js";
import * as tests from "./tests.js";
import * as topbar from "./topbar.js";
import { Commands } from "./commands.js";
import { Edits } from "./edits.js";
import { Panels } from "./panels.js";

// In the order they are installed: what others lean on comes first.
const FEATURES = [
  topbar, keyboard, palette, picker, clipboard, find, commandPalette, shortcuts, outline,
  contextMenu, align, notes, select, subflow, dropImport, announce, problems, inspector,
  history, runs, pins, runForm, edgeData, tests, live, presence, comments, conflicts, checklist, begin, focusing,
];

/** What the features share. Events: change, selection, open, run, node-state, panel. */
class Editor extends EventTarget {
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
  for (const feature of FEATURES) {
    try {
      feature.install(editor);
    } catch (error) {
      console.error(error); // one that breaks takes no other with it
    }
  }
  root.dataset.ready = "yes";
  // drawn, every listener taken, and the main thread free again
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("interactive")));
  window.mnemoflow = { editor }; // for who looks under the bonnet, and for the journeys
}
