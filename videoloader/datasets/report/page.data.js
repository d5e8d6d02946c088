"use strict";
// The data of the page, see columns.py. Text reaches the page by textContent alone.
const data = JSON.parse(document.getElementById("data").textContent);
const columns = data.columns;
const byName = new Map(columns.map((column) => [column.name, column]));
const count = data.rows;
const $ = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");
const large = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const small = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

for (const column of columns) column.values ||= new Uint8Array(count); // all have the only word

function element(tag, text, properties) {
  const made = Object.assign(document.createElement(tag), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}

function button(text, action, properties) {
  return element("button", text, { type: "button", onclick: action, ...properties });
}

function value(column, row) {
  const found = column.values[row];
  return column.words ? column.words[found] : found;
}

function asText(found) {
  if (found === null) return "";
  if (typeof found === "boolean") return found ? "yes" : "no";
  if (typeof found !== "number") return found;
  if (Number.isInteger(found)) return whole.format(found);
  return (Math.abs(found) < 1 ? small : large).format(found);
}

function shown(column, row) {
  return asText(value(column, row));
}

// A function of the values of a column as one of its rows; worked out once for values that repeat.
function byRow(column, of) {
  if (!column.words) return (row) => of(column.values[row]);
  const found = column.words.map(of);
  return (row) => found[column.values[row]];
}
