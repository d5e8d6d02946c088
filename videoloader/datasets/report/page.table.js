// -- The table: only the rows that are in view are in the document. --

const HEIGHT = 26;
const FAILURES = ["key", "error_kind", "error", "damaged_frames", "failure_reason", "size"]; // columns
const FAILED = byName.has("damaged_frames") ? "failure_reason!=none" : "error!=none";
let order = new Uint32Array(0); // rows of the filter, as they are sorted
let sorted = null; // [column, direction]
let chosen = null; // columns that were picked
let view = "videos"; // or failures
let picked = null; // the row that is open

function visible() {
  if (chosen) return chosen;
  if (view === "failures") return FAILURES.map((name) => byName.get(name)).filter(Boolean);
  return columns.filter((each) => each.name !== "failure_reason" && !(each.words && each.words.every((x) => x === null)));
}

function wanted() {
  return conditions((view === "failures" ? `${FAILED} ` : "") + $("filter").value);
}

function update() { // after a change of the filter
  order = Uint32Array.from(matching(wanted()));
  for (const draw of charts) draw(order);
  $("count").textContent = `${whole.format(order.length)} of ${whole.format(count)} videos`;
  $("rows").style.height = `${order.length * HEIGHT}px`;
  arrange();
}

function arrange() { // after a change of the order or the columns
  if (sorted) {
    const [column, direction] = sorted;
    const ranks = ranked(column);
    order.sort((a, b) => {
      const x = ranks[a];
      const y = ranks[b];
      if (x !== x || y !== y) return (x !== x) - (y !== y) || a - b; // missing ones last
      return (x - y) * direction || a - b;
    });
  }
  head();
  draw();
  save();
}

function ranked(column) { // numbers that are sorted as the values are, NaN for missing ones
  if (!column.ranks) {
    let ranks = column.words || column.values;
    if (column.kind === "text") {
      const texts = ranks;
      const places = [...texts.keys()].filter((place) => texts[place] !== null);
      places.sort((a, b) => (texts[a] < texts[b] ? -1 : texts[a] > texts[b] ? 1 : 0));
      ranks = new Array(texts.length).fill(null);
      places.forEach((at, place) => {
        const before = places[place - 1];
        ranks[at] = place && texts[before] === texts[at] ? ranks[before] : place;
      });
    }
    ranks = Float64Array.from(ranks, (x) => (x === null ? NaN : Number(x)));
    column.ranks = column.words ? Float64Array.from(column.values, (code) => ranks[code]) : ranks;
  }
  return column.ranks;
}

const layout = () => visible().map((each) => (each.isLong ? "360px" : each.kind === "number" ? "96px" : "120px")).join(" ");

function draw() {
  const table = $("table");
  const first = Math.max(Math.floor(table.scrollTop / HEIGHT) - 10, 0);
  const last = Math.min(first + Math.ceil(table.clientHeight / HEIGHT) + 20, order.length);
  const [places, template] = [visible(), layout()];
  const rows = [];
  for (let place = first; place < last; place++) {
    const row = order[place];
    const line = element("div", undefined, { className: "row", onclick: () => pick(row) });
    line.style.gridTemplateColumns = template;
    line.style.top = `${(place + 1) * HEIGHT}px`;
    line.setAttribute("role", "row");
    line.setAttribute("aria-selected", String(row === picked));
    for (const column of places) {
      const text = shown(column, row);
      const cell = element("span", text, { title: text });
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
  const focused = [...$("head").children].indexOf(document.activeElement);
  $("head").style.gridTemplateColumns = layout();
  $("head").replaceChildren(...visible().map((column) => {
    const direction = sorted && sorted[0] === column ? sorted[1] : 0;
    const arrow = ["", " ▲", " ▼"].at(direction);
    const title = button(column.label + arrow, () => sortBy(column), { title: column.about });
    if (column.kind === "number") title.className = "number";
    if (direction) title.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    return title;
  }));
  if (focused >= 0) $("head").children[focused]?.focus();
}

function sortBy(column) { // and back
  sorted = [column, sorted && sorted[0] === column ? -sorted[1] : 1];
  arrange();
}

function reveal(place) { // the head covers a row
  const table = $("table");
  const [top, bottom] = [place * HEIGHT, (place + 2) * HEIGHT];
  if (top < table.scrollTop) table.scrollTop = top;
  if (bottom > table.scrollTop + table.clientHeight) table.scrollTop = bottom - table.clientHeight;
}

function menu() { // of the columns
  const list = $("columns").querySelector("div");
  list.replaceChildren(...columns.map((column) => {
    const box = element("input", undefined, { type: "checkbox", checked: visible().includes(column) });
    box.onchange = () => {
      const before = visible();
      chosen = columns.filter((each) => (each === column ? box.checked : before.includes(each)));
      arrange();
    };
    const label = element("label", undefined, { title: column.about });
    label.append(box, column.label);
    return label;
  }), button("as at first", () => {
    chosen = null;
    arrange();
    menu();
  }));
}
