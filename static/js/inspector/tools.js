// The tools of an agent: a picker that adds one to the list, and what it may do with memory: a switch and a grid.
// The tool of a tool node: a picker that stores the tool with its provider.

import { setIcon } from "../common/searchable_select.js";
import { CONTROL, getItems, getPath, showValue } from "./controls.js";
import { buildOperation, parseJson, setAtPath } from "../common/json_paths.js";

export function enhance(part, inspector) {
  for (const picker of part.querySelectorAll("[data-tool-picker]")) setUpPicker(picker);
  for (const picker of part.querySelectorAll("[data-tool-choice]")) setUpChoice(picker, inspector);
  for (const grid of part.querySelectorAll("[data-memory-tools]")) setUpGrid(grid, inspector);
}

/** Add the chosen tool as a new row, which the list then saves like any other. */
function setUpPicker(picker) {
  picker.addEventListener("change", (event) => {
    event.stopPropagation();
    const list = document.getElementById(picker.dataset.toolPicker);
    const tool = parseJson(picker.value, null);
    const { dataset, text } = picker.selectedOptions[0];
    picker.value = "";
    if (!list || !tool) return;
    const blank = list.dataset.blank;
    list.dataset.blank = JSON.stringify(tool);
    list.querySelector(":scope > .insp-add").click();
    list.dataset.blank = blank;
    const row = getItems(list).at(-1);
    if (!row) return;
    for (const control of row.querySelectorAll(CONTROL)) {
      if (control.dataset.key in tool) showValue(control, tool[control.dataset.key]);
    }
    row.querySelector("[data-tool-title]").textContent = text.trim();
    row.querySelector("[data-tool-hint]").textContent = dataset.hint;
    setIcon(row.querySelector(".insp-tool-icon"), dataset.icon);
  });
}

/** Store the name, the provider and the label of the chosen tool together; the arguments of the previous tool do not fit it. */
function setUpChoice(picker, inspector) {
  picker.addEventListener("change", async (event) => {
    event.stopPropagation();
    const { form } = inspector;
    let next = form.data;
    const changes = Object.entries(parseJson(picker.value, {})).map(([key, value]) => {
      const previous = next;
      next = setAtPath(previous, [key], value);
      return buildOperation(previous, next, [key]);
    });
    if (!changes.length) return;
    await form.send(changes, next, { path: ["tool_name"], el: picker });
    await inspector.reload({ redrawn: true });
  });
}

/** The switch ticks what a new agent may do, or nothing; the grid shows it, and turns the switch on and off. */
function setUpGrid(grid, inspector) {
  const memory = grid.querySelector("[data-memory-switch]");
  if (!memory) return; // memory is off
  const boxes = [...grid.querySelectorAll("[data-scope]")];
  const initial = parseJson(grid.dataset.initial, {});
  grid.addEventListener("change", ({ target }) => {
    if (target === memory) {
      for (const box of boxes) box.checked = memory.checked && Boolean(initial[box.dataset.tool]?.includes(box.dataset.scope));
    }
    const value = {};
    for (const box of boxes) if (box.checked) (value[box.dataset.tool] ??= []).push(box.dataset.scope);
    memory.checked = Object.keys(value).length > 0;
    inspector.form.save(getPath(grid), value, { el: grid });
  });
}
