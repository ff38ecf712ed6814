// Highlights all occurrences of a phrase, with a tooltip for its score.

import { percent } from "./lists.js";

const $ = (id) => document.getElementById(id);
const split = (list) => list?.split("|") ?? [];
const stemsOf = (element) => split(element.dataset.stems);

// `phrase` is the phrase to highlight, null for none; `mark` its occurrence in the text, if any.
export function highlight(phrase, mark = null) {
  for (const element of document.querySelectorAll("[data-stems]")) {
    element.classList.toggle("seen", phrase !== null && stemsOf(element).includes(phrase.stems));
  }
  $("marked").classList.toggle("looking", $("marked").querySelector(".seen") !== null);
  showTip(phrase, mark);
}

function showTip(phrase, mark) {
  const box = mark?.getClientRects()[0]; // there is none while the text is edited
  $("tip").hidden = !box;
  if (!box) return;
  const number = Number(split(mark.dataset.numbers)[stemsOf(mark).indexOf(phrase.stems)]);
  const which = phrase.spans.length > 1 ? ` · ${number + 1} of ${phrase.spans.length}` : "";
  $("tip").textContent = `${phrase.text} · ${percent(phrase.score)}${which}`;
  const left = Math.min(box.left, document.documentElement.clientWidth - $("tip").offsetWidth - 8);
  $("tip").style.left = `${Math.max(left, 8) + scrollX}px`;
  $("tip").style.top = `${box.top + scrollY - $("tip").offsetHeight - 6}px`;
}

// Highlights the phrase under the pointer or the focus. `find` returns the phrase of some stems.
export function highlightAt(target, find) {
  const element = target.closest?.("[data-stems]");
  if (!element) return highlight(null);
  const phrase = find(stemsOf(element)[0]) ?? { stems: stemsOf(element)[0] };
  highlight(phrase, element.tagName === "MARK" ? element : null);
}

// Scrolls to the next occurrence of a phrase.
export function goToNext(button, find) {
  const stems = button.dataset.stems;
  const marks = [...$("marked").querySelectorAll("mark.start")];
  const places = marks.filter((mark) => split(mark.dataset.starting).includes(stems));
  if (!places.length) return;
  const next = (Number(button.dataset.visited ?? -1) + 1) % places.length;
  button.dataset.visited = next;
  places[next].scrollIntoView({ block: "center", behavior: "smooth" });
  highlight(find(stems), places[next]);
}
