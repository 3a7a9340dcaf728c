// Keeps what somebody is typing in a part of the page that is loaded again.

const FIELDS = ["textarea", "input:not([type=hidden], [type=checkbox], [type=radio], [type=file])"].join();

/** Replace the content of a container; unsent texts stay, as do the focus, the caret, and what was opened around them. */
export function replaceAroundTypedTexts(container, replace) {
  const focused = container.contains(document.activeElement) ? document.activeElement : null;
  const caret = focused?.matches(FIELDS) ? [focused.selectionStart, focused.selectionEnd] : null;
  const fields = [...container.querySelectorAll(FIELDS)].filter((field) => field === focused || field.value !== field.defaultValue);
  replace();
  for (const field of fields) restoreText(container, field);
  if (!focused || focused.isConnected) return;
  const field = findSame(container, focused);
  field?.focus({ preventScroll: true });
  if (caret?.[0] != null) field?.setSelectionRange(...caret);
}

function restoreText(container, typed) {
  const field = findSame(container, typed);
  if (!field || field === typed) return;
  field.value = typed.value;
  const section = field.closest("details");
  if (section && container.contains(section)) section.open = true;
}

function findSame(container, { id, name }) {
  if (!id && !name) return null;
  return container.querySelector(id ? `#${CSS.escape(id)}` : `[name="${CSS.escape(name)}"]`);
}
