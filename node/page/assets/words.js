// Numbers and times in words that fit a small screen.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

// three prints a number with at most three digits that count.
function three(v) {
  if (v >= 100) return v.toFixed(0);
  return v.toPrecision(3).replace(/\.?0+$/, '');
}

function scaled(v, units, step) {
  let i = 0;
  while (v >= step * 0.9995 && i < units.length - 1) {
    v /= step;
    i++;
  }
  return [v, units[i]];
}

// count prints how many: 950, 12.3k, 4.56M.
export function count(v) {
  if (v < 10000) return whole.format(v);
  const [n, unit] = scaled(v, ['', 'k', 'M', 'G', 'T'], 1000);
  return three(n) + unit;
}

export function bytes(v) {
  const [n, unit] = scaled(v, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'], 1024);
  return `${three(n)} ${unit}`;
}

// micros prints a time that is given in microseconds.
export function micros(v) {
  if (v <= 0) return '0';
  const [n, unit] = scaled(v, ['µs', 'ms', 's'], 1000);
  return `${three(n)} ${unit}`;
}

// span prints how long something has lasted.
export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}

export const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB');

// many puts a noun behind a number: 1 shard, 2 shards.
export const many = (n, noun) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;

export const groupTitle = (name) => (name === 'meta' ? 'meta group' : `shard ${name}`);
