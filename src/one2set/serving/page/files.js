// The text of a file. Plain text is read here; the server reads everything else (PDF, DOCX, …).

import { post } from "./requests.js";

const PLAIN = /\.(txt|text)$/i;
const UTF16 = { "255,254": "utf-16le", "254,255": "utf-16be" };

export async function textOf(file, signal, wait) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (PLAIN.test(file.name)) return decode(bytes);
  const path = `v1/text?name=${encodeURIComponent(file.name)}`;
  const { title, text } = await post(path, "application/octet-stream", bytes, signal, wait);
  return title ? `${title}\n${text}` : text;
}

// Decodes UTF-8 or UTF-16, or else Windows-1252.
export function decode(bytes) {
  const wide = UTF16[bytes.slice(0, 2).join()];
  if (wide) return new TextDecoder(wide).decode(bytes);
  if (bytes.includes(0)) throw new Error("This is not a text file, although its name says so.");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
