// The control codes: the phrase that each generates, or ∅.

import { percent } from "./lists.js";

const SIDES = { present: "Codes for phrases in the text", absent: "Codes for phrases not in the text" };

function element(tag, kind, text) {
  const created = document.createElement(tag);
  created.className = kind;
  created.textContent = text;
  return created;
}

const generates = (code) => code.text !== "" && code.generates;

// `first` is the first code with the same phrase, `keyphrase` the keyphrase it became, if any. A code
// is trained on one kind of phrase, but may generate the other.
function tile(code, first, keyphrase) {
  const kind = keyphrase?.present === false ? "absent" : "present";
  const state = !generates(code) ? "silent" : keyphrase ? kind : "unlikely";
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

// Shows the codes of a passage at a position of the slider.
export function showCodes(place, passages, chosen, position, choose) {
  const codes = passages[chosen];
  const { keyphrases } = position;
  const generating = codes.filter(generates);
  const shown = new Map(keyphrases.map((keyphrase) => [keyphrase.stems, keyphrase]));
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
    parts.push(element("h2", "", SIDES[side] ?? "Written one after another"));
    const list = element("ul", "codes", "");
    list.append(...codes.filter((code) => code.side === side).map((code) =>
      tile(code, generating.find((other) => other.stems === code.stems), shown.get(code.stems))));
    parts.push(list);
  }
  const generated = new Set(passages.flat().filter(generates).map((code) => code.stems));
  const proposed = keyphrases.filter((keyphrase) => !generated.has(keyphrase.stems));
  parts.push(element("p", "about",
    "Each control code of the model generates one phrase or none (∅), all in parallel; ∅ 30 % is the "
    + "probability of none. Filled codes became keyphrases; the slider sets how likely they must be."));
  if (proposed.length) {
    parts.push(element("p", "about",
      `No code generates ${proposed.map(({ text }) => `“${text}”`).join(", ")}: the scorers of the model propose such phrases.`));
  }
  const findArrows = () => [...place.querySelectorAll(".passage button")];
  const at = findArrows().indexOf(document.activeElement);
  place.replaceChildren(...parts);
  if (at < 0) return;
  const arrows = findArrows(); // the focus stays on one; at the end, on the way back
  arrows[arrows[at]?.disabled ? 1 - at : at]?.focus();
}
