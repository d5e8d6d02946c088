// -- The filter: words that must all hold, such as codec:av1 height>=720 "part of a name". --

const WORD = /(?:[^\s"]|"(?:[^"]|"")*(?:"|$))+/g; // "" is a quote in quotes
const searched = columns.filter((column) => column.isLong && column.sql);

function conditions(text) {
  return (text.match(WORD) || []).map((word) => {
    const plain = word.replace(/"((?:[^"]|"")*)(?:"|$)/g, (_, part) => part.replaceAll('""', '"'));
    const [, name, sign, wanted] = /^([^<>=!:]+)(>=|<=|!=|>|<|=|:)([^]*)$/.exec(plain) || [];
    const column = byName.get(name);
    const isOne = column && (column.kind === "number" || !/[<>]/.test(sign));
    return isOne ? { word, column, sign, wanted } : { word, part: plain.toLowerCase() };
  });
}

function word(name, sign, wanted) {
  const quoted = (part) => (/[\s"]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part);
  return quoted(name) + sign + quoted(String(wanted));
}

const bound = (wanted) => Number(wanted.replaceAll(",", ""));

// Whether a row meets a condition, as a function of its number.
function test({ column, sign, wanted, part }) {
  if (!column) {
    const all = searched.map((each) => byRow(each, (x) => x !== null && x.toLowerCase().includes(part)));
    return (row) => all.some((holds) => holds(row));
  }
  if (wanted === "none") return byRow(column, (x) => (x === null) === (sign !== "!="));
  if (column.kind === "number") {
    const limit = bound(wanted);
    const holds = {
      ">=": (x) => x >= limit, "<=": (x) => x <= limit, ">": (x) => x > limit, "<": (x) => x < limit,
      "=": (x) => x === limit, ":": (x) => x === limit, "!=": (x) => x !== limit,
    }[sign];
    return byRow(column, (x) => x !== null && holds(x));
  }
  const low = wanted.toLowerCase();
  return byRow(column, (x) => (x !== null && asText(x).toLowerCase() === low) === (sign !== "!="));
}

function matching(wanted) {
  const holds = wanted.map(test);
  const kept = [];
  for (let row = 0; row < count; row++) if (holds.every((each) => each(row))) kept.push(row);
  return kept;
}

// -- The same conditions in SQL, for `videoloader query` and `DatasetIndex.query`. --

const literal = (text) => `'${text.replaceAll("'", "''")}'`;

function sql(wanted) {
  return wanted.map(condition).join(" and ") || "true";
}

function condition({ column, sign, wanted, part }) {
  if (!column) {
    const parts = searched.map((one) => `contains(lower(${one.sql}), ${literal(part)})`);
    return parts.length > 1 ? `(${parts.join(" or ")})` : parts[0];
  }
  if (column.sql && wanted === "none") return `${column.sql} is ${sign === "!=" ? "not " : ""}null`;
  if (column.sql && column.kind === "number") {
    const limit = bound(wanted);
    const digits = String(limit).replace(/\D/g, "").length; // of more than 15, SQL rounds decimals
    const number = digits > 15 && !/e/.test(limit) ? `${limit}e0` : String(limit);
    if (Number.isFinite(limit)) return `${column.sql} ${sign === ":" ? "=" : sign} ${number}`;
  } else if (column.sql) {
    const low = wanted.toLowerCase();
    const isTruth = column.kind === "truth";
    const known = isTruth ? { yes: "true", no: "false" }[low] : literal(low);
    const name = isTruth ? column.sql : `lower(${column.sql})`;
    if (known) return `${name} ${sign === "!=" ? "is distinct from" : "="} ${known}`;
  }
  return `row in (${matching([{ column, sign, wanted }]).join(", ") || "null"})`; // of what the index has no column
}
