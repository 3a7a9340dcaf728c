// Puts the editor together: the canvas, the queue of edits, and the features, each in a module of its own.

import { Canvas } from "../canvas/index.js";
import * as align from "./canvas/align.js";
import * as announcements from "./announcements.js";
import * as cases from "./debugging/cases.js";
import * as checklist from "./checklist.js";
import * as clipboard from "./canvas/clipboard.js";
import * as commandPalette from "./commands/command_palette.js";
import * as comments from "./collaboration/comments.js";
import * as conflicts from "./collaboration/conflict_dialog.js";
import * as containers from "./canvas/containers.js";
import * as contextMenu from "./commands/context_menu.js";
import * as edgeData from "./debugging/edge_data.js";
import * as fileImport from "./canvas/file_import.js";
import * as find from "./commands/find.js";
import * as history from "./history/history.js";
import * as inspector from "../inspector/main.js";
import * as keyboard from "./commands/keyboard.js";
import * as liveUpdates from "./collaboration/live_updates.js";
import * as nodeBar from "./canvas/node_bar.js";
import * as notes from "./canvas/notes.js";
import * as outline from "./outline.js";
import * as palette from "./canvas/palette.js";
import * as picker from "./canvas/picker.js";
import * as pins from "./debugging/pins.js";
import * as presence from "./collaboration/presence.js";
import * as problems from "./debugging/problems.js";
import * as chatFields from "./debugging/chat_fields.js";
import * as runForm from "./debugging/run_form.js";
import * as runs from "./debugging/runs.js";
import * as selectionCommands from "./canvas/selection_commands.js";
import * as shortcuts from "./commands/shortcuts.js";
import * as start from "./start.js";
import * as titles from "./titles.js";
import * as topbar from "./topbar.js";
import * as viewsBefore from "./canvas/views_before.js";
import { Commands } from "./commands/commands.js";
import { Edits } from "./collaboration/edits.js";
import { Panels } from "./panels.js";

// In the order of installation: a feature comes after those it depends on.
const FEATURES = [
  topbar, keyboard, palette, picker, clipboard, find, commandPalette, shortcuts, outline,
  contextMenu, align, notes, selectionCommands, nodeBar, titles, containers, fileImport, announcements, problems, inspector,
  history, runs, pins, chatFields, runForm, edgeData, cases, liveUpdates, presence, comments, conflicts, checklist, viewsBefore, start,
];

/** The state that the features share. Events: change, selection, open, run, node-state, panel. */
class Editor extends EventTarget {
  constructor(root) {
    super();
    this.root = root;
    this.urls = JSON.parse(document.getElementById("urls").textContent);
    this.canEdit = root.dataset.canEdit === "yes";
    this.liveRegion = root.querySelector("#live-words");
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
    if (this.liveRegion) this.liveRegion.textContent = text;
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
      console.error(error); // a broken feature must not stop the others
    }
  }
  root.dataset.ready = "yes";
  // The page is drawn, all listeners are installed, and the main thread is free again.
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("interactive")));
  window.mnemoflow = { editor }; // for debugging and the journeys
}
