// A chart of lines over time, one for each node. The newest is at the right. A
// pointer, or the arrow keys, look at a moment; without one the last is told.
import { fill, h } from './dom.js';
import { clock } from './words.js';

const HEIGHT = 148;
const LEFT = 52;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 22;
// A line ends where nothing was known for so long.
const GAP_MS = 5000;
// A column of so many pixels shows one point.
const COLUMN = 2;

// ceiling is the next of 1, 2 and 5 times a power of ten.
function ceiling(v, least) {
  const top = Math.max(v, least);
  const ten = 10 ** Math.floor(Math.log10(top));
  return [1, 2, 5, 10].map((f) => f * ten).find((c) => c >= top * 0.9999);
}

export class Chart {
  // read picks a number out of a sample, below 0 where there is none; print puts
  // one in words; join makes one number of those that share a column.
  constructor(host, { title, note, read, print, least, join }) {
    Object.assign(this, { host, title, note, read, print, least, join, lines: [], back: null });
    this.legend = h('div', { class: 'legend' });
    this.drawing = h('svg:svg', { class: 'drawing', height: HEIGHT, 'aria-hidden': 'true' });
    this.said = h('p', { class: 'unseen', 'aria-live': 'polite' });
    this.plot = h('div', { class: 'plot', tabindex: '0', role: 'img' }, this.drawing);
    host.append(h('figcaption', null, h('h3', null, title), h('span', { class: 'quiet' }, note)), this.plot, this.legend, this.said);
    this.plot.addEventListener('pointermove', (e) => this.point(e.clientX));
    this.plot.addEventListener('pointerdown', (e) => this.point(e.clientX));
    this.plot.addEventListener('pointerleave', () => this.look(null));
    this.plot.addEventListener('blur', () => this.look(null));
    this.plot.addEventListener('keydown', (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  point(clientX) {
    const box = this.plot.getBoundingClientRect();
    const part = (clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    this.look(Math.round(this.seconds * (1 - Math.min(1, Math.max(0, part)))));
  }

  key(e) {
    const step = { ArrowLeft: 1, ArrowRight: -1, PageUp: 10, PageDown: -10 }[e.key];
    if (e.key === 'Escape') this.look(null);
    else if (step) this.look(Math.min(this.seconds, Math.max(0, (this.back ?? 0) + step)));
    else return;
    e.preventDefault();
    this.said.textContent = this.back === null ? '' : `${this.back} seconds ago: ${this.told()}`;
  }

  // look chooses the moment to tell of: so many seconds ago, null the last.
  look(back) {
    this.back = back;
    this.draw();
  }

  // show takes lines over: a name, a class and samples, oldest first, each.
  show(lines, nowMs, seconds) {
    Object.assign(this, { lines, nowMs, seconds });
    this.draw();
  }

  // at is the sample nearest to the moment that is looked at.
  at(line) {
    const ms = this.nowMs - 1000 * (this.back ?? 0);
    const near = line.samples.findLast((s) => s.atMs <= ms + 700);
    return near && ms - near.atMs < GAP_MS && this.read(near) >= 0 ? near : undefined;
  }

  told() {
    return this.lines.map((l) => `${l.name} ${this.at(l) ? this.print(this.read(this.at(l))) : 'nothing'}`).join(', ');
  }

  draw() {
    const width = this.plot.clientWidth;
    if (!width || !this.nowMs) return;
    const inner = width - LEFT - RIGHT;
    const x = (ms) => LEFT + inner * (1 - (this.nowMs - ms) / (1000 * this.seconds));
    const drawn = this.lines.map((l) => this.columns(l, inner));
    const top = ceiling(Math.max(0, ...drawn.flat(2).map((p) => p.v)), this.least);
    const y = (v) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - v / top);
    this.drawing.setAttribute('width', width);
    fill(
      this.drawing,
      this.grid(top, y, width),
      this.times(x, inner),
      this.lines.map((l, i) => h('svg:path', { class: `line ${l.color}`, d: path(drawn[i], x, y) })),
      this.cross(x, y),
    );
    this.plot.setAttribute('aria-label', `${this.title}. ${this.told()}. The arrow keys look back.`);
    this.tell();
  }

  // columns joins the samples that share a column, and parts them where there is
  // a gap.
  columns(line, inner) {
    const step = Math.max(1000, (1000 * this.seconds * COLUMN) / inner);
    const from = this.nowMs - 1000 * this.seconds;
    const runs = [];
    let column, lastMs = -Infinity;
    for (const s of line.samples) {
      const v = this.read(s);
      if (s.atMs < from || v < 0) continue;
      const at = Math.floor(s.atMs / step);
      if (s.atMs - lastMs > GAP_MS) runs.push([]);
      else if (column?.at === at) {
        column.all.push(v);
        column.v = this.join(column.all);
        lastMs = s.atMs;
        continue;
      }
      column = { at, ms: s.atMs, v, all: [v] };
      runs.at(-1).push(column);
      lastMs = s.atMs;
    }
    return runs;
  }

  grid(top, y, width) {
    return [0, 0.5, 1].map((part) => [
      h('svg:line', { class: 'grid', x1: LEFT, x2: width - RIGHT, y1: y(top * part), y2: y(top * part) }),
      h('svg:text', { class: 'tick', x: LEFT - 6, y: y(top * part) + 4, 'text-anchor': 'end' }, this.print(top * part)),
    ]);
  }

  // times names moments along the bottom: five, or three where it is narrow.
  times(x, inner) {
    const parts = inner < 300 ? 2 : 4;
    return Array.from({ length: parts + 1 }, (_, i) => {
      const back = (this.seconds * (parts - i)) / parts;
      const anchor = i === 0 ? 'start' : i === parts ? 'end' : 'middle';
      return h('svg:text', { class: 'tick', x: x(this.nowMs - 1000 * back), y: HEIGHT - 4, 'text-anchor': anchor }, ago(back));
    });
  }

  // cross is the line at the moment that is looked at, and dots where it meets.
  cross(x, y) {
    if (this.back === null) return null;
    const at = x(this.nowMs - 1000 * this.back);
    return [
      h('svg:line', { class: 'cross', x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }),
      this.lines.map((l) => this.at(l) && h('svg:circle', { class: `dot ${l.color}`, r: 3.5, cx: at, cy: y(this.read(this.at(l))) })),
    ];
  }

  // tell writes the legend: what each node had at the moment looked at.
  tell() {
    fill(
      this.legend,
      this.lines.map((l) => h('span', { class: 'key' }, h('i', { class: `swatch ${l.color}` }), h('span', null, l.name), ' ', h('b', null, this.at(l) ? this.print(this.read(this.at(l))) : '–'))),
      this.back !== null && h('span', { class: 'key quiet' }, clock(this.nowMs - 1000 * this.back)),
    );
  }
}

// ago prints a number of seconds before now.
function ago(seconds) {
  if (seconds === 0) return 'now';
  if (seconds < 60) return `−${seconds} s`;
  const rest = seconds % 60;
  return rest === 0 ? `−${seconds / 60} min` : `−${Math.floor(seconds / 60)}:${String(rest).padStart(2, '0')} min`;
}

// path draws runs of points. A run of one point is a dot.
function path(runs, x, y) {
  const at = (p) => `${x(p.ms).toFixed(1)} ${y(p.v).toFixed(1)}`;
  return runs.map((run) => (run.length === 1 ? `M${at(run[0])}h.01` : `M${run.map(at).join('L')}`)).join('');
}

export const greatest = (all) => Math.max(...all);
export const mean = (all) => all.reduce((a, b) => a + b, 0) / all.length;
