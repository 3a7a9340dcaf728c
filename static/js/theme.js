// Runs before the first paint, so that a chosen theme never flashes; everything else is in app.js.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("theme");
  } catch {
    // storage can be forbidden; the system's theme is a fine answer
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
