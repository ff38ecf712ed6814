// The page: asks the server once for a text, then shows what it found for any position of the dial.

import { showCodes } from "./codes.js";
import { copy, formats } from "./copying.js";
import { examples } from "./examples.js";
import { percent, showKeywords, showList } from "./listing.js";
import { showText } from "./marking.js";

const $ = (id) => document.getElementById(id);
const state = {
  text: "", // what was sent
  answer: null, // of /v1/explore
  position: 0, // of the dial, in answer.dial
  passage: 0, // whose codes are shown
  token: "",
  asking: null, // the request under way
};

// ---------------------------------------------------------------- asking the server

async function ask(text, signal) {
  const headers = { "Content-Type": "application/json" };
  if (state.token) headers.Authorization = `Bearer ${state.token}`;
  const response = await fetch("v1/explore", { method: "POST", headers, body: JSON.stringify({ text }), signal });
  if (response.ok) return response.json();
  if (response.status === 401 && await askForToken()) return ask(text, signal);
  if (response.status === 429) {
    const seconds = Number(response.headers.get("Retry-After")) || 1;
    say(`The server is busy. Trying again in ${seconds} s …`);
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    if (!signal.aborted) return ask(text, signal);
  }
  const told = await response.json().catch(() => ({}));
  throw new Error(told.detail ?? `the server answered ${response.status}`);
}

function askForToken() {
  const dialog = $("asking");
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    state.token = $("token").value;
    resolve(state.token !== "");
  }, { once: true }));
}

async function find() {
  const text = $("text").value; // with the line ends that a text area has
  if (!text.trim()) return write();
  state.asking?.abort();
  const asking = state.asking = new AbortController();
  $("sheet").classList.add("busy");
  say("");
  try {
    const answer = await ask(text, asking.signal);
    if (asking.signal.aborted) return;
    const usual = answer.dial.findIndex((position) => position.more === 0);
    Object.assign(state, { text, answer, passage: 0, position: usual });
    $("dial").max = answer.dial.length - 1;
    $("dial").value = usual;
    say(answer.notices.map((one) => `Mind: ${one}.`).join(" "));
    read();
    show(true);
  } catch (error) {
    if (asking.signal.aborted) return;
    say(error instanceof TypeError ? "The server cannot be reached." : `Sorry: ${error.message}.`, true);
  } finally {
    if (state.asking === asking) $("sheet").classList.remove("busy");
  }
}

function say(message, wrong = false) {
  $("message").textContent = message;
  $("message").classList.toggle("wrong", wrong);
  $("message").hidden = !message;
}

// ---------------------------------------------------------------- showing what was found

function show(fresh = false) {
  const { text, answer, position, passage } = state;
  const { more, keyphrases } = answer.dial[position];
  const present = keyphrases.filter((one) => one.present);
  const absent = keyphrases.filter((one) => !one.present);
  showText($("marked"), text, answer.title.length, present, fresh);
  showKeywords($("keywords"), keyphrases);
  showList($("present"), present, "none");
  showList($("absent"), absent, "none");
  showCodes($("codes"), answer.passages, passage, answer.dial[position], (chosen) => {
    state.passage = chosen;
    show();
  });
  const turned = more === 0 ? "" : ` · dial ${more > 0 ? "+" : "−"}${Math.abs(more)}`;
  $("count").textContent = `${present.length} in the text, ${absent.length} not${turned}`;
  $("dial").setAttribute("aria-valuetext", `${keyphrases.length} keyphrases${turned}`);
  look(null);
}

function read() {
  for (const [id, hidden] of [["writing", true], ["reading", false], ["welcome", true], ["found", false]]) {
    $(id).hidden = hidden;
  }
}

function write() {
  $("reading").hidden = true;
  $("writing").hidden = false;
  $("text").focus();
  count();
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

// ---------------------------------------------------------------- looking at one phrase

const stemsOf = (element) => element.dataset.stems?.split("|") ?? [];

function look(stems, mark = null) {
  for (const element of document.querySelectorAll("[data-stems]")) {
    element.classList.toggle("seen", stems !== null && stemsOf(element).includes(stems));
  }
  $("marked").classList.toggle("looking", stems !== null && [...$("marked").querySelectorAll(".seen")].length > 0);
  showTip(stems, mark);
}

function showTip(stems, mark) {
  $("tip").hidden = !mark;
  if (!mark) return;
  const phrase = state.answer.dial[state.position].keyphrases.find((one) => one.stems === stems);
  const which = phrase.spans.length > 1 ? ` · ${Number(mark.dataset.number) + 1} of ${phrase.spans.length}` : "";
  $("tip").textContent = `${phrase.text} · ${percent(phrase.score)}${which}`;
  const box = mark.getClientRects()[0];
  const left = Math.min(box.left, document.documentElement.clientWidth - $("tip").offsetWidth - 8);
  $("tip").style.left = `${Math.max(left, 8) + scrollX}px`;
  $("tip").style.top = `${box.top + scrollY - $("tip").offsetHeight - 6}px`;
}

function lookAt(event) {
  const element = event.target.closest?.("[data-stems]");
  if (!element) return look(null);
  look(stemsOf(element)[0], element.tagName === "MARK" ? element : null);
}

// The next place of a phrase in the text comes into view.
function visit(button) {
  const stems = button.dataset.stems;
  const places = [...$("marked").querySelectorAll("mark.start")].filter((mark) => stemsOf(mark).includes(stems));
  if (!places.length) return;
  const next = (Number(button.dataset.visited ?? -1) + 1) % places.length;
  button.dataset.visited = next;
  places[next].scrollIntoView({ block: "center", behavior: "smooth" });
  look(stems, places[next]);
}

function count() {
  const words = $("text").value.match(/\S+/g)?.length ?? 0;
  $("length").textContent = words ? `${words.toLocaleString("en")} words` : "";
}

// ---------------------------------------------------------------- events

function take(text) {
  $("text").value = text;
  find();
}

$("writing").addEventListener("submit", (event) => { event.preventDefault(); find(); });
$("text").addEventListener("input", count);
$("text").addEventListener("paste", () => { if (!$("text").value) setTimeout(find); });
$("edit").addEventListener("click", write);
$("anew").addEventListener("click", () => { $("text").value = ""; write(); });
$("dial").addEventListener("input", () => { state.position = Number($("dial").value); show(); });
$("tab-phrases").addEventListener("click", () => choose("phrases"));
$("tab-codes").addEventListener("click", () => choose("codes"));
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, lookAt);
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
    if (button) visit(button);
  });
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const name = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await copy(formats[button.dataset.copy](state.answer.dial[state.position].keyphrases));
      button.textContent = "Copied";
      button.classList.add("done");
      setTimeout(() => { button.textContent = name; button.classList.remove("done"); }, 1200);
    } catch (error) {
      say(`Sorry: ${error.message}.`, true);
    }
  });
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("textarea, input:not([type=range])");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return find();
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

// A text that is pasted or dropped anywhere is meant for us.
document.addEventListener("paste", (event) => {
  if (event.target.matches("textarea, input")) return;
  const text = event.clipboardData.getData("text/plain");
  if (text) take(text);
});
for (const [kind, shown] of [["dragenter", true], ["dragover", true], ["drop", false]]) {
  document.addEventListener(kind, (event) => { event.preventDefault(); $("drop").hidden = !shown; });
}
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").hidden = true; });
document.addEventListener("drop", async (event) => {
  const [file] = event.dataTransfer.files;
  const text = file ? await file.text() : event.dataTransfer.getData("text/plain");
  if (text.includes("\0") || text.includes("\uFFFD")) return say("Sorry: that is no text file.", true);
  if (text) take(text);
});

// ---------------------------------------------------------------- light and dark

const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (localStorage.getItem("theme") ?? (dark.matches ? "dark" : "light")) === "dark";

function paint() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  $("theme").textContent = isDark() ? "Light" : "Dark";
}
dark.addEventListener("change", paint);
$("theme").addEventListener("click", () => {
  localStorage.setItem("theme", isDark() ? "light" : "dark");
  paint();
});
paint();
count();
