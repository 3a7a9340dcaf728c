// The name of an input is derived from its label while that is typed, unless the input has a name already: others may read it.

const LABEL = "[data-names]";

export function watch(inspector) {
  const { root } = inspector;
  let label = null; // the one that is being typed into, of an input without a name
  root.addEventListener("focusin", ({ target }) => {
    label = target.matches(LABEL) && !findName(target)?.value.trim() ? target : null;
  });
  root.addEventListener("input", ({ target }) => {
    if (target !== label || !inspector.editor.canEdit) return;
    const name = findName(target);
    name.value = deriveName(target.value, listOtherNames(name));
    name.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

/** Return a label as an identifier that no other input has: "Order number" is order_number. */
export function deriveName(text, others) {
  const words = text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  const base = words.replace(/[^a-z0-9]+/g, "_").replace(/^[_0-9]+|_+$/g, "").slice(0, 30) || (text.trim() && "input");
  let name = base;
  for (let number = 2; name && others.includes(name); number += 1) name = `${base}_${number}`;
  return name;
}

const findName = (label) => label.closest("[data-item]").querySelector(`[data-key="${label.dataset.names}"]`);

function listOtherNames(name) {
  const all = name.closest("[data-list]").querySelectorAll(`:scope > [data-item] [data-key="${name.dataset.key}"]`);
  return [...all].filter((other) => other !== name).map((other) => other.value.trim());
}
