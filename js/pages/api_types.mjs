/** Writes the types of what a collector answers, from the description of its API (spec/api.json). */

/** A file of types, from the parsed description. */
export function composeTypes({ components }) {
  const interfaces = Object.entries(components.schemas).map(([name, schema]) =>
    composeInterface(name, schema),
  );
  const head =
    "/** Lists what a collector answers, as spec/api.json describes it. Made by build.mjs: do not edit it. */\n";
  return [head, ...interfaces].join("\n");
}

function composeInterface(name, { description, properties, required = [] }) {
  const fields = Object.entries(properties).map(([field, schema]) => {
    // a default that is not null is always sent
    const isSent = required.includes(field) || (schema.default ?? null) !== null;
    const mark = isSent ? "" : "?";
    return `${comment(schema.description, "  ")}  readonly ${field}${mark}: ${typeOf(schema)};\n`;
  });
  return `${comment(description, "")}export interface ${name} {\n${fields.join("")}}\n`;
}

function comment(text, indent) {
  return text ? `${indent}/** ${text} */\n` : "";
}

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(" | ");
  if (schema.type === "array" && schema.prefixItems)
    return `readonly [${schema.prefixItems.map(typeOf).join(", ")}]`;
  if (schema.type === "array") {
    const item = typeOf(schema.items);
    return `readonly ${item.includes(" ") ? `(${item})` : item}[]`;
  }
  if (schema.type === "object") {
    const values = schema.additionalProperties ? typeOf(schema.additionalProperties) : "unknown";
    return `Readonly<Record<string, ${values}>>`;
  }
  const type = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" }[
    schema.type
  ];
  if (!type) throw new Error(`no type is known for ${JSON.stringify(schema)}`);
  return type;
}
