// Questions to the server, which may want a token, or some patience.

const $ = (id) => document.getElementById(id);
let token = "";

// What the server answers to a POST. `wait` is told when the server is busy.
export async function post(path, type, body, signal, wait) {
  const headers = { "Content-Type": type };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { method: "POST", headers, body, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Error("The server cannot be reached. Check that it still runs, then try again.");
  }
  if (response.ok) return response.json();
  if (response.status === 401 && await askForToken()) return post(path, type, body, signal, wait);
  if (response.status === 429) {
    const seconds = Number(response.headers.get("Retry-After")) || 1;
    wait(`The server is busy. Trying again in ${seconds} s …`);
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    if (!signal.aborted) return post(path, type, body, signal, wait);
  }
  const told = await response.json().catch(() => ({}));
  const what = told.detail ?? `The server answered ${response.status}`;
  throw new Error(`${what[0].toUpperCase()}${what.slice(1)}.`);
}

function askForToken() {
  const dialog = $("asking");
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    token = $("token").value;
    resolve(token !== "");
  }, { once: true }));
}
