// Formats keyphrases for the clipboard or a file. A document is {name, title, keyphrases}.

const TEX = {
  "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  "{": "\\{", "}": "\\}", "%": "\\%", "&": "\\&", "#": "\\#", "$": "\\$", _: "\\_",
};
const tex = (text) => text.replace(/[\\{}%&#$_~^]/g, (character) => TEX[character]);
const plain = ({ text, score, present, spans }) => ({ text, score, present, spans });
const lines = (phrases) => phrases.map((one) => `${one.text}\n`).join("");
const keywords = (phrases) => `keywords = {${phrases.map((one) => tex(one.text)).join(", ")}},\n`;

// Formats of the clipboard, for one document.
export const copies = {
  list: lines,
  json: (phrases) => JSON.stringify(phrases.map(plain), null, 2) + "\n",
  bibtex: keywords,
};

const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

function rows({ name, keyphrases }) {
  return keyphrases.map(({ text, score, present, spans }) => {
    const places = spans.map(([start, end]) => `${start}-${end}`).join(" ");
    return [name, text, score.toFixed(4), present ? "yes" : "no", places];
  });
}

function entry({ name, title, keyphrases }, number) {
  const key = name.replace(/\.\w{1,5}$/, "").replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "");
  const head = `@misc{${key || "text"}-${number + 1},\n`;
  return `${head}  title = {${tex(title || name)}},\n  ${keywords(keyphrases)}}\n`;
}

// Formats of files, for one or more documents. JSON and CSV equal those of the command line.
export const downloads = {
  txt: (documents) => (documents.length === 1
    ? lines(documents[0].keyphrases)
    : documents.map(({ name, keyphrases }) => `${name}\n${lines(keyphrases)}`).join("\n")),
  csv: (documents) => {
    const table = [["document", "keyphrase", "score", "present", "spans"], ...documents.flatMap(rows)];
    // The byte order mark tells spreadsheets that this is UTF-8.
    return "\ufeff" + table.map((row) => row.map(cell).join(",") + "\r\n").join("");
  },
  json: (documents) => {
    const objects = documents.map(({ name, keyphrases }) => ({ id: name, keyphrases: keyphrases.map(plain) }));
    return JSON.stringify(objects, null, 2) + "\n";
  },
  bib: (documents) => documents.map(entry).join("\n"),
};

export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Over plain HTTP, browsers offer no clipboard; this old way still works.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser does not allow copying; use Download instead");
}

export function download(kind, documents) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([downloads[kind](documents)]));
  link.download = `keyphrases.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
