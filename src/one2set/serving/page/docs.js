// The HTTP API as a page, from its OpenAPI description.

const $ = (id) => document.getElementById(id);

function element(tag, ...contents) {
  const made = document.createElement(tag);
  made.append(...contents);
  return made;
}

function table(...rows) {
  const made = element("table");
  made.append(...rows.map((cells) => element("tr", ...cells.map((cell) => element("td", cell)))));
  return made;
}

const pretty = (value) => element("pre", JSON.stringify(value, null, 2));

// The type of a field, in words.
function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(" or ");
  if (schema.type === "array") return schema.items ? `list of ${typeOf(schema.items)}` : "list";
  return schema.type ?? "anything";
}

function fields(schema) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const needed = schema.required?.includes(name) ? "" : "optional";
    return [name, typeOf(field), field.description ?? "", needed];
  });
  return table(...rows);
}

function operation(api, path, method, description) {
  const parts = [element("h2", `${method.toUpperCase()} ${path}`), element("p", description.description ?? description.summary)];
  const resolve = (schema) => (schema?.$ref ? api.components.schemas[typeOf(schema)] : schema);
  if (description.parameters?.length) {
    parts.push(element("h3", "Query parameters"), table(...description.parameters.map((field) =>
      [field.name, typeOf(field.schema), field.description ?? "", field.required ? "" : "optional"])));
  }
  const [type, body] = Object.entries(description.requestBody?.content ?? {})[0] ?? [];
  const schema = resolve(body?.schema);
  if (type) parts.push(element("h3", `Request: ${type}`));
  if (schema?.properties) parts.push(fields(schema), ...(schema.examples ?? []).map(pretty));
  const answer = resolve(description.responses[200]?.content?.["application/json"]?.schema);
  if (answer?.properties) parts.push(element("h3", "Answer"), fields(answer), ...(answer.examples ?? []).map(pretty));
  const errors = Object.entries(description.responses).filter(([status]) => status !== "200");
  if (errors.length) {
    parts.push(element("h3", "Errors"), table(...errors.map(([status, response]) => [status, response.description])));
  }
  return parts;
}

const root = new URL(".", location.href).href;
$("example").textContent = `curl ${root}v1/keyphrases \\
  -H 'Content-Type: application/json' \\
  -d '{"documents": ["We forecast traffic with graph neural networks."], "top": 3}'`;

const api = await (await fetch("openapi.json")).json();
const shapes = Object.entries(api.components.schemas)
  .filter(([name, schema]) => schema.properties && !name.endsWith("Request"))
  .flatMap(([name, schema]) => [element("h3", name), element("p", schema.description ?? ""), fields(schema)]);
$("paths").replaceChildren(
  ...Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, description]) => operation(api, path, method, description))),
  element("h2", "Objects"),
  ...shapes,
);
