// The page: sends a text once, then shows its keyphrases at any position of the slider.

import { post } from "./asking.js";
import { showCodes } from "./codes.js";
import { countWords, labelOf, showDocuments } from "./documents.js";
import { examples } from "./examples.js";
import { textOf } from "./files.js";
import { copies, copy, download } from "./formats.js";
import { forget, keepText, keptText, linkedText, linkOf, remember, session } from "./keeping.js";
import { showKeywords, showList } from "./listing.js";
import { look, lookAt, visit } from "./looking.js";
import { showText } from "./marking.js";

const $ = (id) => document.getElementById(id);
const state = {
  text: "", // what was sent
  answer: null, // of /v1/explore
  position: 0, // of the slider, in answer.dial
  passage: 0, // whose codes are shown
  asking: null, // the requests under way
};

// ---------------------------------------------------------------- requests

// Finds the keyphrases of texts, one after the other, and shows those of the first. An item is
// {name, load}; `load` returns the text. Errors are shown together at the end.
async function find(items) {
  state.asking?.abort();
  const { signal } = state.asking = new AbortController();
  const wait = (message) => say(message);
  const found = [];
  const problems = [];
  $("sheet").classList.add("busy");
  say("");
  for (const [number, { name, load }] of items.entries()) {
    if (items.length > 1) say(`${number + 1} of ${items.length}: ${name} …`);
    try {
      const text = (await load(signal, wait)).replace(/\r\n?/g, "\n"); // as in a text area
      const answer = await post("v1/explore", "application/json", JSON.stringify({ text }), signal, wait);
      if (signal.aborted) return;
      found.push({ name, title: answer.title, text, answer, keyphrases: usual(answer).keyphrases });
      remember(found.at(-1));
    } catch (error) {
      if (signal.aborted) return;
      problems.push(name ? `${name}: ${error.message}` : error.message);
    }
  }
  $("sheet").classList.remove("busy");
  if (found.length) open(found[0]);
  const notices = found.flatMap(({ name, answer }) =>
    answer.notices.map((notice) => `${items.length > 1 ? name : "Please note"}: ${notice}.`));
  const table = found.length > 1 ? [`${found.length} texts were read. The table below has all of them.`] : [];
  say([...problems, ...table, ...notices].join("\n"), problems.length > 0);
}

const usual = (answer) => answer.dial.find((position) => position.more === 0);

function findWritten() {
  const text = $("text").value;
  if (text.trim()) return find([{ name: "", load: async () => text }]);
  write();
  return say("There is no text yet. Type or paste one, or choose a file.", true);
}

function findFiles(files) {
  const items = [...files].map((file) => ({ name: file.name, load: (signal, wait) => textOf(file, signal, wait) }));
  if (items.length) find(items).then(() => keepText($("text").value));
}

function take(text) {
  $("text").value = text;
  keepText(text);
  findWritten();
}

function say(message, wrong = false) {
  $("message").setAttribute("role", wrong ? "alert" : "status");
  $("message").textContent = message;
  $("message").classList.toggle("wrong", wrong);
  $("message").hidden = !message;
}

// ---------------------------------------------------------------- results

// Shows a document of the session. One from before a reload is computed again.
function open(document) {
  if (!document.answer) return find([{ name: document.name, load: async () => document.text }]);
  const { text, answer } = document;
  Object.assign(state, { text, answer, passage: 0, position: answer.dial.indexOf(usual(answer)) });
  $("text").value = text;
  $("dial").max = answer.dial.length - 1;
  $("dial").value = state.position;
  say("");
  for (const [id, hidden] of [["writing", true], ["reading", false], ["welcome", true], ["found", false]]) {
    $(id).hidden = hidden;
  }
  show(true);
  showSession();
}

function show(fresh = false) {
  const { text, answer, position, passage } = state;
  const { more, keyphrases } = answer.dial[position];
  const present = keyphrases.filter(({ present }) => present);
  const absent = keyphrases.filter(({ present }) => !present);
  showText($("marked"), text, answer.title.length, present, fresh);
  showKeywords($("keywords"), keyphrases);
  showList($("present"), present, "none");
  showList($("absent"), absent, "none");
  showCodes($("codes"), answer.passages, passage, answer.dial[position], (chosen) => {
    state.passage = chosen;
    show();
  });
  const turned = more === 0 ? "" : more > 0 ? " · more than usual" : " · fewer than usual";
  $("count").textContent = `${present.length} in the text, ${absent.length} not${turned}`;
  $("dial").setAttribute("aria-valuetext", `${keyphrases.length} keyphrases${turned}`);
  look(null);
}

const showSession = () => {
  $("session").hidden = !session.length;
  showDocuments($("documents"), session, state.answer ? state.text : null, (chosen) => {
    keepText(chosen.text);
    open(chosen);
    scrollTo({ top: 0, behavior: "smooth" });
  });
};

function write() {
  $("reading").hidden = true;
  $("writing").hidden = false;
  $("text").focus();
  count();
}

function clear() {
  state.asking?.abort();
  Object.assign(state, { text: "", answer: null });
  $("text").value = "";
  $("found").hidden = true;
  $("welcome").hidden = false;
  $("sheet").classList.remove("busy");
  keepText("");
  say("");
  write();
  showSession();
}

function choose(view) {
  for (const name of ["phrases", "codes"]) {
    $(name).hidden = name !== view;
    $(`tab-${name}`).setAttribute("aria-selected", String(name === view));
    $(`tab-${name}`).tabIndex = name === view ? 0 : -1;
  }
}

function turn(step) {
  if (!state.answer) return;
  $("dial").value = Number($("dial").value) + step;
  $("dial").dispatchEvent(new Event("input"));
}

function count() {
  const words = countWords($("text").value);
  $("length").textContent = words ? `${words.toLocaleString("en")} words` : "";
}

const shown = () => state.answer.dial[state.position].keyphrases;
const phraseOf = (stems) => shown().find((phrase) => phrase.stems === stems);

// ---------------------------------------------------------------- events

$("writing").addEventListener("submit", (event) => { event.preventDefault(); findWritten(); });
$("text").addEventListener("input", () => { count(); keepText($("text").value); });
$("text").addEventListener("paste", () => { if (!$("text").value) setTimeout(findWritten); });
$("files").addEventListener("change", () => { findFiles($("files").files); $("files").value = ""; });
$("edit").addEventListener("click", write);
$("anew").addEventListener("click", clear);
$("forget").addEventListener("click", () => {
  forget();
  clear();
  say("Your texts are deleted from this browser.");
});
$("dial").addEventListener("input", () => { state.position = Number($("dial").value); show(); });
$("tab-phrases").addEventListener("click", () => choose("phrases"));
$("tab-codes").addEventListener("click", () => choose("codes"));
for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => { if (state.answer) lookAt(event.target, phraseOf); });
}
document.addEventListener("pointerleave", () => look(null));

for (const { name, text } of examples) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.addEventListener("click", () => take(text));
  $("examples").append(button);
}

for (const id of ["present", "absent"]) {
  $(id).addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) visit(button, phraseOf);
  });
}

// Makes a button run `work`, and show for a moment that it is done.
function act(button, done, work) {
  const name = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await work();
      button.textContent = done;
      button.classList.add("done");
      setTimeout(() => { button.textContent = name; button.classList.remove("done"); }, 1200);
    } catch (error) {
      say(error.message, true);
    }
  });
}

const named = (document) => ({ ...document, name: labelOf(document) });
for (const button of document.querySelectorAll("[data-copy]")) {
  act(button, "Copied", () => copy(copies[button.dataset.copy](shown())));
}
for (const button of document.querySelectorAll("[data-download]")) {
  act(button, "Saved", () => {
    const current = session.find(({ text }) => text === state.text);
    download(button.dataset.download, [named({ ...current, keyphrases: shown() })]);
  });
}
for (const button of document.querySelectorAll("[data-download-all]")) {
  act(button, "Saved", () => download(button.dataset.downloadAll, session.map(named)));
}
act($("link"), "Copied", () => copy(linkOf(state.text)));

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("textarea, input:not([type=range])");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return findWritten();
  if (event.key === "Escape") return look(null);
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
    turn(event.key === "]" ? 1 : -1);
  } else if (event.key === "v" && state.answer) {
    choose($("codes").hidden ? "codes" : "phrases");
  } else if (event.key === "e" && !$("reading").hidden) {
    event.preventDefault();
    write();
  }
});

// A text may be pasted or dropped anywhere.
document.addEventListener("paste", (event) => {
  if (event.target.matches("textarea, input")) return;
  const text = event.clipboardData.getData("text/plain");
  if (text) take(text);
});
for (const [kind, shows] of [["dragenter", true], ["dragover", true], ["drop", false]]) {
  document.addEventListener(kind, (event) => { event.preventDefault(); $("drop").hidden = !shows; });
}
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").hidden = true; });
document.addEventListener("drop", (event) => {
  if (event.dataTransfer.files.length) return findFiles(event.dataTransfer.files);
  const text = event.dataTransfer.getData("text/plain");
  if (text) take(text);
});

// ---------------------------------------------------------------- texts of links and of the last visit

// A link contains a text. It does not replace the stored one.
function takeLink() {
  try {
    const text = linkedText();
    if (text) find([{ name: "", load: async () => text }]);
  } catch (error) {
    say(error.message, true);
  }
}

$("text").value = keptText();
addEventListener("hashchange", takeLink);
takeLink();
showSession();
count();
