// The lists of keyphrases, and the line of keywords under the text.

export const percent = (share) =>
  share >= 0.995 ? "99 %" : share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`;

function piece(kind, text) {
  const span = document.createElement("span");
  span.className = kind;
  span.textContent = text;
  return span;
}

function item(phrase) {
  const line = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.stems = phrase.stems;
  button.style.setProperty("--score", phrase.score);
  const often = phrase.spans.length > 1 ? `×${phrase.spans.length}` : "";
  button.append(piece("phrase", phrase.text), piece("often", often), piece("score", percent(phrase.score)));
  line.append(button);
  return line;
}

// Shows phrases in a list. Lines of phrases that remain are reused, so they keep the focus, and
// unless the text is `fresh`, the number of the occurrence that was visited last.
export function showList(list, phrases, nothing, fresh) {
  const lineOf = new Map([...list.children].map((line) => [line.firstElementChild?.dataset.stems, line]));
  const lines = phrases.map((phrase) => {
    const line = item(phrase);
    const old = lineOf.get(phrase.stems);
    if (!old) return line;
    const button = old.firstElementChild;
    if (fresh) delete button.dataset.visited;
    button.style.setProperty("--score", phrase.score);
    button.replaceChildren(...line.firstElementChild.childNodes);
    return old;
  });
  if (!lines.length) {
    const line = document.createElement("li");
    line.className = "none";
    line.textContent = nothing;
    lines.push(line);
  }
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  list.replaceChildren(...lines);
  focused?.isConnected && focused.focus();
}

const LIKELY = 0.045; // shown as 5 %

// As in a paper: present keyphrases first, then absent ones. Unlikely ones, which a paper would not
// print, come last.
export function showKeywords(place, phrases) {
  const likely = phrases.filter((phrase) => phrase.present || phrase.score >= LIKELY);
  const guesses = phrases.filter((phrase) => !likely.includes(phrase));
  likely.sort((a, b) => b.present - a.present);
  place.replaceChildren();
  const append = (phrase, kind, before) => {
    const word = piece(kind, phrase.text);
    word.dataset.stems = phrase.stems;
    place.append(before, word);
  };
  const dot = "\u00a0· "; // no line begins with a dot
  likely.forEach((phrase, number) => append(phrase, phrase.present ? "present" : "absent", number ? dot : ""));
  if (guesses.length) place.append(likely.length ? " " : "", piece("perhaps", "perhaps"));
  guesses.forEach((phrase, number) => append(phrase, "absent guess", number ? dot : " "));
  if (!phrases.length) place.append("–");
}
