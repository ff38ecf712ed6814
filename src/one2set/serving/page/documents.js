// The table of the texts of this session.

const SHOWN = 8; // phrases of a text

export const labelOf = ({ name, title, text }) => name || title || text.trim().slice(0, 60);
export const countWords = (text) => text.match(/\S+/g)?.length ?? 0;

function cellOf(kind, ...contents) {
  const cell = document.createElement(kind);
  cell.append(...contents);
  return cell;
}

function row(one, open) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = labelOf(one);
  button.addEventListener("click", () => open(one));
  const phrases = one.keyphrases.slice(0, SHOWN).map((phrase) => phrase.text).join(" · ");
  const head = cellOf("th", button);
  head.scope = "row";
  const line = document.createElement("tr");
  line.append(head, cellOf("td", countWords(one.text).toLocaleString("en")), cellOf("td", phrases || "none"));
  return line;
}

const texts = new WeakMap(); // by the line of the table

// Shows the texts, the latest first; `open` is called with the one that is chosen. The focus stays on
// its text.
export function showDocuments(place, session, current, open) {
  const focused = texts.get(document.activeElement?.closest("tr"));
  const lines = session.map((one) => {
    const line = row(one, open);
    texts.set(line, one.text);
    if (one.text === current) line.setAttribute("aria-current", "true");
    return line;
  });
  place.replaceChildren(...lines.reverse());
  if (focused !== undefined) lines.find((line) => texts.get(line) === focused)?.querySelector("button").focus();
}
