// The reasoning of a model may come between tags in its text; it is never shown as it comes.

const OPEN = "<think>";
const REASONING = /<think>[^]*?(?:<\/think>\s*|$)/g;

/** Return a streamed text without its reasoning, nor a part of a tag at its end that the next piece may complete. */
export function hideReasoning(text) {
  const visible = text.includes(OPEN) ? text.replace(REASONING, "") : text;
  const start = visible.lastIndexOf("<");
  return start !== -1 && OPEN.startsWith(visible.slice(start)) ? visible.slice(0, start) : visible;
}

/** Return whether a streamed text has, or may soon have, reasoning in it. */
export function mayHoldReasoning(text) {
  const start = text.lastIndexOf("<");
  return text.includes(OPEN) || (start !== -1 && OPEN.startsWith(text.slice(start)));
}
