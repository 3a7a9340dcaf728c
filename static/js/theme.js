// Runs before the first paint, so that the chosen theme does not flash; everything else is in app.js.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("theme");
  } catch {
    // storage may be forbidden; then the theme of the system applies
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
