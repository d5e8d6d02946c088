// -- Distributions: all rows pale, those of the filter in colour. --

const BARS = 24;
const FEW = 5; // values that have a bar each; more numbers are divided into ranges
const REASONS = 200; // of failures that are listed
const charts = []; // functions that draw the rows of the filter

// A bar for each of the most frequent values; others and missing ones are behind the last.
function common(column, most) {
  const counts = new Map();
  for (let row = 0; row < count; row++) {
    const found = value(column, row);
    if (found !== null) counts.set(found, (counts.get(found) || 0) + 1);
  }
  const values = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  const places = new Map(values.slice(0, most).map((found, place) => [found, place]));
  const said = (found) => (column.kind === "number" ? found : asText(found));
  return {
    labels: values.slice(0, most).map(asText),
    bar: (found) => places.get(found) ?? places.size,
    filter: (place) => word(column.name, ":", said(values[place])),
    ends: values.length > most ? [`and ${whole.format(values.length - most)} more`] : [],
  };
}

// Bars of ranges of numbers.
function histogram(column) {
  const sorted = Float64Array.from((column.words || column.values).filter((x) => x !== null)).sort();
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  const above = sorted.filter((x) => x > 0);
  const foot = above[Math.floor(above.length / 50)]; // what is below it is in the first bar
  const isWide = most / foot > 30 && least >= 0; // then on a logarithmic scale
  const [low, high] = isWide ? [Math.log(foot), Math.log(most)] : [least, most];
  const at = (bar) => {
    const exact = low + ((high - low) * bar) / BARS;
    return isWide ? Math.exp(exact) : exact;
  };
  const inner = Array.from({ length: BARS - 1 }, (_, place) => {
    const [edge, next] = [at(place + 1), at(place + 2)];
    const digits = Math.ceil(Math.log10(Math.abs(edge) / (next - edge))) + 2; // that tell bars apart
    return Number(edge.toPrecision(Math.min(Math.max(digits, 1), 15)));
  });
  const edges = [least, ...inner, most];
  return {
    labels: inner.concat(most).map((to, place) => `${asText(edges[place])} to ${asText(to)}`),
    bar: (x) => {
      if (x === null) return BARS;
      let [first, last] = [0, inner.length]; // how many edges are not above it
      while (first < last) {
        const middle = (first + last) >> 1;
        if (inner[middle] <= x) first = middle + 1;
        else last = middle;
      }
      return first;
    },
    filter: (first, last) => {
      const words = first ? [word(column.name, ">=", edges[first])] : [];
      if (last < BARS - 1) words.push(word(column.name, "<", edges[last + 1]));
      return words.join(" ") || word(column.name, "!=", "none");
    },
    ends: [short.format(least), isWide ? "log" : "", short.format(most)],
  };
}

// Buttons that filter; they show how many of their rows are in the filter.
function makeBars(column, isRange, { labels, bar, filter }) {
  const places = new Uint16Array(count);
  const of = byRow(column, bar);
  for (let row = 0; row < count; row++) places[row] = of(row);
  const tally = (rows) => {
    const found = new Uint32Array(labels.length + 1);
    for (const row of rows) found[places[row]]++;
    return found.subarray(0, labels.length);
  };
  const totals = tally(places.keys());
  const most = Math.max(...totals);
  const bars = labels.map((label, place) => {
    // Of ranges the whole chart follows a pointer; `detail` is 0 for a key.
    const made = button(undefined, (event) => (isRange && event.detail ? null : narrow(filter(place, place))));
    made.style.setProperty("--all", `${(100 * totals[place]) / most}%`);
    if (!isRange) made.append(element("span", label), element("span"));
    return made;
  });
  charts.push((rows) => {
    const kept = tally(rows);
    bars.forEach((made, place) => {
      const [part, all] = [whole.format(kept[place]), whole.format(totals[place])];
      const number = kept[place] === totals[place] ? all : `${part} of ${all}`;
      made.title = `${labels[place]}: ${number}`;
      made.setAttribute("aria-label", `${column.label} ${made.title}`);
      made.style.setProperty("--kept", `${(100 * kept[place]) / (isRange ? totals[place] || 1 : most)}%`);
      if (!isRange) made.lastChild.textContent = number;
    });
  });
  return bars;
}

function ending(texts) {
  const made = element("div", undefined, { className: "ends" });
  made.append(...texts.map((text) => element("span", text)));
  return made;
}

function makeChart(column) {
  const known = (column.words || column.values).filter((x) => x !== null).length; // about
  const isRange = column.kind === "number" && known > FEW;
  const chart = isRange ? histogram(column) : common(column, FEW);
  const bars = makeBars(column, isRange, chart);
  if (bars.length === 1) {
    bars[0].prepend(`${column.label}: `);
    $("same").append(bars[0]);
  } else if (bars.length) {
    const list = element("div", undefined, { className: isRange ? "bars" : "values" });
    list.append(...bars);
    if (isRange) brush(list, bars, chart.filter);
    const card = element("div", undefined, { className: "card" });
    card.append(element("h2", column.label, { title: column.about }), list, ending(chart.ends));
    $("charts").append(card);
  }
}

// The failures: how many files have which reason, and what was skipped while indexing.
function makeFailures() {
  const column = byName.get("failure_reason");
  const reasons = common(column, REASONS);
  $("failures").firstChild.append(...makeBars(column, false, reasons), ending(reasons.ends));
  const { text, paths } = data.skipped;
  if (text) {
    $("skipped").hidden = false;
    $("skipped").querySelector("summary").textContent = `skipped while indexing: ${text}`;
    for (const [path, why] of paths) fact($("skipped").querySelector("dl"), path, why);
  }
  const number = whole.format(matching(conditions(FAILED)).length);
  $("views").hidden = number === "0" && !text;
  for (const [name, label] of [["videos", "all videos"], ["failures", `failures: ${number}${text ? ", and skipped files" : ""}`]]) {
    const made = button(label, () => show(name));
    charts.push(() => made.setAttribute("aria-pressed", String(view === name)));
    $("views").append(made);
  }
}

// A pointer that is drawn over bars, or clicks one, filters by their range.
function brush(list, bars, filter) {
  let first = null;
  const under = (event) => {
    const { left, width } = list.getBoundingClientRect();
    const place = Math.floor(((event.clientX - left) / width) * bars.length);
    return Math.min(Math.max(place, 0), bars.length - 1);
  };
  const mark = (low, high) => bars.forEach((each, place) => each.classList.toggle("brushed", place >= low && place <= high));
  const range = (event) => [Math.min(first, under(event)), Math.max(first, under(event))];
  list.onpointerdown = (event) => {
    if (event.button) return; // not the main one
    first = under(event);
    list.setPointerCapture(event.pointerId);
    mark(first, first);
  };
  list.onpointermove = (event) => first !== null && mark(...range(event));
  list.onpointerup = (event) => {
    if (first !== null) narrow(filter(...range(event)));
    list.onpointercancel();
  };
  list.onpointercancel = () => {
    first = null;
    mark(1, 0);
  };
}
