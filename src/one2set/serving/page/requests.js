// Requests to the server, with a token if it requires one, and again later if it is busy.

const $ = (id) => document.getElementById(id);
let token = "";

// Posts a request and returns the answer. `wait` is called with a message if the server is busy.
export async function post(path, type, body, signal, wait) {
  const headers = { "Content-Type": type };
  if (token) headers.Authorization = `Bearer ${encodeHeader(token)}`;
  let response;
  try {
    response = await fetch(path, { method: "POST", headers, body, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Error("The server cannot be reached. Check that it is running, then try again.");
  }
  if (response.ok) return response.json();
  if (response.status === 401 && await askForToken()) return post(path, type, body, signal, wait);
  if (response.status === 429) {
    const seconds = Number(response.headers.get("Retry-After")) || 1;
    wait(`The server is busy. Trying again in ${seconds} s …`);
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    if (!signal.aborted) return post(path, type, body, signal, wait);
  }
  const answer = await response.json().catch(() => ({}));
  const detail = answer.detail ?? `The server answered ${response.status}`;
  throw new Error(`${detail[0].toUpperCase()}${detail.slice(1)}.`);
}

// A header holds bytes, which JavaScript writes as characters up to 255: those of UTF-8, as the
// server compares them.
function encodeHeader(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

// Returns whether there is a token to try; Escape gives none.
function askForToken() {
  const dialog = $("asking");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    token = dialog.returnValue === "given" ? $("token").value : "";
    resolve(token !== "");
  }, { once: true }));
}
