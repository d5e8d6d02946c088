// -- What is filtered, in its order, as files and as a query. --

function download(name, blob) {
  const link = element("a", undefined, { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function asLine(path) { // a line of a list is stripped, and with # it is a comment
  const isLine = !/^[#\s\x1c-\x1f\x85]|[\s\x1c-\x1f\x85]$|[\r\n]/.test(path);
  return isLine ? path : `file:${path.split("/").map(encodeURIComponent).join("/")}`;
}

function paths() { // below the root of the data set
  return Array.from(order, (row) => `${asLine(value(columns[0], row))}\n`);
}

function csv() {
  const cell = (found) => {
    const text = found === null ? "" : String(found);
    return /[",\r\n]/.test(text) || found === "" ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const of = visible();
  const line = (found) => `${found.map(cell).join(",")}\n`;
  return [line(of.map((each) => each.name)), ...Array.from(order, (row) => line(of.map((each) => value(each, row))))];
}

function json() {
  const of = visible();
  const line = (row) => JSON.stringify(Object.fromEntries(of.map((each) => [each.name, value(each, row)])));
  return ["[", Array.from(order, line).join(",\n"), "]\n"];
}

async function fetched(kind) { // made by the server, with all columns and whole paths
  const answer = await ask(`export/${kind}`, { method: "POST", body: order });
  $("told").textContent = answer.failure || "";
  return answer.failure ? null : answer.blob();
}

const stem = data.title.replace(/\.parquet$/, "");
const exports = {
  "paths (.txt)": async () => [`${stem}.paths.txt`, data.played ? await fetched("paths") : new Blob(paths())],
  "table (.csv)": () => [`${stem}.csv`, new Blob(csv())],
  "table (.json)": () => [`${stem}.json`, new Blob(json())],
};
if (data.played) exports["data set index (.parquet)"] = async () => [`${stem}.part.parquet`, await fetched("parquet")];

function exporting() {
  const box = $("export").querySelector("div");
  for (const [label, make] of Object.entries(exports)) {
    box.append(button(label, async () => {
      const [target, blob] = await make();
      if (blob) download(target, blob);
    }));
  }
  const query = element("input", undefined, { id: "query", readOnly: true, onfocus: () => query.select() });
  const label = element("label", "for videoloader query: ");
  label.append(query);
  box.append(label, element("p", undefined, { id: "told", className: "bad" }));
  $("export").ontoggle = () => { query.value = sql(wanted()); };
}
