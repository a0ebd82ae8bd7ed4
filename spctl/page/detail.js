/* One region close by: its figures, a histogram of its durations, them over time, and its time on each rank. */

const plot = {left: 46, right: 8, top: 16, bottom: 20};

/* Where bar n begins, ns: as the histogram is stored, four bars an octave. */
const barStart = n => 2 ** Math.floor(n / 4) * (1 + n % 4 / 4);

function fitPlot() {
  Object.assign(plot, {left: 46 * ui, right: 8 * ui, top: 16 * ui, bottom: 20 * ui});
}

function axisY(to, most, height, text, scaleY) {
  const colours = ink();
  to.font = fontOf(11);
  to.textAlign = 'right';
  for (const value of [0, most / 2, most]) {
    const y = Math.round(scaleY(value)) + .5;
    to.strokeStyle = value ? colours.faint : colours.line;
    to.beginPath();
    to.moveTo(plot.left, y);
    to.lineTo(to.canvas.clientWidth - plot.right, y);
    to.stroke();
    to.fillStyle = colours.soft;
    to.fillText(text(value), plot.left - 5, y);
  }
  to.textAlign = 'left';
}
const short = n => n >= 1e9 ? +(n / 1e9).toPrecision(3) + 'G' : n >= 1e6 ? +(n / 1e6).toPrecision(3) + 'M' : n >= 1e3 ? +(n / 1e3).toPrecision(3) + 'k' : String(Math.round(n));
const roundTime = ns => ns === 0 ? '0' : time(ns).replace(/\.0+(?=\u00a0)/, '');

function nothing(canvas, text) {
  const {to, width, height} = fitted(canvas);
  to.fillStyle = ink().soft;
  to.textAlign = 'center';
  to.fillText(text, width / 2, height / 2);
  to.textAlign = 'left';
}

function drawHistogram(region) {
  const canvas = $('histogram'), bars = data.histograms && data.histograms[region.line];
  if (!bars || !bars.calls.length) return nothing(canvas, data.events ? 'not kept for regions of so little time' : 'this profile holds no calls');
  const {to, width, height} = fitted(canvas), colours = ink(), most = Math.max(...bars.calls), n = bars.calls.length;
  const base = height - plot.bottom, room = width - plot.left - plot.right;
  axisY(to, most, height, short, value => base - value / most * (base - plot.top));
  const first = Math.log2(barStart(bars.first)), last = Math.log2(barStart(bars.first + n));
  const x = ns => plot.left + (Math.log2(Math.max(1, ns)) - first) / (last - first) * room;
  to.fillStyle = colour(region.line);
  bars.calls.forEach((calls, i) => {
    const left = x(barStart(bars.first + i)), right = x(barStart(bars.first + i + 1));
    const tall = calls ? Math.max(1.5, calls / most * (base - plot.top)) : 0;
    to.fillRect(left, base - tall, Math.max(1, right - left - 1), tall);
  });
  to.font = fontOf(11);
  to.textAlign = 'center';
  to.fillStyle = colours.soft;
  let free = 0;
  for (let power = Math.ceil(first / Math.log2(10) - 1e-9); power <= last / Math.log2(10); ++power) {
    const at = x(10 ** power), half = to.measureText(roundTime(10 ** power)).width / 2, centre = Math.max(half, Math.min(width - half, at));
    if (centre - half < free) continue;
    to.fillText(roundTime(10 ** power), centre, height - 8 * ui);
    to.fillRect(at, base, 1, 4);
    free = centre + half + 8;
  }
  let clear = 0;
  for (const [key, name] of [['p50_ns', 'p50'], ['p95_ns', 'p95'], ['p99_ns', 'p99']]) {
    if (region[key] == null) continue;
    const at = x(region[key]), centre = Math.max(clear, at);
    to.strokeStyle = colours.ink;
    to.setLineDash([3, 3]);
    to.beginPath();
    to.moveTo(at, plot.top - 2);
    to.lineTo(at, base);
    to.stroke();
    to.setLineDash([]);
    to.fillStyle = colours.ink;
    if (centre > width - 10) continue;
    to.fillText(name, centre, 7 * ui);
    clear = centre + 26 * ui;
  }
  to.textAlign = 'left';
  canvas.setAttribute('aria-label', `Histogram of the durations of ${region.name}, ${time(region.min_ns)} to ${time(region.max_ns)}, half of them up to ${time(region.p50_ns)}`);
  return undefined;
}

function drawOverTime(region) {
  const canvas = $('over-time'), slices = data.over_time && data.over_time.regions[region.line];
  if (!slices || !slices.slice.length) return nothing(canvas, data.events ? 'not kept for regions of so little time' : 'this profile holds no calls');
  const {to, width, height} = fitted(canvas), colours = ink(), all = data.over_time.slices;
  const means = slices.total_ns.map((total, i) => total / slices.calls[i]), most = Math.max(...slices.max_ns, 1);
  const least = Math.max(1, Math.min(...slices.min_ns)), steep = most / Math.max(1, meanOf(means)) > 12;
  const base = height - plot.bottom, room = width - plot.left - plot.right, tall = base - plot.top;
  const floor = steep ? Math.log10(least) : 0, ceiling = steep ? Math.log10(most) : most;
  const y = ns => base - Math.max(0, ((steep ? Math.log10(Math.max(ns, least)) : ns) - floor) / (ceiling - floor || 1)) * tall;
  const x = slice => plot.left + slice / all * room;
  if (state.from > 0 || state.to < span) {
    to.fillStyle = colours.window;
    to.fillRect(plot.left + state.from / span * room, plot.top, Math.max(2, (state.to - state.from) / span * room), tall);
  }
  to.font = fontOf(11);
  to.textAlign = 'right';
  const marks = steep ? [least, 10 ** ((floor + ceiling) / 2), most] : [0, most / 2, most];
  for (const mark of marks) {
    const at = Math.round(y(mark)) + .5;
    to.strokeStyle = mark === marks[0] ? colours.line : colours.faint;
    to.beginPath();
    to.moveTo(plot.left, at);
    to.lineTo(width - plot.right, at);
    to.stroke();
    to.fillStyle = colours.soft;
    to.fillText(roundTime(mark), plot.left - 4, at);
  }
  to.fillStyle = colour(region.line);
  slices.slice.forEach((slice, i) => {
    const top = y(slices.max_ns[i]), bottom = y(slices.min_ns[i]), left = x(slice), wide = room / all + .3;
    to.globalAlpha = .3;
    to.fillRect(left, top, wide, Math.max(1, bottom - top));
    to.globalAlpha = 1;
    to.fillRect(left, y(means[i]) - 1, Math.max(1.5, wide), 2.2);
  });
  to.fillStyle = colours.soft;
  to.textAlign = 'left';
  to.fillText('0', plot.left, height - 8 * ui);
  to.textAlign = 'right';
  to.fillText(time(span), width - plot.right, height - 8 * ui);
  if (steep) to.fillText('logarithmic', width - plot.right, 7 * ui);
  to.textAlign = 'left';
  canvas.setAttribute('aria-label', `Durations of ${region.name} over ${time(span)}`);
  return undefined;
}

function drawByRank(region) {
  const canvas = $('by-rank'), row = heatRegions[region.line];
  canvas.parentNode.hidden = heatGroups.length < 2;
  if (heatGroups.length < 2) return undefined;
  if (!row) return nothing(canvas, 'not kept for regions of so little time');
  const {to, width, height} = fitted(canvas), colours = ink(), values = row.time_ns, most = Math.max(...values, 1);
  const base = height - plot.bottom, room = width - plot.left - plot.right, step = room / values.length;
  const y = value => base - value / most * (base - plot.top / 2), chosen = state.rank == null ? -1 : groupOf(state.rank);
  axisY(to, most, height, roundTime, y);
  values.forEach((value, group) => {
    to.globalAlpha = chosen < 0 || chosen === group ? 1 : .45;
    to.fillStyle = colour(region.line);
    to.fillRect(plot.left + group * step, y(value), Math.max(1, step - (step > 4 ? 1 : 0)), base - y(value));
  });
  to.globalAlpha = 1;
  to.strokeStyle = colours.ink;
  to.setLineDash([4, 3]);
  to.beginPath();
  to.moveTo(plot.left, y(meanOf(values)));
  to.lineTo(width - plot.right, y(meanOf(values)));
  to.stroke();
  to.setLineDash([]);
  to.fillStyle = colours.soft;
  to.font = fontOf(11);
  to.textAlign = 'center';
  const every = Math.ceil(values.length / Math.max(1, Math.floor(room / (36 * ui))));
  for (let group = 0; group < values.length; group += every)
    to.fillText(String(heatGroups[group][0]), plot.left + (group + .5) * step, height - 8 * ui);
  to.textAlign = 'left';
  canvas.setAttribute('aria-label', `Time in ${region.name} on each rank; the dashed line is the mean`);
  return undefined;
}

function detailFacts(region) {
  const facts = [['Calls', count(region.calls)], ['Total', time(region.total_ns)], ['Exclusive', time(region.exclusive_ns)], ['Share', percent(region.percent)],
                 ['Mean', time(region.mean_ns)], ['Min', time(region.min_ns)], ['Median', time(region.p50_ns)], ['Max', time(region.max_ns)]];
  if (data.ranks > 1) facts.push(['Ranks', count(region.ranks)], ['Imbalance', ratio(region.imbalance)], ['Most on', `rank ${region.slowest_rank}`]);
  const list = facts.map(([term, text]) => element('div', {}, element('dt', {}, term), element('dd', {}, text)));
  if (region.source) list.push(element('div', {class: 'whole'}, element('dt', {}, 'Defined at'), element('dd', {}, element('bdi', {}, clean(region.source)))));
  return list;
}

views.push(function drawDetail() {
  const region = regions[state.region];
  $('detail').hidden = !region;
  if (!region) return;
  $('detail-name').replaceChildren(chip(region.line), element('bdi', {}, region.name));
  $('detail-facts').replaceChildren(...detailFacts(region));
  $('by-rank-caption').textContent = `${weighed === 'exclusive' ? 'Exclusive time' : 'Time'} on each rank${heatGroups.some(group => group[0] !== group[1]) ? ', neighbours joined' : ''}`;
  fitPlot();
  drawHistogram(region);
  drawOverTime(region);
  drawByRank(region);
});

/* What the pointer is over. */
function startDetail() {
  $('histogram').addEventListener('pointermove', event => {
    const region = regions[state.region], bars = data.histograms && data.histograms[state.region];
    if (!bars || !bars.calls.length) return;
    const at = (place($('histogram'), event).x - plot.left) / ($('histogram').clientWidth - plot.left - plot.right);
    const first = Math.log2(barStart(bars.first)), last = Math.log2(barStart(bars.first + bars.calls.length));
    const ns = 2 ** (first + at * (last - first)), i = bars.calls.findIndex((_, bar) => ns < barStart(bars.first + bar + 1));
    if (at < 0 || i < 0) return noTip();
    tip(event, plural(bars.calls[i], 'call'), `of ${time(barStart(bars.first + i))} to ${time(barStart(bars.first + i + 1))}`,
        percent(100 * bars.calls[i] / region.calls));
  });
  $('over-time').addEventListener('pointermove', event => {
    const slices = data.over_time && data.over_time.regions[state.region];
    if (!slices) return;
    const all = data.over_time.slices, at = (place($('over-time'), event).x - plot.left) / ($('over-time').clientWidth - plot.left - plot.right);
    const i = slices.slice.indexOf(Math.floor(at * all));
    if (i < 0) return noTip();
    tip(event, `${time(slices.total_ns[i] / slices.calls[i])} on average`, `${plural(slices.calls[i], 'call')}, ${time(slices.min_ns[i])} to ${time(slices.max_ns[i])}`,
        `begun ${instant(slices.slice[i] / all * span, span / all)} to ${instant((slices.slice[i] + 1) / all * span, span / all)}`);
  });
  $('over-time').addEventListener('click', event => {
    if (!data.timeline) return;
    const at = (place($('over-time'), event).x - plot.left) / ($('over-time').clientWidth - plot.left - plot.right);
    show((at - .02) * span, (at + .02) * span);
    go('timeline');
  });
  const groupUnder = event => Math.floor((place($('by-rank'), event).x - plot.left) / ($('by-rank').clientWidth - plot.left - plot.right) * heatGroups.length);
  $('by-rank').addEventListener('pointermove', event => {
    const group = groupUnder(event);
    if (!heatRegions[state.region] || !heatGroups[group]) return noTip();
    tip(event, groupName(heatGroups[group]), ...tellCell(state.region, group).slice(1), `${time(heatRegions[state.region].time_ns[group])} ${weighed}`);
  });
  $('by-rank').addEventListener('click', event => {
    if (heatRegions[state.region] && heatGroups[groupUnder(event)]) chooseCell(state.region, groupUnder(event));
  });
  for (const id of ['histogram', 'over-time', 'by-rank']) $(id).addEventListener('pointerleave', noTip);
}
