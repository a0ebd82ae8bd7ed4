/* The overview, the notes, what holds for the whole page, and its start. */

function go(id) {
  $(id).scrollIntoView();
}

function startOverview() {
  const name = data.source.replace(/^.*\//, '');
  $('title').textContent = shown(name);
  document.title = `${shown(name)} – profile`;
  const known = Object.fromEntries(data.metadata);
  $('facts').textContent = [plural(data.ranks, 'rank'), plural(data.region_count, 'region'), plural(data.calls, 'call'),
    data.start_ns == null ? null : `over ${time(span)}`, data.session && data.session !== name ? `session ${clean(data.session)}` : null,
    known.hostname && !known.hostname.includes('\n') ? `on ${clean(known.hostname)}` : null, known.timestamp ? clean(known.timestamp) : null]
    .filter(Boolean).join(' · ');
  const signs = {fault: ['!', 'fault'], uneven: ['≠', 'warn'], late: ['⇥', 'warn'], tiny: ['·', 'warn'], outlier: ['↑', 'warn']};
  $('findings').replaceChildren(...data.findings.map(finding => {
    const [sign, kind] = signs[finding.kind] || ['•', ''], about = finding.region != null || finding.rank != null;
    return element('li', {class: kind}, element('button', {type: 'button', disabled: !about && kind !== 'fault', onclick: () => {
      if (!about) return go('about');
      change({region: finding.region != null ? finding.region : state.region, chosen: finding.region != null, rank: finding.rank});
      if (finding.rank != null) showRank(finding.rank);
      return go(finding.region != null ? 'regions' : 'timeline');
    }}, element('span', {class: 'sign', 'aria-hidden': 'true'}, sign), element('span', {}, clean(finding.text))));
  }));
  if (!data.findings.length) $('findings').append(element('li', {}, regions.length ? 'Nothing stands out.' : 'There is no call in this profile.'));
}

views.push(function drawShares() {
  const weight = region => weighed === 'exclusive' ? region.exclusive_ns : region.total_ns;
  const all = regions.reduce((sum, region) => sum + weight(region), 0) || 1, few = regions.slice(0, 8);
  const rest = regions.slice(8).reduce((sum, region) => sum + weight(region), 0), most = few.length && weight(few[0]) || 1;
  if ($('shares').dataset.theme === theme()) return;
  $('shares').dataset.theme = theme();
  const line = (name, back, value, click) => element('li', {}, element('button', {type: 'button', onclick: click},
    name, element('span', {class: back && 'track'}, back && element('i', {style: {width: 100 * value / most + '%', background: back}})),
    element('span', {class: 'figure'}, time(value)), element('span', {class: 'figure'}, percent(100 * value / all))));
  $('shares').replaceChildren(...few.map(region => line(element('span', {class: 'name', title: region.name}, chip(region.line), region.name),
    colour(region.line), weight(region), () => {
      choose(region.line);
      go('regions');
    })), ...(rest > 0 ? [line(element('span', {class: 'name'}, `${plural(regions.length - 8, 'other')}`), null, rest, () => go('regions'))] : []));
  $('h-shares').textContent = weighed === 'exclusive' ? 'Where the time goes: exclusive time' : 'Where the time goes: time with all calls inside';
});

function startNotes() {
  const list = (title, lines) => lines.length ? [element('h3', {}, title), element('ul', {}, ...lines.map(line => element('li', {}, element('bdi', {}, clean(line)))))] : [];
  const faults = [...list('Deaths', data.deaths), ...list('Still open, in no figure', data.open_calls),
                  ...(data.dropped ? list('Dropped', [`${plural(data.dropped, 'call')} while recording`]) : [])];
  $('faults').replaceChildren(...faults);
  $('faults').hidden = !faults.length;
  $('notes').replaceChildren(...list('What this page leaves out', data.notes));
  $('notes').hidden = !data.notes.length;
  const apart = ['sp_open_calls', 'sp_deaths'];
  $('metadata').replaceChildren(...[...data.metadata.filter(([key, value]) => value !== '' && !apart.includes(key)), ['page made by', data.program]]
    .flatMap(([key, value]) => [element('dt', {}, element('bdi', {}, clean(key))),
      element('dd', {}, element('bdi', {}, value.split('\n').map(clean).join('\n')))]));
}

function startKeys() {
  const search = $('search');
  search.addEventListener('input', () => change({find: search.value}));
  addEventListener('keydown', event => {
    const typing = event.target instanceof Element && event.target.matches('input, select');
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
      search.focus();
      search.select();
      event.preventDefault();
    } else if (event.key === 'Escape') {
      noTip();
      if (document.activeElement === search) search.blur();
      search.value = '';
      change({find: '', chosen: false, rank: null});
    }
  });
  $('theme').addEventListener('click', toggleTheme);
  systemDark.addEventListener('change', () => {
    applyTheme();
    later();
  });
  for (const link of document.querySelectorAll('[data-go]'))
    link.addEventListener('click', event => {
      event.preventDefault();
      go(link.dataset.go);
    });
}

/* Says in the navigation which view is on the screen. */
function followScroll() {
  const links = [...document.querySelectorAll('nav [data-go]')].filter(link => !$(link.dataset.go).hidden);
  const mark = () => {
    const passed = links.filter(link => $(link.dataset.go).getBoundingClientRect().top < innerHeight * .25);
    const bottom = innerHeight + scrollY >= document.documentElement.scrollHeight - 4;
    const here = bottom ? links[links.length - 1] : passed[passed.length - 1] || links[0];
    for (const link of links) {
      if (link === here) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  };
  addEventListener('scroll', mark, {passive: true});
  mark();
}

function print(on) {
  printing = on;
  document.documentElement.classList.toggle('paper', on);
  applyTheme();
  redraw();
}

function start() {
  startOverview();
  startTable();
  startTimeline();
  startFlames();
  startHeat();
  startDetail();
  startNotes();
  startKeys();
  for (const link of document.querySelectorAll('nav [data-go]')) link.hidden = $(link.dataset.go).hidden;
  readAddress();
  applyTheme();
  if (state.rank != null) {
    layOut($('time').clientWidth);
    showRank(state.rank);
  }
  redraw();
  followScroll();
  addEventListener('hashchange', readAddress);
  new ResizeObserver(later).observe(document.querySelector('main'));
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
  document.documentElement.dataset.ready = Math.round(performance.now());
}
start();
