// What this browser keeps: the text that is written, the texts of this session, and links.

// The text is kept in this browser, the session in this tab. Storage may be forbidden or full.
const places = { text: () => localStorage, session: () => sessionStorage };

function store(name, value) {
  try {
    if (value) places[name]().setItem(name, value);
    else places[name]().removeItem(name);
  } catch {
    // Then it is gone after a reload, and nothing else is.
  }
}

function stored(name) {
  try {
    return places[name]().getItem(name) ?? "";
  } catch {
    return "";
  }
}

export const keepText = (text) => store("text", text);
export const keptText = () => stored("text");

// ---------------------------------------------------------------- the session

const MOST = 200; // documents

// [{name, title, text, keyphrases}], and an `answer` for those that this page has seen itself.
export let session = [];
try {
  session = JSON.parse(stored("session") || "[]");
} catch {
  // Of an earlier version of the page.
}

const keepSession = () =>
  store("session", session.length && JSON.stringify(session.map(({ answer, ...rest }) => rest)));

// A text that is there already is replaced, at its place.
export function remember(document) {
  const at = session.findIndex((one) => one.text === document.text);
  if (at >= 0) session[at] = document;
  else session.push(document);
  session.splice(0, session.length - MOST);
  keepSession();
}

export function forget() {
  session = [];
  store("text", "");
  store("session", "");
}

// ---------------------------------------------------------------- links

const LONGEST = 20_000; // characters of a link: programs cut off longer ones

// A link that brings a text with it. Browsers never send what stands behind the #.
export function linkOf(text) {
  const link = `${location.origin}${location.pathname}#text=${encodeURIComponent(text.toWellFormed?.() ?? text)}`;
  if (link.length <= LONGEST) return link;
  throw new Error("The text is too long for a link. Send it as a file instead.");
}

// The text that a link brought; "" if it brought none.
export function linkedText() {
  if (!location.hash.startsWith("#text=")) return "";
  const given = location.hash.slice("#text=".length);
  history.replaceState(null, "", location.pathname); // from now on the text may change
  try {
    return decodeURIComponent(given);
  } catch {
    throw new Error("The link is damaged. Ask for it again, or for the text.");
  }
}
