// -- One video: its facts, its timeline and its pictures. --

function fact(list, name, text) {
  if (text !== "") list.append(element("dt", name), element("dd", text));
}

async function ask(address, options) { // the server of `videoloader browse`
  try {
    const answer = await fetch(address, options);
    return answer.ok ? answer : { failure: await answer.text() };
  } catch (error) {
    return { failure: `no answer from the server (${error.message})` };
  }
}

async function pick(row) {
  picked = row;
  draw();
  save();
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
    const answer = await ask(`pictures/${row}`);
    pictures = answer.failure ? answer : await answer.json();
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

function close() {
  picked = null;
  $("panel").hidden = true;
  $("panel").replaceChildren();
  $("work").className = "";
  draw();
  save();
}
