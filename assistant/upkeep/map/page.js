"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const { facts, topics, events, waiting, pairs } = data;
const at = (id) => document.getElementById(id);
const ROW = 66;
const lower = facts.map((f) => `${f.t}\n${f.p}\n${f.g}`.toLowerCase());
const current = facts.map((_, i) => i).filter((i) => !facts[i].s);
const number = (n) => n.toLocaleString("en");
const things = (n, one, many) => `${number(n)} ${n === 1 ? one : many || one + "s"}`;

function make(tag, given = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name in made && name !== "role") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...inside);
  return made;
}

/* The state: everything shown is a function of it. */
const state = { words: "", period: null, list: 0, chosen: -1, row: -1 };
let shown = [];
const match = new Uint8Array(facts.length).fill(1);

/* Light and dark */
const root = document.documentElement;
let colours = {};
function dress(dark) {
  root.classList.toggle("dark", dark);
  const style = getComputedStyle(root);
  const value = (name) => style.getPropertyValue(name).trim();
  colours = { ink: value("--ink"), soft: value("--soft"), line: value("--line"), card: value("--card"),
    learnt: value("--learnt"), changed: value("--changed"), forgotten: value("--forgotten"),
    accent: value("--accent") };
  topics.forEach((topic, n) => {
    topic.colour = `oklch(${value("--tone")} ${value("--colour")} ${(150 + n * 137.5) % 360})`;
    topic.ground = `oklch(${value("--tone")} ${value("--colour")} ${(150 + n * 137.5) % 360} / 0.10)`;
  });
  drawTime(); drawMap(); fill();
}
const night = matchMedia("(prefers-color-scheme: dark)");
const toggleTheme = () => dress(!root.classList.contains("dark"));
at("theme").onclick = toggleTheme;

/* What happened when */
const happened = [];
facts.forEach((f, i) => {
  if (f.d) happened.push({ day: f.d, kind: "learnt", fact: i });
  if (f.s && f.u) happened.push({ day: f.u, kind: "changed", fact: i });
});
events.forEach((e, i) => {
  if (e.a === "forget" && !e.u) happened.push({ day: e.d.slice(0, 10), kind: "forgotten", event: i });
});
const days = (iso) => Math.floor(Date.parse(`${iso}T00:00:00Z`) / 864e5);
const iso = (day) => new Date(day * 864e5).toISOString().slice(0, 10);
let buckets = [];
function begin(day, step) {
  const when = new Date(day * 864e5);
  if (step === "month") return days(`${when.toISOString().slice(0, 7)}-01`);
  return step === "week" ? day - ((day + 3) % 7) : day;
}
function next(day, step) {
  if (step === "day") return day + 1;
  if (step === "week") return day + 7;
  const when = new Date(day * 864e5);
  return Date.UTC(when.getUTCFullYear(), when.getUTCMonth() + 1, 1) / 864e5;
}
(function sort() {
  const all = happened.map((each) => days(each.day)).filter((day) => !Number.isNaN(day));
  if (!all.length) return;
  const first = all.reduce((a, b) => Math.min(a, b)), last = all.reduce((a, b) => Math.max(a, b));
  const span = last - first;
  const step = span <= 70 ? "day" : span <= 500 ? "week" : "month";
  const place = new Map();
  for (let day = begin(first, step); day <= last; day = next(day, step)) {
    place.set(day, buckets.length);
    buckets.push({ from: day, to: next(day, step) - 1, learnt: [], changed: [], forgotten: [] });
  }
  for (const each of happened) {
    const bucket = buckets[place.get(begin(days(each.day), step))];
    if (bucket) bucket[each.kind].push(each);
  }
})();
const periodOf = (b) => (b.from === b.to ? iso(b.from) : `${iso(b.from)} to ${iso(b.to)}`);

function fit(canvas) {
  const ratio = devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const width = Math.round(box.width * ratio), height = Math.round(box.height * ratio);
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, box.width, box.height);
  return [pen, box.width, box.height];
}

function drawTime() {
  const [pen, width, height] = fit(at("time"));
  const base = height * 0.66, low = height - 18;
  pen.fillStyle = colours.line;
  pen.fillRect(0, base, width, 1);
  pen.font = "12px system-ui, sans-serif";
  if (!buckets.length) {
    pen.fillStyle = colours.soft;
    pen.fillText("Nothing has a date yet.", 4, base - 8);
    return;
  }
  const up = Math.max(...buckets.map((b) => b.learnt.length + b.changed.length), 1);
  const down = Math.max(...buckets.map((b) => b.forgotten.length), 1);
  const step = width / buckets.length, bar = Math.max(1, Math.min(step - 1.5, 26));
  buckets.forEach((b, n) => {
    const x = n * step + (step - bar) / 2;
    pen.globalAlpha = state.period === null || state.period === n ? 1 : 0.3;
    let top = base;
    for (const kind of ["learnt", "changed"]) {
      if (!b[kind].length) continue;
      const tall = Math.max(2, (b[kind].length / up) * (base - 8));
      pen.fillStyle = colours[kind];
      pen.beginPath();
      pen.roundRect(x, top - tall, bar, tall, Math.min(3, bar / 3));
      pen.fill();
      top -= tall + 1;
    }
    if (b.forgotten.length) {
      pen.fillStyle = colours.forgotten;
      pen.beginPath();
      pen.roundRect(x, base + 2, bar, Math.max(2, (b.forgotten.length / down) * (low - base - 6)), Math.min(3, bar / 3));
      pen.fill();
    }
  });
  pen.globalAlpha = 1;
  pen.fillStyle = colours.soft;
  const every = Math.ceil(buckets.length / Math.max(2, Math.floor(width / 110)));
  buckets.forEach((b, n) => {
    if (n % every === 0 && n * step < width - 60) pen.fillText(iso(b.from), n * step, height - 3);
  });
}
function choosePeriod(n) {
  state.period = n === null || n < 0 || n >= buckets.length ? null : n;
  const b = buckets[state.period];
  at("period").textContent = b
    ? `${periodOf(b)}: ${number(b.learnt.length)} learnt, ${number(b.changed.length)} changed, ${number(b.forgotten.length)} forgotten`
    : "";
  search();
}
at("time").onclick = (event) => {
  const n = Math.floor((event.offsetX / at("time").clientWidth) * buckets.length);
  choosePeriod(state.period === n ? null : n);
};
at("time").onmousemove = (event) => {
  const b = buckets[Math.floor((event.offsetX / at("time").clientWidth) * buckets.length)];
  at("time").title = b ? `${periodOf(b)}: ${b.learnt.length} learnt, ${b.changed.length} changed, ${b.forgotten.length} forgotten` : "";
};
at("time").onkeydown = (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by || !buckets.length) return;
  event.preventDefault();
  const from = state.period === null ? (by > 0 ? -1 : buckets.length) : state.period;
  choosePeriod(Math.max(0, Math.min(buckets.length - 1, from + by)));
};

/* The map */
const view = { x: 0, y: 0, scale: 1 };
const edge = topics.reduce((far, t) => Math.max(far, Math.hypot(t.x, t.y) + t.r), 1);
function whole() {
  const box = at("map").getBoundingClientRect();
  const left = Math.min(...topics.map((t) => t.x - t.r)), right = Math.max(...topics.map((t) => t.x + t.r));
  const top = Math.min(...topics.map((t) => t.y - t.r)), bottom = Math.max(...topics.map((t) => t.y + t.r));
  if (!topics.length || !box.width) return;
  view.x = (left + right) / 2; view.y = (top + bottom) / 2;
  view.scale = Math.min(34, (box.width - 30) / (right - left), (box.height - 54) / (bottom - top));
}
const size = (f) => 0.30 + Math.min(0.16, 0.05 * Math.log1p(f.c));
let frame = 0;
const drawMap = () => { frame = frame || requestAnimationFrame(() => { frame = 0; paint(); }); };
function paint() {
  const [pen, width, height] = fit(at("map"));
  const sx = (x) => (x - view.x) * view.scale + width / 2, sy = (y) => (y - view.y) * view.scale + height / 2;
  for (const t of topics) {
    pen.fillStyle = t.ground;
    pen.beginPath();
    pen.arc(sx(t.x), sy(t.y), t.r * view.scale, 0, 7);
    pen.fill();
  }
  const narrowed = state.words || state.period !== null;
  topics.forEach((topic, n) => {
    pen.fillStyle = pen.strokeStyle = topic.colour;
    for (const kind of [0, 1]) {
      pen.globalAlpha = kind ? 1 : 0.14;
      pen.beginPath();
      for (const i of topic.members) {
        const f = facts[i];
        if (match[i] !== kind || f.s) continue;
        const x = sx(f.x), y = sy(f.y), r = Math.max(0.8, size(f) * view.scale) * (narrowed && kind ? 1.2 : 1);
        if (x < -r || y < -r || x > width + r || y > height + r) continue;
        if (r < 1.6) pen.rect(x - r, y - r, 2 * r, 2 * r);
        else { pen.moveTo(x + r, y); pen.arc(x, y, r, 0, 7); }
      }
      pen.fill();
      pen.lineWidth = Math.max(0.7, 0.1 * view.scale);
      pen.beginPath();
      for (const i of topic.members) {
        const f = facts[i];
        if (match[i] !== kind || !f.s) continue;
        const r = Math.max(0.8, 0.26 * view.scale);
        pen.moveTo(sx(f.x) + r, sy(f.y));
        pen.arc(sx(f.x), sy(f.y), r, 0, 7);
      }
      pen.stroke();
    }
  });
  pen.globalAlpha = 1;
  const f = facts[state.chosen];
  if (f) {
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 1.5;
    for (const n of f.n) {
      pen.beginPath(); pen.moveTo(sx(f.x), sy(f.y)); pen.lineTo(sx(facts[n].x), sy(facts[n].y)); pen.stroke();
    }
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 2;
    pen.beginPath(); pen.arc(sx(f.x), sy(f.y), Math.max(5, size(f) * view.scale + 3), 0, 7); pen.stroke();
  }
  label(pen, sx, sy, width, height);
}
function label(pen, sx, sy, width, height) {
  pen.font = "600 13px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.lineJoin = "round";
  const taken = [];
  for (const t of topics) {
    const words = t.name.split(" · ");
    let text = t.name;
    while (words.length > 1 && pen.measureText(text).width > Math.max(120, 2.2 * t.r * view.scale)) { words.pop(); text = words.join(" · "); }
    const wide = pen.measureText(text).width / 2 + 4;
    const x = Math.max(wide, Math.min(width - wide, sx(t.x)));
    const y = Math.max(14, sy(t.y) - t.r * view.scale - 4);
    if (y > height || sx(t.x) < 0 || sx(t.x) > width) continue;
    if (taken.some((o) => Math.abs(o.x - x) < o.wide + wide && Math.abs(o.y - y) < 16)) continue;
    taken.push({ x, y, wide });
    pen.strokeStyle = colours.card; pen.lineWidth = 4; pen.strokeText(text, x, y);
    pen.fillStyle = colours.ink; pen.fillText(text, x, y);
  }
  pen.textAlign = "start";
}
topics.forEach((t) => { t.members = []; });
facts.forEach((f, i) => topics[f.k].members.push(i));
const grid = new Map();
facts.forEach((f, i) => {
  const key = `${Math.round(f.x / 2)},${Math.round(f.y / 2)}`;
  if (!grid.has(key)) grid.set(key, []);
  grid.get(key).push(i);
});
function under(event) {
  const box = at("map").getBoundingClientRect();
  const x = (event.clientX - box.left - box.width / 2) / view.scale + view.x;
  const y = (event.clientY - box.top - box.height / 2) / view.scale + view.y;
  let best = -1, least = Math.max(0.7, 8 / view.scale) ** 2;
  for (let a = -1; a <= 1; a++) for (let b = -1; b <= 1; b++) {
    for (const i of grid.get(`${Math.round(x / 2) + a},${Math.round(y / 2) + b}`) || []) {
      const away = (facts[i].x - x) ** 2 + (facts[i].y - y) ** 2;
      if (away < least) { least = away; best = i; }
    }
  }
  return best;
}
function zoom(by, x = 0, y = 0) {
  const scale = Math.max(0.4, Math.min(60, view.scale * by));
  view.x += x / view.scale - x / scale; view.y += y / view.scale - y / scale;
  view.scale = scale;
  drawMap();
}
let held = null;
const map = at("map");
map.onwheel = (event) => {
  event.preventDefault();
  const box = map.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2);
};
map.onpointerdown = (event) => { held = { x: event.clientX, y: event.clientY, moved: 0 }; map.setPointerCapture(event.pointerId); };
map.onpointermove = (event) => {
  if (held) {
    const dx = event.clientX - held.x, dy = event.clientY - held.y;
    held = { x: event.clientX, y: event.clientY, moved: held.moved + Math.abs(dx) + Math.abs(dy) };
    view.x -= dx / view.scale; view.y -= dy / view.scale;
    map.classList.add("held");
    drawMap();
    return;
  }
  const i = under(event), tip = at("tip");
  tip.style.opacity = i < 0 ? 0 : 1;
  if (i < 0) return;
  tip.textContent = facts[i].t.length > 160 ? `${facts[i].t.slice(0, 160)}…` : facts[i].t;
  const room = map.parentElement.getBoundingClientRect();
  const x = Math.min(event.clientX - room.left + 14, room.width - tip.offsetWidth - 8);
  tip.style.transform = `translate(${Math.max(4, x)}px, ${event.clientY - room.top + 16}px)`;
};
map.onpointerleave = () => { at("tip").style.opacity = 0; };
map.onpointerup = (event) => {
  map.classList.remove("held");
  if (held && held.moved < 5) choose(under(event), { list: true });
  held = null;
};
at("closer").onclick = () => zoom(1.5);
at("farther").onclick = () => zoom(1 / 1.5);
at("whole").onclick = () => { whole(); drawMap(); };
map.onkeydown = (event) => {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (event.key === "+" || event.key === "=") zoom(1.5);
  else if (event.key === "-") zoom(1 / 1.5);
  else if (way) {
    event.preventDefault();
    const from = facts[state.chosen] || { x: view.x, y: view.y };
    let best = -1, least = Infinity;
    facts.forEach((f, i) => {
      const dx = f.x - from.x, dy = f.y - from.y;
      const ahead = dx * way[0] + dy * way[1], aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
      const far = ahead + 2 * aside;
      if (match[i] && i !== state.chosen && ahead > 0.01 && far < least) { least = far; best = i; }
    });
    if (best >= 0) { choose(best, { list: true, focus: false }); follow(facts[best]); }
  }
};
function follow(f) {
  const box = map.getBoundingClientRect();
  const x = (f.x - view.x) * view.scale, y = (f.y - view.y) * view.scale;
  if (Math.abs(x) > box.width / 2 - 20 || Math.abs(y) > box.height / 2 - 20) { view.x = f.x; view.y = f.y; }
  drawMap();
}

/* Lists */
const row = (i) => ({ fact: i, said: facts[i].t, struck: facts[i].s });
const kinds = { same: "says the same as", changed: "was changed by", near: "is much like" };
const LISTS = [
  ["Facts", () => facts.map((_, i) => i).sort((a, b) => (facts[a].d < facts[b].d) - (facts[a].d > facts[b].d)).map(row)],
  ["Recalled most", () => current.filter((i) => facts[i].c).sort((a, b) => facts[b].c - facts[a].c)
    .map((i) => ({ ...row(i), about: `${things(facts[i].c, "time")}, last ${facts[i].l}` }))],
  ["Never recalled", () => current.filter((i) => !facts[i].c).map(row)],
  ["Waiting", () => waiting.map((w) => ({ fact: -1, said: w.t, about: `from ${w.o}, since ${w.d.slice(0, 10)} · assistant memory review` }))],
  ["Alike", () => pairs.map((p) => ({ ...row(p.a), pair: p.b, about: `${kinds[p.k]} ${facts[p.b].p}: ${facts[p.b].t}` }))],
  ["Changes", () => events.map((e) => ({ fact: e.f, said: e.t || "(forgotten for good)", struck: e.u, day: e.d.slice(0, 10),
    about: `${e.d.slice(0, 16).replace("T", " ")} · ${e.a}${e.u ? ", undone" : ""} · ${e.p}${e.o ? ` · ${e.o}` : ""}` }))],
].map(([title, rows]) => ({ title, rows: rows() }));

LISTS.forEach((list, n) => {
  const tab = make("button", { type: "button", role: "tab", id: `tab-${n}`, onclick: () => show(n) }, list.title, make("b", {}, number(list.rows.length)));
  at("tabs").append(tab);
});
function show(n) {
  state.list = n; state.row = -1;
  [...at("tabs").children].forEach((tab, i) => { tab.setAttribute("aria-selected", String(i === n)); tab.tabIndex = i === n ? 0 : -1; });
  at("rows").scrollTop = 0;
  select();
}
at("tabs").onkeydown = (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by) return;
  show((state.list + by + LISTS.length) % LISTS.length);
  at("tabs").children[state.list].focus();
};

function search() {
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const b = buckets[state.period];
  const within = b && new Set([...b.learnt, ...b.changed].map((each) => each.fact));
  for (let i = 0; i < facts.length; i++) {
    match[i] = (!within || within.has(i)) && words.every((word) => lower[i].includes(word)) ? 1 : 0;
  }
  select(); drawMap(); drawTime();
}
function select() {
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const b = buckets[state.period], from = b && iso(b.from), to = b && iso(b.to);
  shown = LISTS[state.list].rows.filter((each) => {
    if (each.day) { if (b && (each.day < from || each.day > to)) return false; }
    else if (each.fact >= 0) return match[each.fact] || (each.pair >= 0 && match[each.pair]);
    const said = `${each.said} ${each.about || ""}`.toLowerCase();
    return words.every((word) => said.includes(word));
  });
  state.row = Math.min(state.row, shown.length - 1);
  at("space").style.height = `${shown.length * ROW}px`;
  at("count").textContent = shown.length === LISTS[state.list].rows.length ? things(shown.length, "entry", "entries")
    : `${number(shown.length)} of ${things(LISTS[state.list].rows.length, "entry", "entries")}`;
  fill();
}
let filling = 0;
at("rows").onscroll = () => { filling = filling || requestAnimationFrame(() => { filling = 0; fill(); }); };
function fill() {
  const rows = at("rows"), first = Math.max(0, Math.floor(rows.scrollTop / ROW) - 4);
  const last = Math.min(shown.length, Math.ceil((rows.scrollTop + rows.clientHeight) / ROW) + 4);
  const made = [];
  for (let n = first; n < last; n++) made.push(drawRow(n));
  at("space").replaceChildren(...made);
  if (state.row >= first && state.row < last) rows.setAttribute("aria-activedescendant", `row-${state.row}`);
  else rows.removeAttribute("aria-activedescendant");
}
function drawRow(n) {
  const each = shown[n], f = facts[each.fact];
  const known = f ? [f.p, f.d, f.c ? `recalled ${f.c}×` : ""].filter(Boolean).join(" · ") : "";
  const made = make("div", { className: "row", role: "option", id: `row-${n}`, onclick: () => { state.row = n; pick(); } },
    make("div", { className: each.struck ? "said struck" : "said" }, each.said),
    make("div", { className: "facts" }, each.about || known));
  made.style.top = `${n * ROW}px`;
  if (f) made.style.setProperty("--dot", topics[f.k].colour);
  made.setAttribute("aria-selected", String(n === state.row || (each.fact >= 0 && each.fact === state.chosen)));
  made.setAttribute("aria-setsize", shown.length);
  made.setAttribute("aria-posinset", n + 1);
  return made;
}
function move(to) {
  if (!shown.length) return;
  state.row = Math.max(0, Math.min(shown.length - 1, to));
  const rows = at("rows"), top = state.row * ROW;
  if (top < rows.scrollTop) rows.scrollTop = top;
  if (top + ROW > rows.scrollTop + rows.clientHeight) rows.scrollTop = top + ROW - rows.clientHeight;
  fill();
}
const pick = () => { const each = shown[state.row]; if (each) choose(each.fact); fill(); };
at("rows").onkeydown = (event) => {
  const page = Math.max(1, Math.floor(at("rows").clientHeight / ROW) - 1);
  const to = { ArrowDown: state.row + 1, j: state.row + 1, ArrowUp: state.row - 1, k: state.row - 1, PageDown: state.row + page,
    PageUp: state.row - page, Home: 0, End: shown.length - 1 }[event.key];
  if (to !== undefined) { event.preventDefault(); move(to); }
  if (event.key === "Enter") pick();
};

/* One fact */
const jump = (i) => make("button", { type: "button", onclick: () => { choose(i, { list: true }); follow(facts[i]); } }, facts[i].t);
function choose(i, { list = false } = {}) {
  state.chosen = i;
  const pane = at("fact"), f = facts[i], was = pane.hidden;
  pane.hidden = !f;
  at("fact").parentElement.classList.toggle("open", Boolean(f));
  if (f) pane.replaceChildren(...told(f));
  pane.scrollTop = 0;
  if (list && f) {
    const n = shown.findIndex((each) => each.fact === i);
    if (n >= 0) move(n);
  }
  fill();
  if (was !== pane.hidden) { drawTime(); }
  drawMap();
}
function told(f) {
  const terms = [["Place", make("code", {}, f.p)], ["Under", f.g], ["Recorded", f.d], ["From", f.o], ["Topic", topics[f.k].name],
    ["Recalled", f.c ? `${things(f.c, "time")}, last ${f.l}` : "never"], ["Struck out", f.s ? f.u || "yes" : ""], ["Now", f.b]];
  const list = make("dl");
  for (const [name, value] of terms) if (value) list.append(make("dt", {}, name), make("dd", {}, value));
  const parts = [
    make("button", { className: "close", type: "button", "aria-label": "Close", onclick: () => choose(-1) }, "×"),
    make("p", { className: f.s ? "said struck" : "said" }, f.t), list];
  if (data.ids && !f.s) parts.push(editor(data.ids[facts.indexOf(f)], f.t));
  if (f.h.length) {
    parts.push(make("h3", {}, "History"), make("ol", {}, ...f.h.map((n) => make("li", {},
      make("time", {}, events[n].d.slice(0, 16).replace("T", " ")), `${events[n].a}${events[n].u ? ", undone" : ""}${events[n].o ? ` (${events[n].o})` : ""}`))));
  }
  if (f.n.length) parts.push(make("h3", {}, "Near it by meaning"), make("ol", {}, ...f.n.map((n) => make("li", {}, jump(n)))));
  return parts;
}
function editor(id, text) {
  const words = make("textarea", { "aria-label": "Its words", rows: 3, value: text.replace(/\s+/g, " ") });
  const fault = make("p", { role: "alert" });
  async function send(what) {
    const body = JSON.stringify({ do: what, id, text: words.value });
    const answer = await fetch("", { method: "POST", body }).catch(() => null);
    if (answer && answer.ok) location.reload();
    else fault.textContent = answer ? await answer.text() : "The page is no longer served.";
  }
  const forget = () => confirm("Forget it? `assistant memory undo` restores it.") && send("forget");
  return make("form", { onsubmit: (event) => { event.preventDefault(); send("correct"); } }, words,
    make("button", { type: "submit" }, "Correct"), make("button", { type: "button", onclick: forget }, "Forget"), fault);
}

/* Keys, and the beginning */
at("search").oninput = () => { state.words = at("search").value; at("rows").scrollTop = 0; search(); };
at("search").onkeydown = (event) => {
  if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); at("rows").focus(); move(0); }
};
document.onkeydown = (event) => {
  if (event.key === "Escape") {
    if (state.chosen >= 0) choose(-1);
    else if (state.words) { at("search").value = state.words = ""; search(); }
    else if (state.period !== null) choosePeriod(null);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "TEXTAREA"].includes(event.target.tagName)) return;
  if (event.key === "/") { event.preventDefault(); at("search").focus(); }
  else if (event.key === "t") toggleTheme();
  else if (event.key >= "1" && event.key <= String(LISTS.length)) { show(Number(event.key) - 1); at("rows").focus(); }
};
at("about").textContent = [things(current.length, "fact"), things(topics.length, "topic"),
  waiting.length ? `${number(waiting.length)} waiting` : "", data.place, `drawn ${data.made}`].filter(Boolean).join(" · ");
addEventListener("resize", () => { whole(); drawMap(); drawTime(); fill(); });
new ResizeObserver(() => { drawMap(); }).observe(map);
night.onchange = (event) => dress(event.matches);
whole();
show(0);
dress(night.matches);
root.dataset.ready = "yes";
