// A text may be pasted anywhere, and a text or files may be dropped anywhere.

const $ = (id) => document.getElementById(id);

const isEditor = (target) => target.matches?.("textarea, input:not([type=range])");
// The browser itself moves words within an editor.
const isOurs = ({ target, dataTransfer }) => !isEditor(target) || dataTransfer.types.includes("Files");

// Calls `takeText` with a text, `takeFiles` with files.
export function takeAnywhere(takeText, takeFiles) {
  document.addEventListener("paste", (event) => {
    if (isEditor(event.target)) return;
    const text = event.clipboardData.getData("text/plain");
    if (text) takeText(text);
  });
  for (const [kind, shows] of [["dragenter", true], ["dragover", true], ["drop", false]]) {
    document.addEventListener(kind, (event) => {
      if (isOurs(event)) event.preventDefault();
      $("drop").hidden = !shows || !isOurs(event);
    });
  }
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").hidden = true; });
  document.addEventListener("drop", (event) => {
    if (!isOurs(event)) return;
    if (event.dataTransfer.files.length) return takeFiles(event.dataTransfer.files);
    const text = event.dataTransfer.getData("text/plain");
    if (text) takeText(text);
  });
}
