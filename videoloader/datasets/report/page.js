"use strict";
// The page's data: columns of values, see page.py. Text reaches the page by textContent alone.
const data = JSON.parse(document.getElementById("data").textContent);
const columns = data.columns;
const byName = new Map(columns.map((column) => [column.name, column]));
const count = data.rows;
const HEIGHT = 26;
const BARS = 24;
const $ = (id) => document.getElementById(id);

function element(tag, text, properties) {
  const made = Object.assign(document.createElement(tag), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}

function value(column, row) {
  const found = column.values[row];
  return column.words && found !== null ? column.words[found] : found;
}

function shown(column, row) {
  const found = value(column, row);
  if (found === null || found === undefined) return "";
  if (column.kind !== "number") return String(found);
  if (Number.isInteger(found)) return found.toLocaleString("en");
  return found.toLocaleString("en", { maximumFractionDigits: 2 });
}

// -- Filtering: every word of the filter must hold. --

function tests(text) {
  return (text.match(/"[^"]*"|\S+/g) || []).map((word) => {
    const [, name, sign, wanted] = /^(\w+)(>=|<=|!=|>|<|=|:)(.*)$/.exec(word.replaceAll('"', "")) || [];
    const column = name && byName.get(name);
    if (!column) {
      const part = word.replaceAll('"', "").toLowerCase();
      const searched = columns.filter((each) => each.kind === "text" && !each.words);
      return (row) => searched.some((each) => (each.values[row] || "").toLowerCase().includes(part));
    }
    if (column.kind === "number" && wanted !== "none") {
      const bound = Number(wanted);
      const holds = {
        ">=": (x) => x >= bound, "<=": (x) => x <= bound, ">": (x) => x > bound, "<": (x) => x < bound,
        "=": (x) => x === bound, ":": (x) => x === bound, "!=": (x) => x !== bound,
      }[sign];
      return (row) => column.values[row] !== null && holds(column.values[row]);
    }
    const low = wanted.toLowerCase();
    return (row) => (String(value(column, row) ?? "none").toLowerCase() === low) !== (sign === "!=");
  });
}

let order = new Uint32Array(0);
let sorted = null; // [column, direction]

function update() {
  const wanted = tests($("filter").value);
  const kept = [];
  for (let row = 0; row < count; row++) if (wanted.every((holds) => holds(row))) kept.push(row);
  order = Uint32Array.from(kept);
  if (sorted) {
    const [column, direction] = sorted;
    const ranks = column.kind === "number" ? column.values : ranked(column);
    order.sort((a, b) => {
      const [x, y] = [ranks[a], ranks[b]];
      if (x === null || y === null) return (x === null) - (y === null) || a - b; // missing ones last
      return (x - y) * direction || a - b;
    });
  }
  $("count").textContent = `${order.length.toLocaleString("en")} of ${count.toLocaleString("en")} videos`;
  $("rows").style.height = `${order.length * HEIGHT}px`;
  draw();
}

function ranked(column) { // places of texts in their order, found once
  if (!column.ranks) {
    const texts = Array.from({ length: count }, (_, row) => value(column, row));
    const rows = texts.map((_, row) => row).filter((row) => texts[row] !== null);
    rows.sort((a, b) => (texts[a] < texts[b] ? -1 : texts[a] > texts[b] ? 1 : 0));
    column.ranks = new Array(count).fill(null);
    rows.forEach((row, place) => {
      const before = rows[place - 1];
      column.ranks[row] = place && texts[before] === texts[row] ? column.ranks[before] : place;
    });
  }
  return column.ranks;
}

// -- The table: only the rows that are in view are in the document. --

const template = columns.map((column) => `${column.width}px`).join(" ");
let picked = null;

function draw() {
  const table = $("table");
  const first = Math.max(Math.floor(table.scrollTop / HEIGHT) - 10, 0);
  const last = Math.min(first + Math.ceil(table.clientHeight / HEIGHT) + 20, order.length);
  const rows = [];
  for (let place = first; place < last; place++) {
    const row = order[place];
    const line = element("div", undefined, { className: "row" });
    line.style.gridTemplateColumns = template;
    line.style.top = `${(place + 1) * HEIGHT}px`;
    line.setAttribute("role", "row");
    line.setAttribute("aria-selected", String(row === picked));
    line.onclick = () => pick(row);
    for (const column of columns) {
      const cell = element("span", shown(column, row), { title: shown(column, row) });
      if (column.kind === "number") cell.className = "number";
      if (column.name === "error") cell.className = "bad";
      cell.setAttribute("role", "gridcell");
      line.append(cell);
    }
    rows.push(line);
  }
  $("rows").replaceChildren(...rows);
}

function head() {
  const line = $("head");
  line.style.gridTemplateColumns = template;
  for (const column of columns) {
    const title = element("button", column.label, { type: "button", title: column.about });
    if (column.kind === "number") title.className = "number";
    title.onclick = () => {
      const direction = sorted && sorted[0] === column ? -sorted[1] : 1;
      sorted = [column, direction];
      for (const other of line.children) other.removeAttribute("aria-sort");
      title.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      columns.forEach((each, place) => {
        const arrow = each === column ? (direction > 0 ? " ▲" : " ▼") : "";
        line.children[place].textContent = each.label + arrow;
      });
      update();
    };
    line.append(title);
  }
}

// -- One video: its facts, its timeline and its pictures. --

function fact(list, name, text) {
  if (text === "") return;
  list.append(element("dt", name), element("dd", text));
}

async function pick(row) {
  picked = row;
  draw();
  $("work").className = "picked";
  const panel = $("panel");
  panel.hidden = false;
  const list = element("dl");
  for (const column of columns) fact(list, column.label, shown(column, row));
  const place = element("div");
  panel.replaceChildren(element("h2", shown(columns[0], row)), place, list);
  let pictures = data.pictures[row];
  if (!pictures && data.live && !shown(byName.get("error"), row)) {
    place.replaceChildren(element("p", "decoding ...", { className: "note" }));
    try {
      const answer = await fetch(`pictures/${row}`);
      pictures = answer.ok ? await answer.json() : { failure: await answer.text() };
    } catch (error) {
      pictures = { failure: `no answer from the server (${error.message})` };
    }
    if (picked !== row) return;
  }
  place.replaceChildren();
  if (!pictures) {
    if (!data.live) place.append(element("p", data.without, { className: "note" }));
    return;
  }
  if (pictures.failure) place.append(element("p", pictures.failure, { className: "bad" }));
  if (pictures.timeline) place.append(element("img", undefined, { src: pictures.timeline, alt: "Sizes of the frames over time, with keyframes" }));
  if (pictures.sheet) place.append(element("img", undefined, { src: pictures.sheet, alt: "Frames at equal distances" }));
}

// -- Distributions; a click on a bar filters by it. --

function filterBy(text) {
  $("filter").value = text;
  update();
  $("table").scrollTop = 0;
}

function histogram(column) {
  const found = column.values.filter((x) => x !== null);
  if (!found.length) return null;
  let [least, most] = [Infinity, -Infinity];
  for (const x of found) { if (x < least) least = x; if (x > most) most = x; }
  if (least === most) return values(column);
  const small = found.filter((x) => x > 0).sort((a, b) => a - b);
  const foot = small[Math.floor(small.length / 50)]; // what is below it is in the first bar
  const isWide = most / foot > 30 && least >= 0; // then on a logarithmic scale
  const [low, high] = isWide ? [Math.log(foot), Math.log(most)] : [least, most];
  const edge = (bar) => {
    const at = low + ((high - low) * bar) / BARS;
    return isWide ? Math.exp(at) : at;
  };
  const bars = new Array(BARS).fill(0);
  for (const x of found) {
    const at = ((isWide ? Math.log(x) : x) - low) / (high - low);
    bars[Math.max(Math.min(Math.floor(at * BARS), BARS - 1), 0)]++;
  }
  const tallest = Math.max(...bars);
  const line = element("div", undefined, { className: "bars" });
  const round = (x) => Number(x.toPrecision(4));
  bars.forEach((bar, place) => {
    const [from, to] = [place ? edge(place) : least, place < BARS - 1 ? edge(place + 1) : most];
    const title = `${round(from)} to ${round(to)}: ${bar.toLocaleString("en")}`;
    const made = element("button", undefined, { type: "button", title });
    made.setAttribute("aria-label", `${column.label} ${title}`);
    made.style.height = bar ? `${Math.max((100 * bar) / tallest, 2)}%` : "0";
    const sign = place < BARS - 1 ? "<" : "<=";
    made.onclick = () => filterBy(`${column.name}>=${from} ${column.name}${sign}${to}`);
    line.append(made);
  });
  const ends = element("div", undefined, { className: "ends" });
  ends.append(element("span", `${round(least)}`), element("span", isWide ? "logarithmic" : ""), element("span", `${round(most)}`));
  return [line, ends];
}

function values(column) {
  const counts = new Map();
  for (let row = 0; row < count; row++) {
    const found = value(column, row);
    if (found !== null) counts.set(found, (counts.get(found) || 0) + 1);
  }
  if (!counts.size) return null;
  const most = [...counts].sort((a, b) => b[1] - a[1]);
  const list = element("div", undefined, { className: "values" });
  for (const [found, times] of most.slice(0, 5)) {
    const made = element("button", undefined, { type: "button" });
    made.style.setProperty("--part", `${(100 * times) / most[0][1]}%`);
    made.append(element("span", String(found)), element("span", times.toLocaleString("en")));
    made.onclick = () => filterBy(`${column.name}:${/\s/.test(found) ? `"${found}"` : found}`);
    list.append(made);
  }
  if (most.length > 5) list.append(element("div", `and ${most.length - 5} more`, { className: "note" }));
  return [list];
}

function charts() {
  for (const name of data.charts) {
    const column = byName.get(name);
    if (!column) continue;
    const made = column.kind === "number" ? histogram(column) : values(column);
    if (!made) continue;
    const card = element("div", undefined, { className: "card" });
    card.append(element("h2", column.label, { title: column.about }), ...made);
    $("charts").append(card);
  }
}

// -- The keyboard: arrows walk, / filters, Escape closes. --

function walk(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -count, End: count };
  if (!(event.key in steps) || !order.length) return;
  event.preventDefault();
  const at = order.indexOf(picked);
  const place = Math.min(Math.max(at + steps[event.key], 0), order.length - 1);
  const table = $("table");
  const [top, bottom] = [place * HEIGHT, (place + 2) * HEIGHT]; // the head covers a row
  if (top < table.scrollTop) table.scrollTop = top;
  if (bottom > table.scrollTop + table.clientHeight) table.scrollTop = bottom - table.clientHeight;
  pick(order[place]);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== $("filter")) {
    event.preventDefault();
    $("filter").focus();
  } else if (event.key === "Escape") {
    $("panel").hidden = true;
    $("work").className = "";
    picked = null;
    draw();
  }
});
$("table").addEventListener("keydown", walk);
$("table").addEventListener("scroll", draw, { passive: true });
window.addEventListener("resize", draw);
let waiting = 0;
$("filter").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(update, 120);
});
$("title").textContent = data.title;
$("about").textContent = data.about;
for (const [name, text] of data.totals) {
  const made = element("li");
  made.append(element("b", text), element("span", name));
  $("totals").append(made);
}
for (const [label, filter] of data.flags) {
  const wanted = tests(filter);
  let number = 0;
  for (let row = 0; row < count; row++) number += wanted.every((holds) => holds(row));
  if (!number) continue;
  const made = element("button", `${label}: ${number.toLocaleString("en")}`, { type: "button" });
  made.onclick = () => filterBy(filter);
  $("flags").append(made, " ");
}
if (data.skipped.text) {
  $("skipped").hidden = false;
  $("skipped").querySelector("summary").textContent = `skipped while indexing: ${data.skipped.text}`;
  for (const [path, reason] of data.skipped.paths) fact($("skipped").querySelector("dl"), path, reason);
}
head();
charts();
update();
