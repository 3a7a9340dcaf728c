// The panel of test cases: fetched when first opened; a result can be shown on the canvas.

export function install(editor) {
  const panel = editor.root.querySelector("#panel-tests");
  if (!panel || !editor.urls.tests) return;
  let isLoaded = false;

  function load(url = editor.urls.tests) {
    isLoaded = true;
    window.htmx.ajax("GET", url, { target: panel, swap: "innerHTML" });
  }

  editor.addEventListener("panel", (event) => {
    if (event.detail.name === "tests" && !isLoaded) load();
  });

  editor.root.addEventListener("click", (event) => {
    const paint = event.target.closest("[data-paint-steps]");
    if (paint) show(Number(paint.dataset.paintSteps));
    const save = event.target.closest("[data-save-case]");
    if (save) {
      save.closest("details[data-dismiss]")?.removeAttribute("open");
      editor.panel("tests");
      load(`${editor.urls.tests}new/?run=${encodeURIComponent(save.dataset.saveCase)}`);
    }
  });

  function show(turn) {
    const detail = JSON.parse(panel.querySelector("#test-detail").textContent);
    editor.canvas.clearPaint?.();
    for (const step of detail.turns[turn].steps) {
      editor.canvas.paintNode?.(step.node, { status: STATES[step.status] ?? step.status, elapsed: step.elapsed, error: step.error, handle: step.handle });
    }
  }
}

// Maps the status of stored steps to that of live ones.
const STATES = { succeeded: "completed", exception: "failed" };
