// The page asks POST /answer and shows what comes back. Texts of answers are set as text only
// (textContent), so that markup in a label or a text is shown and not followed.
"use strict";

const WAIT = 400; // milliseconds after the last letter
const LONGEST_ADDRESS = 4000; // letters of a link; longer questions link to what was received
const at = (id) => document.getElementById(id);
const chosen = { allowed: new Set(), excluded: new Set() };
let model = { scores: "score", limits: { characters: 20000, explained: 20 } };
let answer = null, selected = null, request = null, timer = null, received = null;

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function percent(value) {
  return model.scores === "probability" ? `${(100 * value).toFixed(1)} %` : value.toFixed(3);
}

function question() {
  const asked = { text: at("text").value, k: Math.max(1, Math.round(Number(at("k").value) || 5)) };
  if (chosen.allowed.size) asked.labels = [...chosen.allowed];
  if (chosen.excluded.size) asked.exclude = [...chosen.excluded];
  const least = Number(at("threshold").value);
  if (model.scores === "probability" && least > 0) asked.threshold = least;
  return asked;
}

async function ask() {
  clearTimeout(timer);
  if (request) request.abort();
  if (!at("text").value.trim()) return show(null, "Write a text to see its labels.");
  const asked = question();
  request = new AbortController();
  at("status").textContent = "Looking\u2026";
  try {
    const options = { method: "POST", body: JSON.stringify(asked), signal: request.signal };
    const response = await fetch("answer", options);
    const found = await response.json();
    if (!response.ok) throw new Error(found.error || `the server answered ${response.status}`);
    link(asked, found);
    const n = found.labels.length;
    show(found, n ? `${n} label${n === 1 ? "" : "s"} found.` : "No label is above the threshold.");
  } catch (error) {
    if (error.name === "AbortError") return;
    show(null, "");
    at("error").textContent = `No answer: ${error.message}`;
  }
}

function link(asked, found) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked))
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, one);
  if (received) URL.revokeObjectURL(received);
  received = null;
  const address = `answer?${query}`;
  if (address.length > LONGEST_ADDRESS) {
    const content = new Blob([JSON.stringify(found, null, 2)], { type: "application/json" });
    received = URL.createObjectURL(content);
  }
  at("json").href = received || address;
}

function show(found, status) {
  answer = found;
  at("error").textContent = "";
  at("status").textContent = status;
  at("found").hidden = !found;
  if (!found) return;
  const values = found.labels.map((line) => line[found.scores]);
  const proba = found.scores === "probability";
  const low = proba ? 0 : Math.min(0, ...values), high = proba ? 1 : Math.max(0.001, ...values);
  at("answers").replaceChildren(...found.labels.map((line, place) => {
    const button = element("button", "", { type: "button", "aria-pressed": "false" });
    const fill = element("span", "", { class: "fill" }), track = element("span", "", { class: "track" });
    fill.style.width = `${(100 * (values[place] - low)) / (high - low)}%`;
    track.setAttribute("aria-hidden", "true");
    track.append(fill);
    button.append(element("span", line.label, { class: "name" }), element("span", percent(values[place])), track);
    button.addEventListener("click", () => select(place));
    const item = element("li", "");
    item.append(button);
    return item;
  }));
  const place = found.labels.findIndex((line) => line.label === selected);
  select(Math.max(0, place));
}

function select(place) {
  const line = answer.labels[place];
  at("reason").hidden = !line || !(line.words || line.neighbours || line.parts);
  if (!line) return;
  selected = line.label;
  [...at("answers").querySelectorAll("button")].forEach((button, i) =>
    button.setAttribute("aria-pressed", String(i === place)));
  const parts = line.words || line.neighbours || line.parts;
  if (!parts) return;
  at("why").textContent = `Why \u201c${line.label}\u201d`;
  at("what").textContent = line.words ? "word" : line.neighbours ? "neighbour" : "part";
  at("caption").textContent = line.words && line.parts
    ? "Words of the text, by what they give to the score of the model's part that reads words"
    : line.words
    ? `Words of the text, by what they give to the score of ${line.decision.toFixed(3)}`
    : line.parts
    ? `Parts of the model, by what they give to the score of ${line.decision.toFixed(3)}`
    : `Training samples that have the label, by what they give to the score of ${line.decision.toFixed(3)}`;
  at("words").replaceChildren(...parts.map(([word, part]) => {
    const row = element("tr", "");
    row.append(element("td", word), element("td", `${part < 0 ? "\u2212" : "+"}${Math.abs(part).toFixed(3)}`));
    return row;
  }));
  at("marked").hidden = !line.text;
  const most = Math.max(0.001, ...(line.text || []).map(([, part]) => Math.abs(part)));
  at("marked").replaceChildren(...(line.text || []).map(([piece, part]) => {
    if (!part) return document.createTextNode(piece);
    const mark = element("mark", piece, part < 0 ? { class: "against" } : {});
    mark.style.borderBottomWidth = `${1 + Math.round(4 * Math.abs(part) / most)}px`;
    mark.title = `${part < 0 ? "against" : "for"} the label: ${part.toFixed(3)}`;
    return mark;
  }));
}

function choose(input, which) {
  const name = input.value.trim();
  if (!name) return;
  chosen[which].add(name);
  input.value = "";
  list(which);
  ask();
}

function list(which) {
  at(which).replaceChildren(...[...chosen[which]].map((name) => {
    const button = element("button", `${name} \u00d7`, { type: "button", "aria-label": `Remove ${name}` });
    button.addEventListener("click", () => {
      chosen[which].delete(name);
      list(which);
      at(which === "allowed" ? "allow" : "bar").focus();
      ask();
    });
    const item = element("li", "");
    item.append(button);
    return item;
  }));
}

async function suggest(input) {
  const response = await fetch(`labels?${new URLSearchParams({ start: input.value })}`);
  const names = response.ok ? await response.json() : [];
  at("names").replaceChildren(...names.map((name) => element("option", "", { value: name })));
}

function later(what) {
  clearTimeout(timer);
  timer = setTimeout(what, WAIT);
}

function count() {
  const left = model.limits.characters - [...at("text").value].length;
  at("length").textContent = left < 0
    ? `The text is ${(-left).toLocaleString("en")} characters too long.`
    : `${left.toLocaleString("en")} characters left`;
}

async function start() {
  const response = await fetch("model");
  model = await response.json();
  const n = model.labels.toLocaleString("en");
  at("about").textContent = `${model.model} with ${n} labels`
    + (model.scores === "probability" ? "" : "; scores, not probabilities");
  at("k").max = Math.min(model.limits.explained, model.labels);
  at("threshold").disabled = model.scores !== "probability";
  at("least").textContent = model.scores === "probability" ? "0 %" : "(needs probabilities)";
  count();
}

at("question").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
at("text").addEventListener("input", () => { count(); later(ask); });
at("k").addEventListener("input", () => later(ask));
at("threshold").addEventListener("input", () => {
  at("least").textContent = `${Math.round(100 * Number(at("threshold").value))} %`;
  later(ask);
});
for (const [id, which] of [["allow", "allowed"], ["bar", "excluded"]]) {
  at(id).addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    choose(at(id), which);
  });
  at(id).addEventListener("input", () => suggest(at(id)));
}
start().catch((error) => { at("error").textContent = `No model: ${error.message}`; });
