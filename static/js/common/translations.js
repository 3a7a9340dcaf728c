// Translates the texts of the scripts: the code holds the English text, the page brings the translations.

const element = document.getElementById("words");
const translations = element ? JSON.parse(element.textContent) : {};

/**
 * @param {string} text English, with {names} for the values
 * @param {Record<string, unknown>} [values]
 */
export function t(text, values = {}) {
  return (translations[text] ?? text).replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}
