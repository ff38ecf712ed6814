// Light or dark: as in the system, until the user presses the button.

const button = document.getElementById("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
try {
  chosen = localStorage.getItem("theme");
} catch {
  // Storage is forbidden: the choice lasts until a reload.
}

const isDark = () => (chosen ?? (dark.matches ? "dark" : "light")) === "dark";

function paint() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  button.textContent = isDark() ? "Light" : "Dark";
}

dark.addEventListener("change", paint);
button.addEventListener("click", () => {
  chosen = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("theme", chosen);
  } catch {
    // See above.
  }
  paint();
});
paint();
