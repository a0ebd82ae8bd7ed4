/* The timeline: a lane for each thread of each rank, with a row for each depth of calls. */

const lanes = [];
const timeArea = { gap: 8, scrolled: 0, rowHeight: 16, gutter: 96, shortest: 100};
let activity = []; /* of the whole profile, 0 ... 1, for the strip on top */

/* Columns. A block of several calls has regions mix[2 * i], i from mixed[block] up to the next block's, each with the
 * percent of its time that it has at least, mix[2 * i + 1]; `line` is the first of them, or the region of the one call. */
function readBlocks(text) {
  const next = unpack(text), count = next(), mix = [];
  const blocks = {count, start: new Float64Array(count), end: new Float64Array(count), line: new Uint16Array(count),
                  calls: new Float64Array(count), filled: new Float32Array(count), mixed: new Uint32Array(count + 1), mix};
  let at = 0;
  for (let i = 0; i < count; ++i) {
    const start = at + next(), length = next(), calls = next();
    at = start + length;
    blocks.start[i] = start;
    blocks.end[i] = at;
    blocks.calls[i] = calls;
    blocks.filled[i] = 1;
    if (calls === 1) blocks.line[i] = next();
    else {
      const idle = next();
      blocks.filled[i] = length ? 1 - idle / length : 1;
      for (let left = next(); left; --left) mix.push(next(), next());
      blocks.line[i] = mix[2 * blocks.mixed[i]];
    }
    blocks.mixed[i + 1] = mix.length / 2;
  }
  return blocks;
}
const mixOf = (row, i) => {
  const mix = [];
  for (let k = row.mixed[i]; k < row.mixed[i + 1]; ++k) mix.push([row.mix[2 * k], row.mix[2 * k + 1]]);
  return mix;
};

function readLanes() {
  for (const rank of data.timeline.ranks) {
    const several = rank.lanes.length > 1;
    for (const [number, lane] of rank.lanes.entries())
      lanes.push({rank: rank.rank, quantum: rank.quantum_ns, thread: lane.thread, calls: lane.calls,
                  rows: lane.depths.map(readBlocks),
                  label: `rank ${rank.rank}`,
                  under: !several ? '' : lane.thread < 0 ? `lane ${number}` : `thread ${lane.thread} ${lane.name}`.trim()});
  }
  const slots = 600;
  activity = new Float64Array(slots);
  for (const lane of lanes) {
    const row = lane.rows[0] || {count: 0};
    for (let i = 0; i < row.count; ++i) {
      const first = row.start[i] / span * slots, last = row.end[i] / span * slots;
      for (let slot = Math.floor(first); slot < Math.min(last, slots); ++slot)
        activity[slot] += (Math.min(last, slot + 1) - Math.max(first, slot)) * row.filled[i];
    }
  }
  for (let slot = 0; slot < slots; ++slot) activity[slot] /= lanes.length || 1;
}

/* ---- where lanes are */

function layOut(width) {
  const rows = lanes.reduce((sum, lane) => sum + Math.max(1, lane.rows.length), 0);
  const room = printing ? 480 : Math.max(260, Math.min(innerHeight * .62, 1300));
  timeArea.gutter = (width < 560 ? 62 : 96) * ui;
  timeArea.strip = 30 * ui;
  timeArea.axis = 24 * ui;
  timeArea.gap = lanes.length > 40 ? 3 : 8;
  timeArea.rowHeight = Math.max(lanes.length > 40 ? 5 : 9, Math.min(20 * ui, Math.floor((room - lanes.length * timeArea.gap) / rows)));
  let y = timeArea.strip + timeArea.axis + 4;
  timeArea.top = y;
  for (const lane of lanes) {
    lane.y = y;
    lane.height = Math.max(1, lane.rows.length) * timeArea.rowHeight;
    y += lane.height + timeArea.gap;
  }
  timeArea.content = y;
  timeArea.height = Math.max(120, Math.min(y, timeArea.top + room));
  timeArea.scrolled = Math.max(0, Math.min(timeArea.scrolled, y - timeArea.height));
  timeArea.width = width;
}
const timeWidth = () => timeArea.width - timeArea.gutter;
const xOf = ns => timeArea.gutter + (ns - state.from) / (state.to - state.from) * timeWidth();
const nsOf = x => state.from + (x - timeArea.gutter) / timeWidth() * (state.to - state.from);

function firstAfter(ends, ns) {
  let low = 0, high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* ---- drawing */

const drawn = {colour: [], strength: []}; /* of each region, while a picture is drawn */

/* Several calls as what they are: a stack of their regions, as high as they fill the time, combed where there is room. */
function drawJoined(to, row, i, x, width, y, height) {
  to.globalAlpha = 1;
  to.fillStyle = ink().faint;
  to.fillRect(x, y, width, height);
  let bottom = y + height;
  for (let k = row.mixed[i]; k < row.mixed[i + 1]; ++k) {
    const line = row.mix[2 * k], share = row.mix[2 * k + 1];
    const tall = Math.max(share >= 2 ? 1 : 0, height * row.filled[i] * share / 100);
    to.globalAlpha = drawn.strength[line] * .9;
    to.fillStyle = drawn.colour[line];
    to.fillRect(x, Math.max(y, bottom - tall), width, Math.min(tall, bottom - y));
    bottom -= tall;
  }
  to.globalAlpha = .22;
  to.fillStyle = ink().back;
  for (let tooth = x + 3; tooth < x + width - 1; tooth += 4) to.fillRect(tooth, y, 1, height);
}

function blockName(row, i) {
  const name = regionAt(row.line[i]).name;
  return row.calls[i] === 1 ? name : row.mix[2 * row.mixed[i] + 1] >= 99 ? `${count(row.calls[i])} × ${name}` : `${count(row.calls[i])} calls`;
}

function drawBlock(to, row, i, x, width, y, height) {
  const line = row.line[i], fill = drawn.colour[line], alpha = drawn.strength[line], joined = row.calls[i] > 1;
  const wide = width > 4 ? width - 1 : width;
  if (joined) drawJoined(to, row, i, x, wide, y, height);
  else {
    to.globalAlpha = alpha;
    to.fillStyle = fill;
    to.fillRect(x, y, wide, height);
  }
  if (state.chosen && line === state.region && width > 3 && !joined) {
    to.globalAlpha = 1;
    to.strokeStyle = ink().ink;
    to.strokeRect(x + .5, y + .5, wide - 1, height - 1);
  }
  if (width < 34 || height < 11) return;
  const seen = Math.max(x, timeArea.gutter), room = Math.min(x + wide, timeArea.width) - seen - 8;
  const name = blockName(row, i), text = room < 20 ? '' : joined ? (to.measureText(name).width <= room ? name : '') : fitText(to, name, room);
  if (!text) return;
  if (joined) {
    const plate = to.measureText(text).width + 6;
    to.globalAlpha = .8;
    to.fillStyle = ink().back;
    to.fillRect(seen + 2, y + 1, plate, height - 2);
  }
  to.globalAlpha = joined ? 1 : Math.max(alpha, .6);
  to.fillStyle = joined || alpha < 1 ? ink().ink : inkOn(fill);
  to.fillText(text, seen + (joined ? 5 : 4), y + height / 2 + .5);
}

/* How much of a block's time those regions have that stand out, 0 ... 1, and whose colour says so. */
const standsOut = {part: 0, line: 0};
function findLit(row, i) {
  standsOut.part = drawn.strength[row.line[i]] === 1 ? 1 : 0;
  standsOut.line = row.line[i];
  if (row.calls[i] === 1) return;
  standsOut.part = 0;
  for (let k = row.mixed[i + 1] - 1; k >= row.mixed[i]; --k) {
    if (drawn.strength[row.mix[2 * k]] < 1) continue;
    standsOut.part += row.mix[2 * k + 1] / 100;
    standsOut.line = row.mix[2 * k];
  }
}

/* What is narrower than a pixel shares it: its colour is that of who has most of it, as strong as it is filled. What
 * stands out is drawn over it, as high as its part. */
function drawRow(to, row, y, height) {
  const scale = timeWidth() / (state.to - state.from), some = lit();
  let pixel = -1, most = 0, line = 0, sum = 0, part = 0, partLine = 0;
  const flush = () => {
    if (pixel < 0 || sum <= 0) return;
    to.globalAlpha = drawn.strength[line] * Math.min(1, Math.max(.2, sum));
    to.fillStyle = drawn.colour[line];
    to.fillRect(pixel, y, 1, height);
    if (part <= 0) return;
    const tall = Math.min(height, Math.max(1, height * part / Math.max(1, sum)));
    to.globalAlpha = 1;
    to.fillStyle = drawn.colour[partLine];
    to.fillRect(pixel, y + height - tall, 1, tall);
  };
  for (let i = firstAfter(row.end, state.from); i < row.count && row.start[i] <= state.to; ++i) {
    const x = timeArea.gutter + (row.start[i] - state.from) * scale, width = (row.end[i] - row.start[i]) * scale;
    if (width >= 1.5) {
      const left = Math.max(x, timeArea.gutter - 2), right = Math.min(x + width, timeArea.width + 2);
      if (right > left) drawBlock(to, row, i, left, right - left, y, height);
      continue;
    }
    if (Math.floor(x) !== pixel) {
      flush();
      pixel = Math.floor(x);
      most = sum = part = 0;
    }
    const weight = Math.max(width, .02) * row.filled[i];
    sum += weight;
    if (weight > most) {
      most = weight;
      line = row.line[i];
    }
    if (!some) continue;
    findLit(row, i);
    part += weight * standsOut.part;
    if (standsOut.part > 0) partLine = standsOut.line;
  }
  flush();
  to.globalAlpha = 1;
}

function drawStrip(to) {
  const {strip, gutter, width} = timeArea, colours = ink(), room = width - gutter;
  to.fillStyle = colours.faint;
  to.fillRect(gutter, 0, room, strip);
  to.fillStyle = colours.soft;
  to.globalAlpha = .55;
  to.beginPath();
  to.moveTo(gutter, strip);
  activity.forEach((part, slot) => {
    to.lineTo(gutter + slot / activity.length * room, strip - part * (strip - 4));
    to.lineTo(gutter + (slot + 1) / activity.length * room, strip - part * (strip - 4));
  });
  to.lineTo(width, strip);
  to.fill();
  to.globalAlpha = 1;
  const left = gutter + state.from / span * room, right = gutter + state.to / span * room;
  to.fillStyle = colours.window;
  to.fillRect(left, 0, Math.max(2, right - left), strip);
  to.strokeStyle = colours.accent;
  to.strokeRect(left + .5, .5, Math.max(2, right - left) - 1, strip - 1);
}

function drawAxis(to) {
  const {strip, axis, gutter, width, height} = timeArea, colours = ink();
  to.textAlign = 'center';
  to.font = fontOf(11);
  const widest = to.measureText(instant(state.to, (state.to - state.from) / 10)).width;
  const step = niceStep(state.to - state.from, timeWidth() / Math.max(70 * ui, widest + 26));
  for (let at = Math.ceil(state.from / step) * step; at <= state.to; at += step) {
    const x = Math.round(xOf(at)) + .5, text = instant(Math.round(at), step), half = to.measureText(text).width / 2;
    to.strokeStyle = colours.line;
    to.beginPath();
    to.moveTo(x, strip + axis - 5);
    to.lineTo(x, height);
    to.stroke();
    to.fillStyle = colours.soft;
    to.fillText(text, Math.max(gutter + half, Math.min(width - half, x)), strip + axis / 2 - 1);
  }
  to.textAlign = 'left';
}

function drawLabels(to, lane, y) {
  const colours = ink(), narrow = timeArea.gutter < 80 * ui;
  if (state.rank === lane.rank) {
    to.fillStyle = colours.window;
    to.fillRect(0, y - 2, timeArea.width, lane.height + 4);
  }
  if (lane.height < 9 && lane !== lanes.find(other => other.rank === lane.rank)) return;
  const tall = Math.max(lane.height, 9), size = Math.min(12, Math.max(8, tall / ui - 1));
  to.font = fontOf(size);
  to.fillStyle = state.rank === lane.rank ? colours.accent : colours.ink;
  const split = lane.under && tall >= 26 * ui;
  const label = narrow ? `r${lane.rank}` : lane.label, under = narrow ? lane.under.replace('thread ', 't') : lane.under;
  to.fillText(label, 2, split ? y + tall / 2 - 7 * ui : y + tall / 2);
  to.fillStyle = colours.soft;
  if (split) to.fillText(under, 2, y + tall / 2 + 7 * ui);
  else if (under) to.fillText(under.replace('thread ', 't'), to.measureText(label + ' ').width + 4, y + tall / 2);
}

views.push(function drawTimeline() {
  if (!data.timeline) return;
  const canvas = $('time'), width = canvas.clientWidth;
  layOut(width);
  const {to} = fitted(canvas, timeArea.height), {top, scrolled, rowHeight, height} = timeArea;
  for (let line = 0; line <= regions.length; ++line) {
    drawn.colour[line] = colour(line);
    drawn.strength[line] = strength(line);
  }
  drawStrip(to);
  drawAxis(to);
  to.save();
  to.beginPath();
  to.rect(0, top, width, height - top);
  to.clip();
  for (const lane of lanes) {
    const y = lane.y - scrolled;
    if (y + lane.height < top || y > height) continue;
    drawLabels(to, lane, y);
    to.font = fontOf(Math.min(12, rowHeight / ui - 2));
    to.save();
    to.beginPath();
    to.rect(timeArea.gutter, top, width - timeArea.gutter, height - top);
    to.clip();
    lane.rows.forEach((row, depth) => drawRow(to, row, y + depth * rowHeight, rowHeight - 1));
    to.restore();
  }
  to.restore();
  if (timeArea.content > height) {
    const room = height - top, tall = Math.max(20, room * room / (timeArea.content - top));
    to.fillStyle = ink().soft;
    to.globalAlpha = .6;
    to.fillRect(width - 5, top + scrolled / (timeArea.content - height) * (room - tall), 4, tall);
    to.globalAlpha = 1;
  }
  describeRange();
});

function describeRange() {
  const step = (state.to - state.from) / 1000;
  $('range').textContent = state.from <= 0 && state.to >= span ? `${time(span)}, all of it`
    : `${instant(state.from, step)} to ${instant(state.to, step)}: ${time(state.to - state.from)} of ${time(span)}`;
  $('time').setAttribute('aria-label', `Timeline of ${plural(lanes.length, 'lane')}, ${$('range').textContent}`);
  const coarsest = lanes.reduce((most, lane) => Math.max(most, lane.quantum), 0);
  $('time-hint').textContent = coarsest ? `Combed blocks stand for several calls, each shorter than ${time(coarsest)}: their regions in a stack, as high as they fill the time.`
    : 'Every call is drawn.';
  for (const button of $('legend').children)
    button.setAttribute('aria-pressed', state.chosen && Number(button.dataset.line) === state.region);
}

/* ---- moving */

function show(from, to) {
  const length = Math.max(Math.min(timeArea.shortest, span), Math.min(span, to - from));
  const middle = (from + to) / 2;
  from = Math.max(0, Math.min(span - length, middle - length / 2));
  change({from, to: from + length});
}
function zoom(factor, at = (state.from + state.to) / 2) {
  const length = Math.max(Math.min(timeArea.shortest, span), Math.min(span, (state.to - state.from) * factor));
  const part = (at - state.from) / (state.to - state.from);
  show(at - length * part, at + length * (1 - part));
}
const pan = part => show(state.from + part * (state.to - state.from), state.to + part * (state.to - state.from));
function scrollLanes(by) {
  timeArea.scrolled += by;
  later();
}
const timeActions = {in: () => zoom(.5), out: () => zoom(2), left: () => pan(-.25), right: () => pan(.25),
                     all: () => change({from: 0, to: span, rank: null})};

function timeKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = {'+': timeActions.in, '=': timeActions.in, '-': timeActions.out, '_': timeActions.out, '0': timeActions.all,
                  ArrowLeft: timeActions.left, ArrowRight: timeActions.right, ArrowUp: () => scrollLanes(-40),
                  ArrowDown: () => scrollLanes(40), PageUp: () => scrollLanes(-300), PageDown: () => scrollLanes(300),
                  Home: () => show(0, state.to - state.from), End: () => show(span - (state.to - state.from), span)}[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function showRank(rank) {
  const lane = lanes.find(other => other.rank === rank);
  if (lane) timeArea.scrolled = lane.y - timeArea.top - 40;
}

/* ---- the pointer */

function blockAt(at) {
  if (at.y < timeArea.top || at.x < timeArea.gutter) return null;
  const y = at.y + timeArea.scrolled, lane = lanes.find(other => y >= other.y && y < other.y + other.height);
  const depth = lane ? Math.floor((y - lane.y) / timeArea.rowHeight) : -1, row = lane && lane.rows[depth];
  if (!row) return null;
  const ns = nsOf(at.x), slack = 1.5 * (state.to - state.from) / timeWidth(), i = firstAfter(row.end, ns - slack);
  return i < row.count && row.start[i] <= ns + slack ? {lane, depth, row, i} : null;
}

function tellBlock(event, found) {
  if (!found) return noTip();
  const {lane, depth, row, i} = found, region = regionAt(row.line[i]), length = row.end[i] - row.start[i];
  const where = `${lane.label}${lane.under ? ', ' + lane.under : ''}, depth ${depth}`;
  const from = `from ${instant(row.start[i], Math.max(1, length / 100))}`;
  if (row.calls[i] === 1) return tip(event, region.name, time(length), from, where);
  return tip(event, `${count(row.calls[i])} calls in ${time(length)}`, `${Math.round(100 * row.filled[i])} % of it filled, by`,
             ...mixOf(row, i).map(([line, share]) => `${regionAt(line).name}: ${share} %`), from, where);
}

function startTimeline() {
  if (!data.timeline) {
    $('timeline').hidden = true;
    return;
  }
  readLanes();
  const canvas = $('time'), fingers = new Map();
  let drag = null, pageScrolled = 0;
  addEventListener('scroll', () => { pageScrolled = performance.now(); }, {passive: true});
  canvas.addEventListener('wheel', event => {
    const all = state.from <= 0 && state.to >= span, out = event.deltaY > 0;
    /* Whoever scrolls the page past the timeline does not mean it. */
    if (document.activeElement !== canvas && performance.now() - pageScrolled < 250) return;
    if (event.shiftKey) scrollLanes(event.deltaY || event.deltaX);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / timeWidth());
    else if (all && out) return;
    else zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), nsOf(place(canvas, event).x));
    event.preventDefault();
  }, {passive: false});

  canvas.addEventListener('pointerdown', event => {
    const at = place(canvas, event);
    fingers.set(event.pointerId, at);
    canvas.setPointerCapture(event.pointerId);
    drag = {x: at.x, y: at.y, from: state.from, to: state.to, scrolled: timeArea.scrolled, moved: false,
            strip: at.y < timeArea.strip, apart: 0};
    if (fingers.size === 2) {
      const [a, b] = [...fingers.values()];
      drag.apart = Math.abs(a.x - b.x);
      drag.middle = nsOf((a.x + b.x) / 2);
    }
    noTip();
  });
  canvas.addEventListener('pointermove', event => {
    const at = place(canvas, event);
    if (!drag) return tellBlock(event, blockAt(at));
    fingers.set(event.pointerId, at);
    if (fingers.size === 2 && drag.apart > 10) {
      const [a, b] = [...fingers.values()], part = drag.apart / Math.max(10, Math.abs(a.x - b.x));
      show(drag.middle - (drag.middle - drag.from) * part, drag.middle + (drag.to - drag.middle) * part);
      return undefined;
    }
    if (Math.abs(at.x - drag.x) + Math.abs(at.y - drag.y) > 4) drag.moved = true;
    if (!drag.moved) return undefined;
    canvas.classList.add('moving');
    if (drag.strip) {
      const ns = x => Math.max(0, Math.min(1, (x - timeArea.gutter) / timeWidth())) * span;
      show(Math.min(ns(drag.x), ns(at.x)), Math.max(ns(drag.x), ns(at.x)));
    } else {
      const by = (drag.x - at.x) / timeWidth() * (drag.to - drag.from);
      timeArea.scrolled = drag.scrolled + drag.y - at.y;
      show(drag.from + by, drag.to + by);
    }
    return undefined;
  });
  const done = event => {
    fingers.delete(event.pointerId);
    canvas.classList.remove('moving');
    if (drag && !drag.moved && event.type === 'pointerup') {
      const at = place(canvas, event), found = blockAt(at);
      if (drag.strip) {
        const middle = (at.x - timeArea.gutter) / timeWidth() * span, half = (state.to - state.from) / 2;
        show(middle - half, middle + half);
      } else if (found) choose(found.row.line[found.i]);
      else if (state.chosen || state.rank != null) change({chosen: false, rank: null});
    }
    drag = null;
  };
  canvas.addEventListener('pointerup', done);
  canvas.addEventListener('pointercancel', done);
  canvas.addEventListener('pointerleave', noTip);
  canvas.addEventListener('dblclick', event => {
    const found = blockAt(place(canvas, event));
    if (!found) return;
    const start = found.row.start[found.i], end = found.row.end[found.i], margin = (end - start) * .1;
    show(start - margin, end + margin);
    change({region: found.row.line[found.i], chosen: true});
  });
  canvas.addEventListener('keydown', timeKey);
  for (const button of document.querySelectorAll('[data-time]'))
    button.addEventListener('click', timeActions[button.dataset.time]);
}

views.push(function drawLegend() {
  if (!data.timeline || $('legend').dataset.theme === theme()) return;
  $('legend').dataset.theme = theme();
  $('legend').replaceChildren(...regions.slice(0, 14).map(region => element('button',
    {type: 'button', 'data-line': region.line, onclick: () => choose(region.line)}, chip(region.line), element('span', {class: 'name'}, region.name))));
});
