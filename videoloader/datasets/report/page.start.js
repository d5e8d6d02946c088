// -- The filter and what changes it. --

function filterBy(text) {
  $("filter").value = text;
  $("table").scrollTop = 0;
  update();
}

// Add conditions, in place of others on the same columns; remove them if they are there.
function narrow(text) {
  const [present, added] = [conditions($("filter").value), conditions(text)];
  const has = (all, each) => all.some((one) => one.word === each.word);
  const isThere = added.every((each) => has(present, each));
  const asked = new Set(added.map((each) => each.column));
  const kept = present.filter((each) => (isThere ? !has(added, each) : !each.column || !asked.has(each.column)));
  filterBy(kept.concat(isThere ? [] : added).map((each) => each.word).join(" "));
}

// -- The view as a part of the address: filter, order, columns and the row that is open. --

let saving = 0;

function save() { // browsers refuse more than a few changes a second
  clearTimeout(saving);
  saving = setTimeout(() => {
    const state = new URLSearchParams();
    if (view !== "videos") state.set("view", view);
    if ($("filter").value) state.set("filter", $("filter").value);
    if (sorted) state.set("sort", (sorted[1] < 0 ? "-" : "") + sorted[0].name);
    for (const column of chosen || []) state.append("column", column.name);
    if (picked !== null) state.set("video", value(columns[0], picked));
    if (String(state) || location.hash) history.replaceState(null, "", `#${state}`);
  }, 400);
}

function restore() {
  const state = new URLSearchParams(location.hash.slice(1));
  const [, sign, name] = /^(-?)([^]*)$/.exec(state.get("sort") || "");
  const picks = state.getAll("column").map((each) => byName.get(each)).filter(Boolean);
  sorted = byName.has(name) ? [byName.get(name), sign ? -1 : 1] : null;
  chosen = picks.length ? picks : null;
  $("filter").value = state.get("filter") || "";
  show(state.get("view") === "failures" ? "failures" : "videos");
  let row = 0;
  while (row < count && value(columns[0], row) !== state.get("video")) row++;
  if (row === count) return close();
  const place = order.indexOf(row);
  if (place >= 0) reveal(place);
  pick(row);
}

function show(wanted) {
  view = wanted;
  $("distributions").hidden = view === "failures";
  $("failures").hidden = view !== "failures";
  update();
  menu();
}

// -- The keyboard: arrows walk, / filters, Escape closes. --

function walk(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -count, End: count };
  if (!(event.key in steps) || !order.length) return;
  event.preventDefault();
  const place = Math.min(Math.max(order.indexOf(picked) + steps[event.key], 0), order.length - 1);
  reveal(place);
  pick(order[place]);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== $("filter")) {
    event.preventDefault();
    $("filter").focus();
  } else if (event.key === "Escape") close();
});
$("table").addEventListener("keydown", walk);
$("table").addEventListener("scroll", draw, { passive: true });
window.addEventListener("resize", draw);
window.addEventListener("hashchange", restore);
let waiting = 0;
$("filter").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(update, 120);
});

// -- What is there from the beginning. --

$("title").textContent = data.title;
$("about").textContent = data.about;
for (const [name, text] of data.totals) {
  const made = element("li");
  made.append(element("b", text), element("span", name));
  $("totals").append(made);
}
for (const [label, filter] of data.flags) {
  const number = matching(conditions(filter)).length;
  if (number) $("flags").append(button(`${label}: ${whole.format(number)}`, () => narrow(filter)), " ");
}
if (data.gone.count) {
  $("gone").hidden = false;
  $("gone").querySelector("summary").textContent = `no longer in the data set: ${whole.format(data.gone.count)}`;
  $("gone").querySelector("div").textContent = data.gone.keys.join("\n");
}
data.charts.map((name) => byName.get(name)).filter(Boolean).forEach(makeChart);
makeFailures();
exporting();
restore();
