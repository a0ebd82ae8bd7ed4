/* The flame graph: call paths from the top down, as wide as their time. */

const flame = {paths: [], roots: [], total: 0, row: 21, boxes: [], focus: -1, depth: 0};

function readFlame() {
  const columns = data.flame;
  flame.paths = columns.parent.map((parent, i) => ({
    i, parent, line: columns.region[i], calls: columns.calls[i], total: columns.total_ns[i], own: columns.exclusive_ns[i],
    children: [], depth: 0,
  }));
  for (const path of flame.paths) {
    if (path.parent < 0) flame.roots.push(path);
    else {
      flame.paths[path.parent].children.push(path);
      path.depth = flame.paths[path.parent].depth + 1;
    }
  }
  const order = (a, b) => b.total - a.total || a.i - b.i;
  flame.roots.sort(order);
  for (const path of flame.paths) path.children.sort(order);
  flame.total = flame.roots.reduce((sum, path) => sum + path.total, 0);
}

const wayTo = path => path.parent < 0 ? [path] : [...wayTo(flame.paths[path.parent]), path];
const pathName = path => wayTo(path).map(step => regionAt(step.line).name).join(' › ');

/* Boxes of at least half a pixel, below the way to the one that is zoomed to. */
function placeBoxes(width) {
  const top = state.path >= 0 ? flame.paths[state.path] : null, way = top ? wayTo(top) : [];
  const boxes = way.map((path, row) => ({path, x: 0, width, row, above: path !== top}));
  const whole = top ? top.total : flame.total, level = [];
  const put = (paths, x, row) => {
    for (const path of paths) {
      const wide = whole > 0 ? path.total / whole * width : 0;
      if (wide >= .5) level.push({path, x, width: wide, row, above: false});
      x += wide;
    }
  };
  put(top ? top.children : flame.roots, 0, way.length);
  while (level.length) {
    const box = level.shift();
    boxes.push(box);
    put(box.path.children, box.x, box.row + 1);
  }
  return boxes;
}

views.push(function drawFlames() {
  if (!data.flame) return;
  const canvas = $('flames');
  flame.row = Math.round(21 * ui);
  flame.boxes = placeBoxes(canvas.clientWidth);
  const rows = flame.boxes.reduce((most, box) => Math.max(most, box.row + 1), 1);
  const {to} = fitted(canvas, rows * flame.row + 2), focused = document.activeElement === canvas;
  for (const box of flame.boxes) {
    const line = box.path.line, y = box.row * flame.row, wide = box.width > 3 ? box.width - 1 : box.width;
    const alpha = box.above ? .45 : strength(line);
    to.globalAlpha = alpha;
    to.fillStyle = colour(line);
    to.fillRect(box.x, y, wide, flame.row - 1);
    if (box.path.i === flame.focus && focused || state.chosen && line === state.region && box.width > 4) {
      to.globalAlpha = 1;
      to.lineWidth = box.path.i === flame.focus && focused ? 3 : 1;
      to.strokeStyle = ink().ink;
      to.strokeRect(box.x + .5, y + .5, wide - 1, flame.row - 2);
      to.lineWidth = 1;
    }
    if (box.width < 28) continue;
    to.globalAlpha = Math.max(.7, alpha);
    to.fillStyle = alpha < 1 ? ink().ink : inkOn(colour(line));
    to.fillText(fitText(to, regionAt(line).name, box.width - 10), box.x + 5, y + flame.row / 2);
  }
  to.globalAlpha = 1;
  const told = flame.focus >= 0 && focused ? flame.paths[flame.focus] : state.path >= 0 ? flame.paths[state.path] : null;
  $('flame-path').textContent = told ? `${pathName(told)}: ${tellPath(told).join(', ')}` : `${time(flame.total)} in ${plural(flame.paths.length, 'call path')}`;
  canvas.setAttribute('aria-label', `Flame graph, ${$('flame-path').textContent}`);
});

function tellPath(path) {
  const parent = path.parent >= 0 ? flame.paths[path.parent] : null;
  return [`${time(path.total)} (${percent(100 * path.total / (flame.total || 1))} of all${parent ? `, ${percent(100 * path.total / (parent.total || 1))} of ${regionAt(parent.line).name}` : ''})`,
          `${time(path.own)} outside the calls below`, plural(path.calls, 'call')];
}

function boxAt(at) {
  const row = Math.floor(at.y / flame.row);
  return flame.boxes.find(box => box.row === row && at.x >= box.x && at.x < box.x + Math.max(1, box.width));
}
function zoomPath(path) {
  change({path});
  flame.focus = path;
}

function flameKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = flame.paths[flame.focus] || (state.path >= 0 ? flame.paths[state.path] : null);
  const beside = at ? (at.parent >= 0 ? flame.paths[at.parent].children : flame.roots) : flame.roots, place = beside.indexOf(at);
  const next = {ArrowDown: at ? at.children[0] : flame.roots[0], ArrowUp: at && flame.paths[at.parent],
                ArrowLeft: beside[place - 1], ArrowRight: beside[place + 1]};
  if (event.key in next) flame.focus = next[event.key] ? next[event.key].i : flame.focus;
  else if (event.key === 'Enter' || event.key === ' ') zoomPath(flame.focus);
  else if (event.key === '0' || event.key === 'Escape') zoomPath(-1);
  else return;
  event.preventDefault();
  later();
}

function startFlames() {
  if (!data.flame) {
    $('flame').hidden = true;
    return;
  }
  readFlame();
  const canvas = $('flames');
  canvas.addEventListener('pointermove', event => {
    const box = boxAt(place(canvas, event));
    canvas.style.cursor = box ? 'pointer' : '';
    if (!box) return noTip();
    return tip(event, regionAt(box.path.line).name, ...tellPath(box.path));
  });
  canvas.addEventListener('pointerleave', noTip);
  canvas.addEventListener('click', event => {
    const box = boxAt(place(canvas, event));
    if (!box) return;
    zoomPath(box.path.i === state.path ? box.path.parent : box.path.i);
    change({region: box.path.line, chosen: true});
  });
  canvas.addEventListener('keydown', flameKey);
  for (const kind of ['focus', 'blur']) canvas.addEventListener(kind, later);
  $('flame-all').addEventListener('click', () => zoomPath(-1));
}
