/* The heat map: regions as rows, ranks (or groups of neighbours) as columns. */

const heat = {gutter: 160, head: 22, row: 22, cell: 20, rank: 0, line: 0};
const heatGroups = data.heat.groups, heatRegions = data.heat.regions;
const groupName = group => group[0] === group[1] ? `rank ${group[0]}` : `ranks ${group[0]}–${group[1]}`;
const groupOf = rank => heatGroups.findIndex(group => rank >= group[0] && rank <= group[1]);

function meanOf(values) {
  return values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
}
const heatMeans = heatRegions.map(region => meanOf(region.time_ns));
const heatMost = {time: heatRegions.reduce((most, region) => Math.max(most, ...region.time_ns), 0),
                  calls: heatRegions.reduce((most, region) => Math.max(most, ...region.calls), 0)};

/* From 0 to 1: the shade. Times and calls by their square root, so that small ones differ too. */
function heatShade(line, group) {
  const region = heatRegions[line];
  if (state.metric === 'mean') {
    const ratio = heatMeans[line] > 0 ? region.time_ns[group] / heatMeans[line] : 1;
    return .5 + Math.max(-1, Math.min(1, Math.log2(Math.max(ratio, 1e-9)))) / 2;
  }
  const value = state.metric === 'calls' ? region.calls[group] : region.time_ns[group];
  return heatMost[state.metric] > 0 ? Math.sqrt(value / heatMost[state.metric]) : 0;
}
const heatRamp = () => (state.metric === 'mean' ? balances : ramps)[theme()];

function drawScale() {
  const {to, width} = fitted($('scale')), steps = 60;
  for (let i = 0; i < steps; ++i) {
    to.fillStyle = between(heatRamp(), i / (steps - 1));
    to.fillRect(i / steps * width, 0, width / steps + .5, 12 * ui);
  }
  to.fillStyle = ink().soft;
  to.font = fontOf(11);
  const marks = state.metric === 'mean' ? ['½ ×', 'mean', '2 ×']
    : state.metric === 'calls' ? ['0', count(Math.round(heatMost.calls / 4)), count(heatMost.calls)]
    : ['0', time(heatMost.time / 4), time(heatMost.time)];
  marks.forEach((mark, i) => {
    to.textAlign = ['left', 'center', 'right'][i];
    to.fillText(mark, i / 2 * width, 22 * ui);
  });
}

views.push(function drawHeat() {
  if (!heatRegions.length || !heatGroups.length) return;
  const canvas = $('map'), width = canvas.clientWidth, colours = ink();
  $('metric').value = state.metric;
  heat.gutter = (width < 560 ? 96 : 190) * ui;
  heat.head = heat.row = Math.round(22 * ui);
  heat.cell = Math.min(64 * ui, (width - heat.gutter) / heatGroups.length);
  const {to} = fitted(canvas, heat.head + heatRegions.length * heat.row + 2);
  const every = Math.max(1, Math.ceil(34 * ui / heat.cell)), chosenGroup = state.rank == null ? -1 : groupOf(state.rank);
  to.font = fontOf(11);
  to.textAlign = 'center';
  heatGroups.forEach((group, g) => {
    if (g % every) return;
    to.fillStyle = g === chosenGroup ? colours.accent : colours.soft;
    to.fillText(String(group[0]), heat.gutter + (g + .5) * heat.cell, heat.head / 2);
  });
  to.textAlign = 'left';
  to.fillStyle = colours.soft;
  to.fillText('rank', 2, heat.head / 2);
  to.font = fontOf(12);
  heatRegions.forEach((region, line) => {
    const y = heat.head + line * heat.row, picked = state.chosen && line === state.region;
    to.globalAlpha = matches(line) ? 1 : .25;
    to.fillStyle = colour(line);
    to.fillRect(2, y + heat.row / 2 - 5 * ui, 10 * ui, 10 * ui);
    to.fillStyle = picked ? colours.accent : colours.ink;
    to.fillText(fitText(to, regionAt(line).name, heat.gutter - 24 * ui), 17 * ui, y + heat.row / 2);
    const gap = heat.cell > 6 ? 1 : 0;
    for (let g = 0; g < heatGroups.length; ++g) {
      to.fillStyle = region.calls[g] ? between(heatRamp(), heatShade(line, g)) : colours.faint;
      to.fillRect(heat.gutter + g * heat.cell, y, heat.cell - gap + (gap ? 0 : .4), heat.row - 1);
    }
    to.globalAlpha = 1;
  });
  const frame = (line, group, stroke, wide) => {
    to.strokeStyle = stroke;
    to.lineWidth = wide;
    to.strokeRect(heat.gutter + group * heat.cell, heat.head + line * heat.row - .5, heat.cell - .5, heat.row);
    to.lineWidth = 1;
  };
  if (chosenGroup >= 0 && state.region < heatRegions.length) frame(state.region, chosenGroup, colours.ink, 2);
  if (document.activeElement === canvas) frame(heat.line, heat.rank, colours.accent, 3);
  canvas.setAttribute('aria-label', `Heat map of ${plural(heatRegions.length, 'region')} on ${plural(heatGroups.length, 'column')} of ranks`);
  drawScale();
});

function tellCell(line, group) {
  const region = heatRegions[line], ranks = heatGroups[group][0] !== heatGroups[group][1];
  return [`${groupName(heatGroups[group])}: ${time(region.time_ns[group])} ${weighed}`,
          heatMeans[line] > 0 ? `${(region.time_ns[group] / heatMeans[line]).toFixed(2)} times the mean` : '',
          ranks && region.most_ns ? `at most ${time(region.most_ns[group])} on one of them` : '', plural(region.calls[group], 'call')];
}
function cellAt(at) {
  const line = Math.floor((at.y - heat.head) / heat.row), group = Math.floor((at.x - heat.gutter) / heat.cell);
  return line >= 0 && line < heatRegions.length && at.x >= heat.gutter && group < heatGroups.length ? {line, group} : null;
}
function chooseCell(line, group) {
  heat.line = line;
  heat.rank = group;
  const [first, last] = heatGroups[group], drawn = lanes.find(lane => lane.rank >= first && lane.rank <= last);
  const rank = drawn ? drawn.rank : first;
  change({region: line, chosen: true, rank});
  showRank(rank);
  $('heat-cell').textContent = `${regionAt(line).name}, ${tellCell(line, group).filter(Boolean).join(', ')}`;
}

function heatKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
  if (step) {
    heat.line = Math.max(0, Math.min(heatRegions.length - 1, heat.line + step[0]));
    heat.rank = Math.max(0, Math.min(heatGroups.length - 1, heat.rank + step[1]));
    $('heat-cell').textContent = `${regionAt(heat.line).name}, ${tellCell(heat.line, heat.rank).filter(Boolean).join(', ')}`;
    later();
  } else if (event.key === 'Enter' || event.key === ' ') chooseCell(heat.line, heat.rank);
  else return;
  event.preventDefault();
}

function startHeat() {
  if (!heatRegions.length || !heatGroups.length) {
    $('heat').hidden = true;
    return;
  }
  const canvas = $('map');
  if (!data.heat.exclusive) $('metric').options[0].textContent = 'time, calls in them included';
  else $('metric').options[0].textContent = 'exclusive time';
  $('metric').addEventListener('change', () => change({metric: $('metric').value}));
  canvas.addEventListener('pointermove', event => {
    const found = cellAt(place(canvas, event));
    canvas.style.cursor = found ? 'pointer' : '';
    if (!found) return noTip();
    return tip(event, regionAt(found.line).name, ...tellCell(found.line, found.group));
  });
  canvas.addEventListener('pointerleave', noTip);
  canvas.addEventListener('click', event => {
    const at = place(canvas, event), found = cellAt(at);
    if (found) chooseCell(found.line, found.group);
    else if (at.x < heat.gutter && at.y > heat.head && Math.floor((at.y - heat.head) / heat.row) < heatRegions.length)
      choose(Math.floor((at.y - heat.head) / heat.row));
  });
  canvas.addEventListener('keydown', heatKey);
  for (const kind of ['focus', 'blur']) canvas.addEventListener(kind, later);
}
