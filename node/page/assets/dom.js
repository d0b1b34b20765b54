// Elements and how to bring them up to date without losing where the reader is:
// what stays the same stays the same element, and keeps focus and selection.
// Text goes in as text alone; nothing here reads markup.

const SVG = 'http://www.w3.org/2000/svg';

// h makes an element; 'svg:name' makes one of a drawing. Children are strings,
// elements, lists of them, or nothing.
export function h(tag, attributes, ...children) {
  const el = tag.startsWith('svg:') ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== undefined && value !== null && value !== false) el.setAttribute(name, value === true ? '' : value);
  }
  el.append(...flat(children));
  return el;
}

const flat = (children) =>
  children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false).map((c) => (c instanceof Node ? c : String(c)));

// fill gives an element new children.
export function fill(el, ...children) {
  const next = document.createDocumentFragment();
  next.append(...flat(children));
  settle(el, next);
}

// settle makes the children of one node those of another.
function settle(old, next) {
  const wanted = [...next.childNodes];
  wanted.forEach((want, i) => {
    const have = old.childNodes[i];
    if (!have) old.append(want);
    else if (have.nodeName !== want.nodeName) have.replaceWith(want);
    else morph(have, want);
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
}

function morph(have, want) {
  if (have.nodeType === Node.TEXT_NODE) {
    if (have.data !== want.data) have.data = want.data;
    return;
  }
  for (const { name } of [...have.attributes]) if (!want.hasAttribute(name)) have.removeAttribute(name);
  for (const { name, value } of [...want.attributes]) if (have.getAttribute(name) !== value) have.setAttribute(name, value);
  settle(have, want);
}

export const byId = (id) => document.getElementById(id);
