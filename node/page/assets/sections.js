// The parts of the page, each drawn whole from the state.
import { byId, fill, h } from './dom.js';
import { bytes, clock, count, groupTitle, many, micros, span } from './words.js';

const SLOTS = 16384;
const COLORS = 8;
// A table longer than this helps nobody on a page.
const ROWS = 128;
// The figures tell of the last so many samples.
const LATELY = 10;

export const color = (i) => `n${i % COLORS}`;

// pageOf is where a node's own page is: as this one is served, so is that.
export const pageOf = (node) => `${location.protocol}//${node.admin_addr}/`;

let state;
let colors;

// draw draws everything that is not a chart.
export function draw(now, samples) {
  state = now;
  colors = new Map(state.nodes.map((n, i) => [n.name, color(i)]));
  health();
  alerts();
  figures(samples);
  fill(byId('nodes'), state.nodes.map(node));
  slots();
  shards();
  locks();
  changes();
  moves();
}

const swatch = (name) => h('i', { class: `swatch ${colors.get(name) ?? 'nobody'}` });
const named = (name) => h('span', { class: 'named' }, swatch(name), name);

const MOODS = { healthy: ['good', '✓', 'Healthy'], degraded: ['warning', '!', 'Degraded'], 'no quorum': ['critical', '✕', 'No quorum'] };

function health() {
  const [mood, sign, words] = MOODS[state.health] ?? ['warning', '?', state.health];
  const pill = byId('health');
  pill.className = `pill ${mood}`;
  fill(pill, h('span', { 'aria-hidden': 'true' }, sign), ` ${words}`);
  fill(byId('seen'), `${many(state.nodes.length, 'node')} · ${many(shardsOf().length, 'shard')} · as ${state.seen_by} sees it · ${clock(state.now_ms)}`);
  fill(byId('cluster'), `cluster ${state.cluster_id} · version ${state.cluster_version}`);
  document.title = `${words} · Lockstep`;
}

const shardsOf = () => state.groups.filter((g) => g.name !== 'meta');

function alerts() {
  fill(
    byId('alerts'),
    state.alerts.length > 0 &&
      h('ul', { class: 'alerts' }, state.alerts.map((a) => h('li', { class: a.level }, h('b', null, a.level === 'critical' ? 'Critical' : 'Warning'), ' ', a.nodes?.length > 0 && `${a.nodes.join(', ')}: `, a.text))),
  );
}

function figures(samples) {
  const late = state.nodes.flatMap((n) => (samples.get(n.id)?.list ?? []).slice(-LATELY));
  const worst = (read) => Math.max(-1, ...late.map(read));
  const time = (v) => (v < 0 ? '–' : micros(v));
  const sum = (read) => state.nodes.reduce((total, n) => total + read(n), 0);
  const keys = state.groups.reduce((total, g) => total + g.keys, 0);
  const figure = (name, value, note) => h('div', { class: 'figure' }, h('dt', null, name), h('dd', null, value, note && h('small', null, note)));
  fill(
    byId('figures'),
    h('dl', { class: 'figures' }, [
      figure('Commands per second', count(sum((n) => n.ops_per_sec))),
      figure('Slowest 99th percentile', time(worst((s) => s.p99)), `median ${time(worst((s) => s.p50))}`),
      figure('Keys', count(keys)),
      figure('Clients', count(sum((n) => n.clients))),
    ]),
  );
}

function node(n) {
  const own = n.name === state.seen_by;
  return h('li', { class: `card node ${n.reachable ? '' : 'gone'}` }, [
    h('div', { class: 'titled' }, h('h3', null, named(n.name)), h('span', { class: 'quiet' }, n.reachable ? `up ${span(n.uptime_sec)}` : 'does not answer')),
    h('p', { class: 'badges' }, badges(n)),
    n.reachable &&
      h('dl', { class: 'facts' }, [
        fact('Commands/s', count(n.ops_per_sec)),
        fact('Clients', count(n.clients)),
        fact('Keys here', count(n.keys)),
        fact('Lag', n.lag === 0 ? 'none' : many(n.lag, 'entry').replace('entrys', 'entries')),
      ]),
    n.reachable && [memory(n), disk(n)],
    h('p', { class: 'quiet small' }, [n.version && `${n.version} · `, n.client_addr, !own && n.admin_addr && [' · ', h('a', { href: pageOf(n) }, `${n.name}’s page`)]]),
  ]);
}

const fact = (name, value) => h('div', null, h('dt', null, name), h('dd', null, value));

function badges(n) {
  const all = [];
  if (n.reachable) all.push(['', n.leads > 0 ? `leads ${n.leads} of ${many(n.replicas, 'replica')}` : `follows, ${many(n.replicas, 'replica')}`]);
  if (n.leads_meta) all.push(['', 'leads the meta group']);
  if (n.state !== 'member') all.push(['warning', n.state]);
  if (n.drained) all.push(['warning', 'drained']);
  if (n.learner) all.push(['warning', 'learner']);
  return all.map(([mood, text]) => h('span', { class: `badge ${mood}` }, text));
}

function memory(n) {
  if (n.maxmemory_bytes > 0) return bar('Data', n.used_bytes, n.maxmemory_bytes, `${bytes(n.used_bytes)} of ${bytes(n.maxmemory_bytes)} allowed`, 0.95);
  return bar('Memory', n.rss_bytes, n.memory_bytes, `${bytes(n.rss_bytes)}, data ${bytes(n.used_bytes)}`, 0.95);
}

function disk(n) {
  return n.disk_bytes > 0 && bar('Disk', n.disk_bytes - n.disk_free_bytes, n.disk_bytes, `${bytes(n.disk_free_bytes)} free`, 0.8);
}

// bar shows a part of a whole, and warns from a part on.
function bar(name, part, whole, words, most) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0;
  return h('div', { class: 'bar' }, [
    h('span', null, name),
    h('span', { class: 'quiet' }, words),
    h('svg:svg', { viewBox: '0 0 100 1', preserveAspectRatio: 'none', 'aria-hidden': 'true', class: share > most ? 'full' : '' }, [
      h('svg:rect', { class: 'rail', width: 100, height: 1 }),
      h('svg:rect', { class: 'fill', width: (100 * share).toFixed(2), height: 1 }),
    ]),
  ]);
}

// slots draws the hash slots, each run in the color of the node that leads it.
function slots() {
  const all = shardsOf();
  const title = `${SLOTS} hash slots: ` + all.slice(0, ROWS).map((g) => `${g.first_slot} to ${g.last_slot} led by ${g.leader || 'nobody'}`).join(', ');
  fill(byId('slots'), [
    h('svg:svg', { class: 'slots', viewBox: `0 0 ${SLOTS} 10`, preserveAspectRatio: 'none', role: 'img', 'aria-label': title }, [
      all.map((g) =>
        h('svg:rect', { class: g.leader ? colors.get(g.leader) : 'nobody', x: g.first_slot, width: g.last_slot - g.first_slot + 1, height: 10 }, h('svg:title', null, `shard ${g.name}: slots ${g.first_slot} to ${g.last_slot}, ${g.leader || 'no leader'}`)),
      ),
      all.slice(1).map((g) => h('svg:line', { class: 'seam', x1: g.first_slot, x2: g.first_slot, y1: 0, y2: 10 })),
    ]),
    h('p', { class: 'ends quiet small', 'aria-hidden': 'true' }, h('span', null, 'slot 0'), h('span', null, `${SLOTS - 1}`)),
  ]);
}

function shards() {
  const columns = ['Group', 'Slots', 'Leader', 'Term', 'Voters answering', 'Replicas'];
  const cell = (i, ...content) => h('td', { role: 'cell', 'data-name': columns[i] }, h('span', null, content));
  const replica = (r) => h('span', { class: 'named', title: r.role }, swatch(r.node), r.node, r.role === 'learner' && ' (learner)', r.role === 'candidate' && ' (candidate)', r.lag > 0 && h('small', null, ` ${count(r.lag)} behind`));
  const rows = state.groups.slice(-ROWS).map((g) =>
    h('tr', { role: 'row' }, [
      h('th', { role: 'rowheader', scope: 'row' }, groupTitle(g.name)),
      cell(1, g.first_slot < 0 ? '–' : `${g.first_slot}–${g.last_slot}`),
      cell(2, g.leader ? named(g.leader) : h('b', { class: 'critical' }, 'no leader')),
      cell(3, count(g.term)),
      cell(4, g.leader ? `${g.answering} of ${g.voters}` : '–'),
      cell(5, h('span', { class: 'list' }, g.replicas.map(replica))),
    ]),
  );
  fill(byId('shards'), [
    h('table', { role: 'table', 'aria-label': 'Groups, their leaders and replicas' }, [
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, columns.map((name) => h('th', { role: 'columnheader', scope: 'col' }, name)))),
      h('tbody', { role: 'rowgroup' }, rows),
    ]),
    state.groups.length > ROWS && h('p', { class: 'quiet' }, `${many(state.groups.length - ROWS, 'shard')} more: clusterctl status shows all.`),
  ]);
}

const slotTitle = (l) => (l.slot < 0 ? `all of shard ${l.shard}` : `shard ${l.shard}, lock slot ${l.slot}`);

// waits before this state, to tell what is waited for now.
let heat = new Map();
let heatMs = 0;

function locks() {
  const busy = state.locks.filter((l) => l.readers + l.writers > 0);
  const seconds = (state.now_ms - heatMs) / 1000;
  const rate = (l) => (heat.has(slotTitle(l)) && seconds > 0 ? Math.max(0, (l.waited - heat.get(slotTitle(l))) / seconds) : undefined);
  fill(byId('locks'), [
    busy.length === 0 && h('p', null, 'Nothing waits at this moment.', state.locks.length > 0 && ` ${many(state.locks.length, 'lock slot')} held.`),
    busy.length > 0 && h('ul', { class: 'rows' }, busy.map(lock)),
    h('h3', null, 'Most waited for'),
    state.hot.length === 0 && h('p', { class: 'quiet' }, 'No command has had to wait for a lock.'),
    state.hot.length > 0 && h('ul', { class: 'rows' }, state.hot.slice(0, 8).map((l) => hot(l, rate(l)))),
  ]);
  heat = new Map(state.hot.map((l) => [slotTitle(l), l.waited]));
  heatMs = state.now_ms;
}

function lock(l) {
  const waiting = [l.writers > 0 && many(l.writers, 'writer'), l.readers > 0 && many(l.readers, 'reader')].filter(Boolean).join(' and ');
  const held = l.held_by?.length > 0 ? l.held_by.join(', ') : many(l.holders, 'reader');
  const queue = l.queue?.length > 0 && h('span', { class: 'quiet' }, ` first: ${l.queue.map((name) => name || 'a read').join(', ')}`);
  return h('li', null, h('b', null, slotTitle(l)), h('span', null, h('code', null, held), ' ← ', waiting, queue));
}

function hot(l, rate) {
  const each = l.waited > 0 ? l.wait_us / l.waited : 0;
  return h('li', null, h('b', null, slotTitle(l)), h('span', null, `${many(l.waited, 'wait')} of ${micros(each)}`, rate >= 1 && h('span', { class: 'quiet' }, ` · ${count(rate)} per second now`)));
}

function changes() {
  fill(byId('changes'), [
    state.changes.length === 0 && h('p', null, 'No leader has changed as far as these nodes remember.'),
    state.changes.length > 0 &&
      h('ol', { class: 'rows' }, state.changes.slice(0, 16).map((c) =>
        h('li', null, [
          h('b', null, groupTitle(c.group)),
          h('span', null, c.from && c.from !== c.to ? [named(c.from), ' → '] : null, named(c.to), c.from === c.to && ' again', h('small', null, ` term ${c.term}`)),
          h('time', { class: 'quiet small', datetime: new Date(c.at_ms).toISOString() }, `${clock(c.at_ms)} · ${span((state.now_ms - c.at_ms) / 1000)} ago`),
        ]),
      )),
  ]);
}

function moves() {
  fill(byId('moves'), [
    state.moves.length === 0 && state.plan.length === 0 && h('p', null, 'Nothing moves, and nothing is to be moved.'),
    state.moves.length > 0 && h('ul', { class: 'rows' }, state.moves.map((m) => h('li', null, h('b', null, `shard ${m.shard}`), h('span', null, named(m.node), ` ${m.state}`), m.state === 'catching up' && bar('', m.match, m.last, `${count(m.match)} of ${count(m.last)} entries`, 2)))),
    state.plan.length > 0 && [h('h3', null, 'To be done'), h('ol', { class: 'rows' }, state.plan.map((s) => h('li', null, h('b', null, `${s.step}: shard ${s.shard}`), h('span', null, named(s.node), ` ${s.why}`))))],
  ]);
}
