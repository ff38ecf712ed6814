// Storage in the browser: the text in the editor, the texts of this session, and links.

// The text is stored for the browser, the session for the tab. Storage may be forbidden or full.
const places = { text: () => localStorage, session: () => sessionStorage };

function store(name, value) {
  try {
    if (value) places[name]().setItem(name, value);
    else places[name]().removeItem(name);
  } catch {
    // Then only a reload loses it.
  }
}

function stored(name) {
  try {
    return places[name]().getItem(name) ?? "";
  } catch {
    return "";
  }
}

export const saveText = (text) => store("text", text);
export const loadText = () => stored("text");

// ---------------------------------------------------------------- the session

const MAX_DOCUMENTS = 200;

// [{name, title, text, keyphrases}], and the `answer` unless the page was reloaded since.
export let session = [];
try {
  session = JSON.parse(stored("session") || "[]");
} catch {
  // Written by an earlier version of the page.
}

const saveSession = () =>
  store("session", session.length && JSON.stringify(session.map(({ answer, ...rest }) => rest)));

// A text of the session is replaced in place.
export function addToSession(document) {
  const at = session.findIndex(({ text }) => text === document.text);
  if (at >= 0) session[at] = document;
  else session.push(document);
  session.splice(0, session.length - MAX_DOCUMENTS);
  saveSession();
}

export function clearStorage() {
  session = [];
  store("text", "");
  store("session", "");
}

// ---------------------------------------------------------------- links

const MAX_LINK = 20_000; // characters; some programs truncate longer links

// A link that contains a text. Browsers do not send what follows the # to a server.
export function makeLink(text) {
  const link = `${location.origin}${location.pathname}#text=${encodeURIComponent(text.toWellFormed?.() ?? text)}`;
  if (link.length <= MAX_LINK) return link;
  throw new Error("The text is too long for a link. Send it as a file instead.");
}

// The text in the link that opened the page, or "".
export function readLink() {
  if (!location.hash.startsWith("#text=")) return "";
  const given = location.hash.slice("#text=".length);
  history.replaceState(null, "", location.pathname); // the text may change from now on
  try {
    return decodeURIComponent(given);
  } catch {
    throw new Error("The link is damaged. Ask the sender for it again, or for the text.");
  }
}
