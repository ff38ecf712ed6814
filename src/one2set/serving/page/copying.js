// Keyphrases as text for somewhere else, and the clipboard.

const TEX = {
  "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  "{": "\\{", "}": "\\}", "%": "\\%", "&": "\\&", "#": "\\#", "$": "\\$", _: "\\_",
};

export const formats = {
  list: (phrases) => phrases.map((one) => one.text).join("\n") + "\n",

  // What the API and the command line write.
  json: (phrases) =>
    JSON.stringify(phrases.map(({ text, score, present, spans }) => ({ text, score, present, spans })), null, 2) + "\n",

  bibtex: (phrases) =>
    `keywords = {${phrases.map((one) => one.text.replace(/[\\{}%&#$_~^]/g, (c) => TEX[c])).join(", ")}},\n`,
};

export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Browsers keep the clipboard from pages that came over plain HTTP; this old way still works.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser does not let the page copy");
}
