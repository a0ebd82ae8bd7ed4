'use strict';
/* What all views share: the data, its units and colours, the state, which also stands in the address, and the tip. */

const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);

/* Names come from programs: they only ever become text, and what could move or hide other text is shown as its number. */
const hidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const clean = text => text.replace(hidden, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
const shown = name => name === '' ? '(no name)' : clean(name);

const regions = data.regions.map((region, line) => ({...region, line, name: shown(region.region)}));
const elsewhere = {line: regions.length, name: '(a region that the table leaves out)', calls: 0};
const regionAt = line => regions[line] || elsewhere;
const span = data.span_ns;
const weighed = data.heat.exclusive ? 'exclusive' : 'total';

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'style') Object.assign(made.style, value);
    else if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child != null));
  return made;
}

/* ---- units: three significant digits, as the command line shows them */

function scaled(value, units, step) {
  let unit = 0;
  while (unit + 1 < units.length && value >= step - .5) {
    value /= step;
    ++unit;
  }
  return value.toFixed(unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + '\u00a0' + units[unit];
}
const timeUnits = ['ns', 'µs', 'ms', 's'];
const time = ns => ns == null ? '–' : ns < 0 ? '-' + time(-ns) : scaled(ns, timeUnits, 1000);
const groups = new Intl.NumberFormat('en', {useGrouping: true});
const count = n => groups.format(n).replace(/,/g, '\u202f');
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + 's'}`;
const ratio = r => r == null ? '–' : r.toFixed(2);
const percent = p => p == null ? '–' : p.toFixed(1) + '\u00a0%';

/* An instant, so fine that two instants `step` apart differ. */
function instant(ns, step) {
  const unit = ns >= 1e9 || step >= 1e8 ? 3 : ns >= 1e6 ? 2 : ns >= 1e3 ? 1 : 0, size = 1000 ** unit;
  const digits = Math.max(0, Math.min(3 * unit, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return (ns / size).toFixed(digits) + '\u00a0' + timeUnits[unit];
}

/* Steps of 1, 2 or 5 times a power of ten, at most so many over the length. */
function niceStep(length, most) {
  const raw = length / Math.max(1, most), power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find(step => step * power >= raw * .9999);
}

/* ---- packed numbers: LEB128 in base64; each call of what is returned gives the next one */

function unpack(text) {
  const bytes = atob(text);
  let at = 0;
  return () => {
    let byte = bytes.charCodeAt(at++);
    if (byte < 128) return byte;
    let number = byte & 127, factor = 128;
    do {
      byte = bytes.charCodeAt(at++);
      number += (byte & 127) * factor;
      factor *= 128;
    } while (byte >= 128);
    return number;
  };
}

/* ---- colours: told apart also by those who see red and green alike; a region has the same one everywhere, and mostly
 * the same in the next profile of the program, since its name chooses first */

const palettes = {
  light: ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#7b61b8', '#a8a012', '#44aa99', '#8c2d55', '#6a7f10', '#7a8699'],
  dark: ['#3d9be0', '#efb43a', '#1fbf92', '#dd93bd', '#7cc8f5', '#f0803c', '#a58ee0', '#c9c23a', '#66ccbb', '#d0648f', '#9db53c', '#98a4b8'],
};
const inks = {
  light: {back: '#ffffff', ink: '#1b1f27', soft: '#586173', line: '#dfe3ea', faint: '#eef0f4', accent: '#0b62a8',
          window: 'rgb(11 98 168 / .14)', warn: '#b35400'},
  dark: {back: '#1b2029', ink: '#e7eaf0', soft: '#a2adbf', line: '#313947', faint: '#232935', accent: '#6cb4f2',
         window: 'rgb(108 180 242 / .2)', warn: '#f2b066'},
};
const ramps = {
  light: ['#f3f7fb', '#c6dbef', '#7fb8da', '#3a83bd', '#0b4f91', '#08234f'],
  dark: ['#1e2633', '#1d4473', '#1f6fae', '#36a2c9', '#8ed9b8', '#fdf6b5'],
};
const balances = {
  light: ['#2166ac', '#92c5de', '#f7f7f7', '#f4a582', '#b2182b'],
  dark: ['#6fb7f5', '#2f5f8f', '#2a303b', '#a05a2c', '#ffa45c'],
};

const colourOf = (() => {
  const count = palettes.light.length, taken = [];
  let used = 0;
  return regions.map(region => {
    let hash = 0;
    for (const c of region.region) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
    let colour = hash % count;
    if (used % count === 0) taken.fill(false);
    while (taken[colour]) colour = (colour + 1) % count;
    taken[colour] = true;
    ++used;
    return colour;
  });
})();

const theme = () => document.documentElement.dataset.theme;
const ink = () => inks[theme()];
const colour = line => line < regions.length ? palettes[theme()][colourOf[line]] : ink().soft;

function parts(hex) {
  return [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
}
/* Black or white, whichever reads better on it. */
function inkOn(hex) {
  const [r, g, b] = parts(hex).map(v => (v / 255) ** 2.2);
  return .2126 * r + .7152 * g + .0722 * b > .25 ? '#000000' : '#ffffff';
}
function between(ramp, at) {
  const scaled = Math.max(0, Math.min(1, at)) * (ramp.length - 1), low = Math.min(Math.floor(scaled), ramp.length - 2);
  const a = parts(ramp[low]), b = parts(ramp[low + 1]);
  return '#' + a.map((v, i) => Math.round(v + (b[i] - v) * (scaled - low)).toString(16).padStart(2, '0')).join('');
}

/* ---- state: what is chosen; every view redraws what it depends on */

const state = {region: regions.length ? 0 : -1, chosen: false, rank: null, find: '', sort: 'exclusive', down: true,
               from: 0, to: span, path: -1, metric: 'time', theme: ''};
const views = [];
let pending = false;

const matches = line => state.find === '' || regionAt(line).name.toLowerCase().includes(state.find.toLowerCase());
/* Whether some regions stand out; how strongly a region is drawn while another is searched for or chosen. */
const lit = () => state.find !== '' || state.chosen;
function strength(line) {
  if (state.find !== '') return matches(line) ? 1 : .15;
  return !state.chosen || line === state.region ? 1 : .3;
}

let ui = 1; /* how much larger than usual the style sheet's letters are */

function redraw() {
  pending = false;
  ui = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  for (const view of views) view();
}
function later() {
  if (!pending) requestAnimationFrame(redraw);
  pending = true;
}
function change(values) {
  Object.assign(state, values);
  writeAddress();
  later();
}
const choose = line => change(state.chosen && line === state.region ? {chosen: false} : {region: line, chosen: true});

let addressTimer = 0;
function address() {
  const at = new URLSearchParams();
  if (state.chosen && regions[state.region]) at.set('region', regions[state.region].region);
  if (state.rank != null) at.set('rank', state.rank);
  if (state.find) at.set('find', state.find);
  if (state.sort !== startSort.sort || state.down !== startSort.down) at.set('sort', (state.down ? '-' : '') + state.sort);
  if (state.from > 0 || state.to < span) {
    at.set('from', Math.round(state.from));
    at.set('to', Math.round(state.to));
  }
  if (state.path >= 0) at.set('path', state.path);
  if (state.metric !== 'time') at.set('metric', state.metric);
  if (state.theme) at.set('theme', state.theme);
  return at.toString();
}
/* Browsers allow so many changes of the address in so much time. */
function writeAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => history.replaceState(null, '', '#' + address()), 150);
}
function readAddress() {
  const at = new URLSearchParams(location.hash.slice(1));
  const region = at.has('region') ? regions.findIndex(known => known.region === at.get('region')) : -1;
  const from = Number(at.get('from') || 0), to = Number(at.get('to') || span);
  const sort = at.get('sort') || (startSort.down ? '-' : '') + startSort.sort;
  const path = at.has('path') ? Number(at.get('path')) : -1;
  Object.assign(state, {
    chosen: region >= 0, region: region >= 0 ? region : Math.min(0, regions.length - 1),
    rank: at.has('rank') && Number.isFinite(Number(at.get('rank'))) ? Number(at.get('rank')) : null,
    find: at.get('find') || '', sort: sort.replace(/^-/, ''), down: sort.startsWith('-'),
    path: data.flame && Number.isInteger(path) && path < data.flame.parent.length ? path : -1,
    metric: ['mean', 'calls'].includes(at.get('metric')) ? at.get('metric') : 'time',
    theme: ['light', 'dark'].includes(at.get('theme')) ? at.get('theme') : '',
  });
  if (from >= 0 && to <= span && from < to) Object.assign(state, {from, to});
  $('search').value = state.find;
  $('metric').value = state.metric;
  applyTheme();
  later();
}

/* ---- light and dark */

const systemDark = matchMedia('(prefers-color-scheme: dark)');
let printing = false;
function applyTheme() {
  const wanted = printing ? 'light' : state.theme || (systemDark.matches ? 'dark' : 'light');
  document.documentElement.dataset.theme = wanted;
  $('theme').textContent = wanted === 'dark' ? '☀ Light' : '☾ Dark';
  $('theme').setAttribute('aria-label', wanted === 'dark' ? 'Use light colours' : 'Use dark colours');
}
function toggleTheme() {
  const next = theme() === 'dark' ? 'light' : 'dark';
  change({theme: next === (systemDark.matches ? 'dark' : 'light') ? '' : next});
  applyTheme();
}

/* ---- canvases */

const fontOf = size => `${size * ui}px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif`;

/* Fitted to where it stands, `height` in CSS pixels where it is not the style sheet's; finer for paper. */
function fitted(canvas, height) {
  if (height) canvas.style.height = height + 'px';
  const width = canvas.clientWidth, tall = height || canvas.clientHeight, scale = printing ? 3 : devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(tall * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(tall * scale);
  }
  const to = canvas.getContext('2d');
  to.setTransform(scale, 0, 0, scale, 0, 0);
  to.clearRect(0, 0, width, tall);
  to.font = fontOf(12);
  to.textBaseline = 'middle';
  to.globalAlpha = 1;
  return {to, width, height: tall};
}

/* As much of the text as fits, its end given up; nothing where that is less than two letters. */
function fitText(to, text, width) {
  if (to.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (to.measureText(text.slice(0, middle) + '…').width <= width) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? '' : text.slice(0, low) + '…';
}

/* ---- the tip beside the pointer */

function tip(event, name, ...lines) {
  const box = $('tip');
  box.replaceChildren(element('b', {}, name), lines.filter(Boolean).join('\n'));
  box.hidden = false;
  const {width, height} = box.getBoundingClientRect();
  const x = event.clientX + 14 + width > innerWidth ? event.clientX - 14 - width : event.clientX + 14;
  const y = event.clientY + 16 + height > innerHeight ? event.clientY - 12 - height : event.clientY + 16;
  Object.assign(box.style, {left: Math.max(4, x) + 'px', top: Math.max(4, y) + 'px'});
}
const noTip = () => { $('tip').hidden = true; };

/* Where an event is on a canvas, in CSS pixels. */
function place(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return {x: event.clientX - box.left, y: event.clientY - box.top};
}
