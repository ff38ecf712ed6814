// The text with its phrases marked. Everything is text: nothing here parses HTML.

// Where each character begins in a JavaScript string, which counts some characters as two. The
// server counts each as one.
function starts(text) {
  const places = [];
  let place = 0;
  for (const character of text) {
    places.push(place);
    place += character.length;
  }
  places.push(place);
  return places;
}

// The text cut at every beginning and end of a phrase: [{start, end, spans}], spans being those of
// the phrases that stand there, the longest first. Places are those of JavaScript.
//
// One pass from left to right, with the spans that are open: the time grows with the text's length,
// even where phrases stand everywhere.
export function segments(text, phrases) {
  const place = starts(text);
  const spans = phrases.flatMap((phrase) =>
    phrase.spans.map(([start, end], number) => ({ phrase, number, start: place[start], end: place[end] })));
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
  mark.dataset.stems = spans.map((span) => span.phrase.stems).join("|");
  mark.dataset.number = spans[0].number;
  const outer = spans[0];
  mark.classList.toggle("start", spans.some((span) => span.start === start));
  mark.classList.toggle("end", spans.some((span) => span.end === end));
  mark.classList.toggle("deep", spans.length > 1);
  mark.style.setProperty("--p", Math.sqrt(outer.phrase.score).toFixed(3));
  return mark;
}

const MOST_DRAWN = 1000; // marks that are drawn one after another: more would take the browser seconds

// Shows a text, of which the first `titled` characters (of JavaScript) are its title.
export function showText(place, text, titled, phrases, fresh) {
  const title = document.createElement("h1");
  const body = document.createElement("p");
  let drawn = 0;
  for (const segment of segments(text, phrases)) {
    // A phrase never runs from the title into the text, but what lies between phrases may.
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
  place.classList.toggle("fresh", fresh && drawn <= MOST_DRAWN);
}
