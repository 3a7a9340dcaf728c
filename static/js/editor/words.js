// What the scripts say: English in the code, the page brings the translations.

const given = document.getElementById("words");
const words = given ? JSON.parse(given.textContent) : {};

/**
 * @param {string} text English, with {names} for what is filled in
 * @param {Record<string, unknown>} [values]
 */
export function t(text, values = {}) {
  return (words[text] ?? text).replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}
