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
  leave();
  picked = row;
  draw();
  save();
  $("work").className = "picked";
  $("panel").hidden = false;
  const list = element("dl");
  for (const column of columns) fact(list, column.label, shown(column, row));
  const [screen, place] = [element("div", undefined, { id: "screen" }), element("div")];
  $("panel").replaceChildren(element("h2", shown(columns[0], row)), screen, place, list);
  const isAsked = data.played && !shown(byName.get("error"), row);
  let pictures = data.pictures[row];
  if (isAsked) {
    play(row, screen);
    place.append(element("p", "decoding ...", { className: "note" }));
    const answer = await ask(`pictures/${row}`);
    pictures = answer.failure ? answer : await answer.json();
    if (picked !== row) return;
    place.replaceChildren();
  }
  if (!pictures) {
    if (!data.played) place.append(element("p", data.without, { className: "note" }));
    return;
  }
  if (pictures.failure) place.append(element("p", pictures.failure, { className: "bad" }));
  if (pictures.timeline) place.append(timeline(pictures, screen));
  if (pictures.sheet) place.append(element("img", undefined, { src: pictures.sheet, alt: "Frames at equal distances" }));
  if (isAsked && pictures.timeline && value(byName.get("has_audio"), row)) wave(row, place);
}

async function wave(row, place) { // the peaks of the sound, below the sizes of frames
  const answer = await ask(`wave/${row}`);
  const found = answer.failure ? answer : await answer.json();
  if (picked !== row) return;
  const picture = element("img", undefined, { src: found.wave, alt: "Peaks of the sound over time" });
  if (found.wave) place.querySelector(".track").firstChild.after(picture);
  else place.append(element("p", found.note || found.failure, { className: found.note ? "note" : "bad" }));
}

// The sizes of frames, and segments; a click seeks the video, a strip of frames follows the pointer.
function timeline(pictures, screen) {
  const track = element("div", undefined, { className: "track" });
  const cursor = element("i");
  track.append(element("img", undefined, { src: pictures.timeline, alt: "Sizes of the frames over time, with keyframes" }), cursor);
  const go = (event) => {
    const { left, width } = track.getBoundingClientRect();
    const part = Math.min(Math.max((event.clientX - left) / width, 0), 1);
    const video = screen.querySelector("video");
    if (!video) screen.firstChild?.follow?.(part);
    else if (event.buttons && Number.isFinite(video.duration)) video.currentTime = part * video.duration;
    else return;
    screen.at(part);
  };
  for (const [first, stop, text] of pictures.segments || []) {
    const made = element("b", undefined, { title: text });
    made.style.left = `${100 * first}%`;
    made.style.width = `${100 * (stop - first)}%`;
    track.append(made);
  }
  screen.at = (part) => { cursor.style.left = `${100 * part}%`; };
  track.onpointerdown = track.onpointermove = go;
  return track;
}

function play(row, screen) {
  if (!data.played.includes(value(byName.get("container"), row))) return strip(row, screen);
  const video = element("video", undefined, { src: `video/${row}`, controls: true, preload: "metadata" });
  const fail = () => {
    if (picked !== row) return;
    leave();
    strip(row, screen);
  };
  video.onerror = fail;
  video.onloadedmetadata = () => video.videoWidth || fail(); // it plays the sound alone
  video.ontimeupdate = () => screen.at?.(video.currentTime / video.duration);
  screen.replaceChildren(video);
}

async function strip(row, screen) { // of a video that the browser does not decode
  screen.replaceChildren();
  const answer = await ask(`strip/${row}`);
  const found = answer.failure ? answer : await answer.json();
  if (picked !== row) return;
  if (found.failure) return screen.append(element("p", found.failure, { className: "bad" }));
  const last = Number(value(byName.get("num_frames"), row)) - 1;
  const [picture, caption] = [element("div", undefined, { className: "strip" }), element("p", undefined, { className: "note" })];
  picture.style.aspectRatio = found.aspect;
  picture.style.backgroundImage = `url(${found.strip})`;
  picture.style.backgroundSize = `800% ${100 * found.rows}%`;
  picture.follow = (part) => {
    const away = (place) => Math.abs(found.frames[place] - part * last);
    const place = found.frames.reduce((best, _, each) => (away(each) < away(best) ? each : best), 0);
    const down = Math.floor(place / 8) / Math.max(found.rows - 1, 1);
    picture.style.backgroundPosition = `${(100 * (place % 8)) / 7}% ${100 * down}%`;
    caption.textContent = `frame ${whole.format(found.frames[place])}; the browser does not play this video, move the pointer over the timeline`;
  };
  picture.follow(0);
  screen.append(picture, caption);
}

function leave() { // end the download of a video
  for (const video of $("panel").querySelectorAll("video")) {
    video.onerror = null;
    video.removeAttribute("src");
    video.load();
  }
}

function close() {
  leave();
  picked = null;
  $("panel").hidden = true;
  $("panel").replaceChildren();
  $("work").className = "";
  draw();
  save();
}
