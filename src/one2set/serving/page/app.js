// The page: sends a text once, then shows its keyphrases at any position of the slider.

import { showCodes } from "./codes.js";
import { countWords, labelOf, showDocuments } from "./documents.js";
import { takeAnywhere } from "./drops.js";
import { examples } from "./examples.js";
import { textOf } from "./files.js";
import { copies, copy, download } from "./formats.js";
import { goToNext, highlight, highlightAt } from "./highlight.js";
import { showKeywords, showList } from "./lists.js";
import { post } from "./requests.js";
import { addToSession, clearStorage, loadText, makeLink, readLink, saveText, session } from "./storage.js";
import { showText } from "./text.js";

const $ = (id) => document.getElementById(id);
const state = {
  opened: null, // the document that is shown, with its answer; a full session may have dropped it
  position: 0, // of the slider, in the dial of the answer
  passage: 0, // whose codes are shown
  controller: null, // aborts the requests under way
};

// ---------------------------------------------------------------- requests

// Finds the keyphrases of texts, one after the other, and shows those of the first, unless the user
// has turned to another text meanwhile. An item is {name, load}; `load` returns the text. Errors are
// shown together at the end. Returns whether keyphrases are shown.
async function find(items) {
  state.controller?.abort();
  const { signal } = state.controller = new AbortController();
  const wait = (message) => showMessage(message);
  const [draft, { opened }] = [$("text").value, state];
  const found = [];
  const problems = [];
  $("sheet").classList.add("busy");
  showMessage("");
  for (const [number, { name, load }] of items.entries()) {
    if (items.length > 1) showMessage(`${number + 1} of ${items.length}: ${name} …`);
    try {
      const text = (await load(signal, wait)).replace(/\r\n?/g, "\n"); // as in a text area
      const answer = await post("v1/explore", "application/json", JSON.stringify({ text }), signal, wait);
      if (signal.aborted) return false;
      found.push({ name, title: answer.title, text, answer, keyphrases: defaultPosition(answer).keyphrases });
      addToSession(found.at(-1));
    } catch (error) {
      if (signal.aborted) return false;
      problems.push(name ? `${name}: ${error.message}` : error.message);
    }
  }
  $("sheet").classList.remove("busy");
  const turned = $("text").value !== draft || state.opened !== opened;
  const shows = found.length > 0 && !turned;
  if (shows) open(found[0]);
  else showSession();
  const notices = found.flatMap(({ name, answer }) =>
    answer.notices.map((notice) => `${items.length > 1 ? name : "Please note"}: ${notice}.`));
  const listed = new Set(session.map(({ text }) => text));
  const which = found.every(({ text }) => listed.has(text)) ? "all" : `the last ${session.length}`;
  const table = found.length > 1 ? [`${found.length} texts were read. The table below has ${which} of them.`]
    : found.length && !shows ? [`The keyphrases of “${labelOf(found[0])}” are in the table below.`] : [];
  showMessage([...problems, ...table, ...notices].join("\n"), problems.length > 0);
  return shows;
}

const defaultPosition = (answer) => answer.dial.find((position) => position.more === 0);

function findInEditor() {
  const text = $("text").value;
  if (text.trim()) return find([{ name: "", load: async () => text }]);
  editText();
  return showMessage("There is no text yet. Type or paste one, or choose a file.", true);
}

function findFiles(files) {
  const items = [...files].map((file) => ({ name: file.name, load: (signal, wait) => textOf(file, signal, wait) }));
  if (items.length) find(items).then((shows) => { if (shows) saveText($("text").value); });
}

function submitText(text) {
  $("text").value = text;
  saveText(text);
  findInEditor();
}

function showMessage(message, wrong = false) {
  $("message").setAttribute("role", wrong ? "alert" : "status");
  $("message").textContent = message;
  $("message").classList.toggle("wrong", wrong);
  $("message").hidden = !message;
}

// ---------------------------------------------------------------- results

// Shows a document of the session. One from before a reload is computed again. Returns whether it is
// shown.
async function open(chosen) {
  if (!chosen.answer) return find([{ name: chosen.name, load: async () => chosen.text }]);
  const { text, answer } = chosen;
  // A copy, so that `find` notices if a document is opened, even the same one again.
  const opened = { ...chosen };
  Object.assign(state, { opened, passage: 0, position: answer.dial.indexOf(defaultPosition(answer)) });
  $("text").value = text;
  $("dial").max = answer.dial.length - 1;
  $("dial").value = state.position;
  showMessage("");
  for (const [id, hidden] of [["writing", true], ["reading", false], ["welcome", true], ["found", false]]) {
    $(id).hidden = hidden;
  }
  show(true);
  showSession();
  const { activeElement } = document;
  // Otherwise the keyboard would start again at the top of the page.
  if (activeElement === document.body || $("writing").contains(activeElement)) $("results").focus();
  return true;
}

function show(fresh = false) {
  const { opened: { text, answer }, position, passage } = state;
  const { more, keyphrases } = answer.dial[position];
  const present = keyphrases.filter(({ present }) => present);
  const absent = keyphrases.filter(({ present }) => !present);
  showText($("marked"), text, answer.title.length, present, fresh);
  showKeywords($("keywords"), keyphrases);
  showList($("present"), present, "none", fresh);
  showList($("absent"), absent, "none", fresh);
  showCodes($("codes"), answer.passages, passage, answer.dial[position], (chosen) => {
    state.passage = chosen;
    show();
  });
  const turned = more === 0 ? "" : more > 0 ? " · more than usual" : " · fewer than usual";
  $("count").textContent = `${present.length} in the text, ${absent.length} not${turned}`;
  $("dial").setAttribute("aria-valuetext", `${keyphrases.length} keyphrases${turned}`);
  highlight(null);
}

const showSession = () => {
  $("session").hidden = !session.length;
  showDocuments($("documents"), session, state.opened?.text, (chosen) => {
    open(chosen).then((shows) => { if (shows) saveText(chosen.text); });
    scrollTo({ top: 0, behavior: "smooth" });
  });
};

function editText() {
  $("reading").hidden = true;
  $("writing").hidden = false;
  $("text").focus();
  count();
}

function clear() {
  state.controller?.abort();
  state.opened = null;
  $("text").value = "";
  $("found").hidden = true;
  $("welcome").hidden = false;
  $("sheet").classList.remove("busy");
  saveText("");
  showMessage("");
  editText();
  showSession();
}

function choose(view) {
  for (const name of ["phrases", "codes"]) {
    $(name).hidden = name !== view;
    $(`tab-${name}`).setAttribute("aria-selected", String(name === view));
    $(`tab-${name}`).tabIndex = name === view ? 0 : -1;
  }
}

function moveSlider(step) {
  if (!state.opened) return;
  $("dial").value = Number($("dial").value) + step;
  $("dial").dispatchEvent(new Event("input"));
}

function count() {
  const words = countWords($("text").value);
  $("length").textContent = words ? `${words.toLocaleString("en")} words` : "";
}

const shown = () => state.opened.answer.dial[state.position].keyphrases;
const phraseOf = (stems) => shown().find((phrase) => phrase.stems === stems);

// ---------------------------------------------------------------- events

$("writing").addEventListener("submit", (event) => { event.preventDefault(); findInEditor(); });
$("text").addEventListener("input", () => { count(); saveText($("text").value); });
$("text").addEventListener("paste", () => { if (!$("text").value) setTimeout(findInEditor); });
$("files").addEventListener("change", () => { findFiles($("files").files); $("files").value = ""; });
$("edit").addEventListener("click", editText);
$("anew").addEventListener("click", clear);
$("forget").addEventListener("click", () => {
  clearStorage();
  clear();
  showMessage("Your texts are deleted from this browser.");
});
$("dial").addEventListener("input", () => { state.position = Number($("dial").value); show(); });
$("tab-phrases").addEventListener("click", () => choose("phrases"));
$("tab-codes").addEventListener("click", () => choose("codes"));
for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => { if (state.opened) highlightAt(event.target, phraseOf); });
}
document.addEventListener("pointerleave", () => highlight(null));

for (const { name, text } of examples) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.addEventListener("click", () => submitText(text));
  $("examples").append(button);
}

for (const id of ["present", "absent"]) {
  $(id).addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) goToNext(button, phraseOf);
  });
}

// Makes a button run `work`, and show for a moment that it is done.
function confirmWhenDone(button, done, work) {
  const name = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await work();
      button.textContent = done;
      button.classList.add("done");
      setTimeout(() => { button.textContent = name; button.classList.remove("done"); }, 1200);
    } catch (error) {
      showMessage(error.message, true);
    }
  });
}

const named = (document) => ({ ...document, name: labelOf(document) });
for (const button of document.querySelectorAll("[data-copy]")) {
  confirmWhenDone(button, "Copied", () => copy(copies[button.dataset.copy](shown())));
}
for (const button of document.querySelectorAll("[data-download]")) {
  confirmWhenDone(button, "Saved", () =>
    download(button.dataset.download, [named({ ...state.opened, keyphrases: shown() })]));
}
for (const button of document.querySelectorAll("[data-download-all]")) {
  confirmWhenDone(button, "Saved", () => download(button.dataset.downloadAll, session.map(named)));
}
confirmWhenDone($("link"), "Copied", () => copy(makeLink(state.opened.text)));

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("textarea, input:not([type=range])");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return findInEditor();
  if (event.key === "Escape") return highlight(null);
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const buttons = [...document.querySelectorAll(".phrases button")];
  const at = buttons.indexOf(document.activeElement);
  if (step && at >= 0) {
    event.preventDefault();
    buttons[at + step]?.focus();
  } else if (event.target.role === "tab" && ["ArrowLeft", "ArrowRight"].includes(event.key)) {
    const other = event.target.id === "tab-codes" ? "phrases" : "codes";
    choose(other);
    $(`tab-${other}`).focus();
  } else if (event.key === "[" || event.key === "]") {
    moveSlider(event.key === "]" ? 1 : -1);
  } else if (event.key === "v" && state.opened) {
    choose($("codes").hidden ? "codes" : "phrases");
  } else if (event.key === "e" && !$("reading").hidden) {
    event.preventDefault();
    editText();
  }
});

takeAnywhere(submitText, findFiles);

// ---------------------------------------------------------------- texts of links and of the last visit

// A link contains a text, which is edited if the server does not answer. It does not replace the
// stored one.
function openLink() {
  try {
    const text = readLink();
    if (!text) return;
    $("text").value = text;
    editText();
    findInEditor();
  } catch (error) {
    showMessage(error.message, true);
  }
}

$("text").value = loadText();
addEventListener("hashchange", openLink);
openLink();
showSession();
count();
