/* The table of regions, sorted and searched. */

const columns = [
  {key: 'region', title: 'Region', sort: 'name'},
  {key: 'calls', title: 'Calls', text: r => count(r.calls)},
  {key: 'total', title: 'Total', value: r => r.total_ns, text: r => time(r.total_ns)},
  {key: 'exclusive', title: 'Exclusive', value: r => r.exclusive_ns, text: r => time(r.exclusive_ns)},
  {key: 'percent', title: 'Share', hint: 'of the exclusive time of all regions', value: r => r.percent},
  {key: 'mean', title: 'Mean', value: r => r.mean_ns, text: r => time(r.mean_ns)},
  {key: 'min', title: 'Min', value: r => r.min_ns, text: r => time(r.min_ns)},
  {key: 'p50', title: 'p50', hint: 'within 0.8 %', value: r => r.p50_ns, text: r => time(r.p50_ns)},
  {key: 'p95', title: 'p95', hint: 'within 0.8 %', value: r => r.p95_ns, text: r => time(r.p95_ns)},
  {key: 'p99', title: 'p99', hint: 'within 0.8 %', value: r => r.p99_ns, text: r => time(r.p99_ns)},
  {key: 'max', title: 'Max', value: r => r.max_ns, text: r => time(r.max_ns)},
  {key: 'ranks', title: 'Ranks', text: r => count(r.ranks)},
  {key: 'imbalance', title: 'Imbalance', hint: 'the largest total of a rank over the mean of all ranks'},
].filter(column => data.events || !/^p\d/.test(column.key));
const columnOf = Object.fromEntries(columns.map(column => [column.key, column]));
const valueOf = (column, region) => column.key === 'region' ? region.name : column.value ? column.value(region) : region[column.key];

const startSort = columnOf[data.sort] ? {sort: data.sort, down: data.sort !== 'region'} : {sort: weighed, down: true};
const FEW_ROWS = 200;
let allRows = false, rowsDrawn = '';

function sortedRegions() {
  const column = columnOf[state.sort] || columnOf[startSort.sort], sign = state.down ? -1 : 1;
  const known = v => v == null ? -Infinity : v;
  return regions.filter(region => matches(region.line)).sort((a, b) => {
    const left = valueOf(column, a), right = valueOf(column, b);
    const order = typeof left === 'string' ? left.localeCompare(right) : known(left) - known(right);
    return sign * order || a.line - b.line;
  });
}

/* The name, what was searched for in it marked. */
function markedName(region) {
  const name = element('span', {class: 'name', title: region.name});
  const at = state.find ? region.name.toLowerCase().indexOf(state.find.toLowerCase()) : -1;
  if (at < 0) name.textContent = region.name;
  else name.append(region.name.slice(0, at), element('mark', {}, region.name.slice(at, at + state.find.length)),
                   region.name.slice(at + state.find.length));
  return name;
}
const chip = line => element('span', {class: 'chip', style: {background: colour(line)}});

function cell(column, region) {
  if (column.key === 'region') return element('td', {}, chip(region.line), markedName(region));
  if (column.key === 'percent')
    return element('td', {}, region.percent == null ? null : element('span', {class: 'share'},
      element('i', {style: {width: region.percent + '%', background: colour(region.line)}})), percent(region.percent));
  if (column.key === 'imbalance')
    return element('td', {class: region.imbalance >= 1.5 && data.ranks > 1 ? 'hot' : null},
                   data.ranks > 1 ? ratio(region.imbalance) : '–');
  return element('td', {}, column.text(region));
}

function drawHead() {
  const row = element('tr');
  for (const column of columns) {
    const button = element('button', {type: 'button', title: column.hint, onclick: () => {
      const down = state.sort === column.key ? !state.down : column.key !== 'region';
      change({sort: column.key, down});
    }}, column.title);
    row.append(element('th', {scope: 'col', 'data-key': column.key}, button));
  }
  $('table').tHead.replaceChildren(row);
}

function moveFocus(event, row) {
  const next = {ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling,
                Home: row.parentNode.firstElementChild, End: row.parentNode.lastElementChild}[event.key];
  if (event.key === 'Enter' || event.key === ' ') choose(Number(row.dataset.line));
  else if (next) {
    row.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  } else if (!['ArrowDown', 'ArrowUp', 'Home', 'End'].includes(event.key)) return;
  event.preventDefault();
}

function drawRows() {
  const sorted = sortedRegions(), few = allRows || printing ? sorted : sorted.slice(0, FEW_ROWS);
  const body = $('table').tBodies[0], focused = body.contains(document.activeElement) && document.activeElement.dataset.line;
  body.replaceChildren(...few.map((region, at) => {
    const row = element('tr', {'data-line': region.line, tabindex: at ? -1 : 0},
                        ...columns.map(column => cell(column, region)));
    return row;
  }));
  $('more').hidden = few.length === sorted.length;
  $('more').textContent = `Show all ${count(sorted.length)} regions`;
  $('found').textContent = state.find ? `${count(sorted.length)} of ${count(regions.length)} match` : plural(data.region_count, 'region');
  if (focused) {
    const again = body.querySelector(`tr[data-line="${focused}"]`);
    if (again) again.focus();
  }
}

views.push(function drawTable() {
  const needed = [state.sort, state.down, state.find, allRows || printing, theme()].join('\n');
  if (needed !== rowsDrawn) drawRows();
  rowsDrawn = needed;
  for (const head of $('table').tHead.rows[0].cells) {
    if (head.dataset.key === state.sort) head.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  }
  for (const row of $('table').tBodies[0].rows)
    row.setAttribute('aria-selected', state.chosen && Number(row.dataset.line) === state.region);
});

function startTable() {
  Object.assign(state, startSort);
  drawHead();
  const body = $('table').tBodies[0];
  body.addEventListener('click', event => {
    const row = event.target.closest('tr');
    if (row) choose(Number(row.dataset.line));
  });
  body.addEventListener('keydown', event => {
    const row = event.target.closest('tr');
    if (row) moveFocus(event, row);
  });
  $('more').addEventListener('click', () => {
    allRows = true;
    later();
  });
}
