// The control codes: which code says what, and which say ∅.

import { percent } from "./listing.js";

const HALVES = { present: "Codes for phrases in the text", absent: "Codes for phrases not in the text" };

function element(tag, kind, text) {
  const made = document.createElement(tag);
  made.className = kind;
  made.textContent = text;
  return made;
}

const speaks = (code) => code.text !== "" && code.speaks;

// `first` is the first code that says the same, `keyphrase` what became of it, if anything. Codes
// are meant for one kind of phrase, but may say the other.
function tile(code, first, keyphrase) {
  const kind = keyphrase?.present === false ? "absent" : "present";
  const state = !speaks(code) ? "silent" : keyphrase ? kind : "unlikely";
  const made = element("li", `code ${state}`, "");
  made.append(element("span", "number", String(code.code + 1)));
  if (state !== "silent") {
    made.dataset.stems = code.stems;
    const same = first === code ? "" : ` · as code ${first.code + 1}`;
    made.append(code.text, element("span", "sure", `∅ ${percent(code.null)}${same}`));
  } else {
    made.append("∅", element("span", "would", code.text && `not quite “${code.text}”`));
  }
  return made;
}

// Shows the codes of a passage at a place of the slider.
export function showCodes(place, passages, chosen, position, choose) {
  const codes = passages[chosen];
  const { keyphrases } = position;
  const speaking = codes.filter(speaks);
  const kept = new Map(keyphrases.map((one) => [one.stems, one]));
  const parts = [];
  if (passages.length > 1) {
    const stepper = element("div", "passage", "");
    const go = (label, step) => {
      const button = element("button", "", label);
      button.type = "button";
      button.disabled = !passages[chosen + step];
      button.addEventListener("click", () => choose(chosen + step));
      return button;
    };
    stepper.append(go("←", -1), `Passage ${chosen + 1} of ${passages.length}`, go("→", 1));
    parts.push(stepper);
  }
  for (const side of new Set(codes.map((code) => code.side))) {
    parts.push(element("h2", "", HALVES[side] ?? "Written one after another"));
    const list = element("ul", "codes", "");
    list.append(...codes.filter((code) => code.side === side).map((code) =>
      tile(code, speaking.find((one) => one.stems === code.stems), kept.get(code.stems))));
    parts.push(list);
  }
  const said = new Set(passages.flat().filter(speaks).map((code) => code.stems));
  const known = keyphrases.filter((one) => !said.has(one.stems));
  parts.push(element("p", "about",
    "Each control code of the model writes one phrase or none (∅), all at the same time; ∅ 30 % is the "
    + "probability of none. What is filled is shown as a keyphrase; the slider decides how likely it must be."));
  if (known.length) {
    parts.push(element("p", "about",
      `No code says ${known.map((one) => `“${one.text}”`).join(", ")}: the model knows such phrases from the papers it learned from.`));
  }
  place.replaceChildren(...parts);
}
