// The text with its phrases marked. Everything is text: nothing here parses HTML.

// The index of each character in a JavaScript string, in which some characters have two units. The
// server counts characters.
function starts(text) {
  const indices = [];
  let index = 0;
  for (const character of text) {
    indices.push(index);
    index += character.length;
  }
  indices.push(index);
  return indices;
}

// Cuts the text at every start and end of a phrase: [{start, end, spans}], where `spans` are those of
// the phrases there, longest first. Indices are those of JavaScript.
//
// One pass from left to right, with the open spans: the time is linear in the length of the text.
export function segments(text, phrases) {
  const indices = starts(text);
  const spans = phrases.flatMap((phrase) =>
    phrase.spans.map(([start, end], number) => ({ phrase, number, start: indices[start], end: indices[end] })));
  const cuts = [...new Set([0, text.length, ...spans.flatMap((span) => [span.start, span.end])])];
  cuts.sort((a, b) => a - b);
  const longer = (a, b) => b.end - b.start - (a.end - a.start);
  spans.sort((a, b) => a.start - b.start);
  let open = [];
  let next = 0;
  return cuts.slice(0, -1).map((start, number) => {
    open = open.filter((span) => span.end > start);
    while (next < spans.length && spans[next].start === start) open.push(spans[next++]);
    open.sort(longer);
    return { start, end: cuts[number + 1], spans: [...open] };
  });
}

function marked(text, { start, end, spans }) {
  const mark = document.createElement("mark");
  mark.textContent = text.slice(start, end);
  const starting = spans.filter((span) => span.start === start);
  mark.dataset.stems = spans.map((span) => span.phrase.stems).join("|");
  mark.dataset.numbers = spans.map((span) => span.number).join("|");
  mark.dataset.starting = starting.map((span) => span.phrase.stems).join("|");
  const outer = spans[0];
  mark.classList.toggle("start", starting.length > 0);
  mark.classList.toggle("end", spans.some((span) => span.end === end));
  mark.classList.toggle("deep", spans.length > 1);
  mark.style.setProperty("--p", Math.sqrt(outer.phrase.score).toFixed(3));
  return mark;
}

const MAX_ANIMATED = 1000; // marks; more would take the browser seconds

// Shows a text. Its first `titled` characters (of JavaScript) are the title.
export function showText(place, text, titled, phrases, fresh) {
  const title = document.createElement("h1");
  const body = document.createElement("p");
  let drawn = 0;
  for (const segment of segments(text, phrases)) {
    // A phrase never crosses the end of the title, but the text between phrases may.
    const parts = segment.start < titled && segment.end > titled
      ? [{ ...segment, end: titled }, { ...segment, start: titled }]
      : [segment];
    for (const part of parts) {
      const inTitle = part.start < titled;
      let { start, end } = part;
      if (!inTitle && start === titled && titled > 0 && text[start] === "\n") start += 1;
      if (!part.spans.length) {
        (inTitle ? title : body).append(text.slice(start, end));
        continue;
      }
      const mark = marked(text, part);
      mark.style.setProperty("--delay", `${Math.min(drawn++ * 30, 900)}ms`);
      (inTitle ? title : body).append(mark);
    }
  }
  place.replaceChildren(...(titled > 0 ? [title, body] : [body]));
  place.classList.toggle("fresh", fresh && drawn <= MAX_ANIMATED);
}
