// Asks the node again and again, and has shown what it says. While it does not
// answer the page says so, keeps what it knew, and asks ever less often.
import { Chart, greatest, mean } from './chart.js';
import { byId, fill, h } from './dom.js';
import * as sections from './sections.js';
import { clock, count, micros } from './words.js';

const EVERY_MS = 2000;
const EVERY_MOST_MS = 30000;
const PATIENCE_MS = 8000;
const KEPT = 900;
// Samples of the last half minute are enough for who has seen the rest.
const RECENT_MS = 25000;

let state = null;
let stateAt = 0;
// samples by the node's id: its boot, and its samples, oldest first.
const samples = new Map();
let samplesAt = 0;
let failures = 0;
let timer = 0;
let asking = false;

const charts = [
  { title: 'Throughput', note: 'commands per second', read: (s) => s.ops, print: count, least: 10, join: mean },
  { title: 'Latency', note: '99th percentile of commands', read: (s) => s.p99, print: micros, least: 100, join: greatest },
  { title: 'Disk', note: '99th percentile of log syncs', read: (s) => s.sync, print: micros, least: 1000, join: greatest },
  { title: 'Lock waits', note: 'tickets that waited, per second', read: (s) => s.waits, print: count, least: 10, join: mean },
].map((options) => {
  const host = h('figure', { class: 'card chart' });
  byId('charts').append(host);
  return new Chart(host, options);
});

async function ask(path) {
  const answer = await fetch(path, { cache: 'no-store', credentials: 'same-origin', signal: AbortSignal.timeout(PATIENCE_MS) });
  if (answer.ok) return answer.json();
  throw new Error((await answer.text()).trim() || `HTTP ${answer.status}`);
}

// look asks once, and sees to it that it is asked again.
async function look() {
  clearTimeout(timer);
  if (asking || document.hidden) return;
  asking = true;
  try {
    const answers = await collect().catch(lost);
    if (answers) learn(...answers);
  } finally {
    asking = false;
    timer = setTimeout(look, wait());
  }
}

function collect() {
  const recent = Date.now() - samplesAt < RECENT_MS;
  return Promise.all([ask('/ui/state'), ask(recent ? '/ui/series?recent' : '/ui/series')]);
}

function learn(told, series) {
  state = told;
  stateAt = samplesAt = Date.now();
  failures = 0;
  series.forEach(take);
  for (const id of samples.keys()) if (!series.some((n) => n.id === id)) samples.delete(id);
  show();
}

const wait = () => Math.min(EVERY_MOST_MS, EVERY_MS * 2 ** Math.max(0, failures - 1));

// take adds the samples that are new.
function take({ id, series }) {
  if (!series) return;
  let known = samples.get(id);
  if (known?.boot !== series.boot) samples.set(id, (known = { boot: series.boot, next: 0, list: [] }));
  series.at_ms.forEach((atMs, i) => {
    if (series.first + i < known.next) return;
    known.list.push({ atMs, ops: series.ops[i], p50: series.p50_us[i], p99: series.p99_us[i], sync: series.sync_us[i], waits: series.waits[i] });
  });
  known.next = series.first + series.at_ms.length;
  known.list.splice(0, Math.max(0, known.list.length - KEPT));
}

function show() {
  byId('lost').hidden = true;
  document.body.classList.remove('asking', 'stale');
  sections.draw(state, samples);
  drawCharts();
}

function drawCharts() {
  const seconds = Number(document.querySelector('input[name=window]:checked').value);
  const lines = state.nodes.map((n, i) => ({ name: n.name, color: sections.color(i), samples: samples.get(n.id)?.list ?? [] }));
  for (const chart of charts) chart.show(lines, state.now_ms, seconds);
}

// lost says that the node does not answer, and where else to look.
function lost(err) {
  failures++;
  const why = err instanceof TypeError ? 'cannot be reached' : err.name === 'TimeoutError' ? 'does not answer in time' : `says: ${err.message}`;
  const known = state ? ` What you see is from ${clock(stateAt)}.` : '';
  byId('lost').hidden = false;
  document.body.classList.add('stale');
  fill(byId('lost-text'), h('b', null, `${state?.seen_by ?? 'This node'} ${why}.`), `${known} Asking again in ${Math.round(wait() / 1000)} s.`);
  const others = (state?.nodes ?? []).filter((n) => n.admin_addr && n.name !== state.seen_by);
  fill(byId('elsewhere'), others.length > 0 && 'Look at another node: ', others.map((n) => [h('a', { href: sections.pageOf(n) }, n.name), ' ']));
  if (!state) fill(byId('health'), 'No answer');
  document.title = 'No answer · Lockstep';
}

document.body.classList.add('asking');
byId('window').addEventListener('change', () => state && drawCharts());
byId('again').addEventListener('click', () => {
  failures = 0;
  look();
});
document.addEventListener('visibilitychange', look);
look();
