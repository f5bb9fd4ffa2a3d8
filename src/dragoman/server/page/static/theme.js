// Runs before the first paint, so that the page never flashes in the wrong theme. The button is set up in main.js.
(() => {
  try {
    const saved = localStorage.getItem("dragoman-theme");
    if (saved === "light" || saved === "dark") document.documentElement.dataset.theme = saved;
  } catch {
    // storage may be switched off: the system's theme is used
  }
})();
