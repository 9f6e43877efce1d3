// What reports do in a browser. `node test.mjs CORETALK CHROMIUM [AXE]`: the built program, a Chromium, and the file
// axe.min.js for the checks of accessibility. Prints one line for each check; exits with 1 if one fails.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser } from './browser.mjs';

const [coretalk, chromium, axe] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'coretalk-reports-'));
const store = join(folder, 'runs');
let failed = 0;

function check(name, found, expected = true) {
  const same = JSON.stringify(found) === JSON.stringify(expected);
  if (!same) failed++;
  console.log(`${same ? 'ok    ' : 'FAILED'} ${name}${same ? '' : `: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`}`);
}

const tool = (...words) => run(...words, '--store', store);

function run(...words) {
  const done = spawnSync(coretalk, words, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (done.status !== 0) throw new Error(`coretalk ${words.join(' ')}: ${done.stderr}`);
  return done.stdout;
}

const EVIL = '</script><img src=x onerror=document.title="caught">\u202e\u001b[2J';
const measure = (name, machine, ...more) => tool(...more.filter((word) => word === 'latency'), '--machine', `sim:${machine}`, '--seed', '1', '--name', name, '-q',
  ...more.filter((word) => word !== 'latency'));
measure('desk', 'chiplet-16-smt');
measure('pair', 'noisy-vm', '--cpus', '0,1', '--budget', '5s');
measure('large', 'epyc-2s-192');
measure('evil', 'laptop-smt', '--label', EVIL, '--note', `${EVIL}=${EVIL}`);
measure('some', 'laptop-smt', 'latency', '--pairs', '0-1,2-3,4-6', '--tails');

tool('queue', '--machine', 'sim:laptop-smt', '--cpus', '0-2,4-6', '--seed', '1', '--queue', 'semaphore', '--capacity', '1', '--budget', '10s', '--precision', '5%',
  '--name', 'square', '-q');
tool('wake', '--machine', 'sim:laptop-smt', '--seed', '1', '--pairs', 'all', '--primitive', 'tas', '--budget', '10s', '--precision', '10%', '--name', 'woken', '-q');

// Two machines whose CPUs 4 to 7 lie farther from the others in the second one.
for (const [name, across] of [['before', 80], ['after', 104]]) {
  const rows = Array.from({ length: 8 }, (unused, a) => Array.from({ length: 8 }, (also, b) => (a === b ? 0 : a >> 2 === b >> 2 ? 20 : across)).join(','));
  writeFileSync(join(folder, `${name}.csv`), `${rows.join('\n')}\n`);
  measure(name, join(folder, `${name}.csv`));
}

const report = (file, ...runs) => {
  tool('report', ...runs, '-o', join(folder, file));
  return `file://${join(folder, file)}`;
};

const browser = await Browser.start(chromium);
const quiet = (page, name) => {
  check(`${name}: no complaint of the console or the policy`, page.complaints, []);
  check(`${name}: no request leaves the file`, page.requests.filter((url) => !url.startsWith('file:') && !url.startsWith('blob:')), []);
};
const within = "(() => { const viewer = groups[0].viewers[0]; const picture = viewer.picture; const box = picture.canvas.getBoundingClientRect(); return (r, c) => [box.left + picture.left + (c - picture.window.x + 0.5) * picture.cell, box.top + picture.top + (r - picture.window.y + 0.5) * picture.cell]; })()";

try {
  // What one CPU gives and what threads of a core give are two numbers, each with its name.
  const square = await browser.open(report('square.html', 'square'));
  const rates = JSON.parse(tool('export', 'square', '--format', 'json')).matrices[0].cells;
  const mean = (...pairs) => pairs.map(([from, to]) => rates.find((it) => it.from === from && it.to === to).median).reduce((a, b) => a + b) / pairs.length;
  const near = (found, wanted) => found.map((value, index) => Math.abs(value / wanted[index] - 1) < 1e-9);
  const cores = [0, 1, 2];
  check('by core the diagonal holds threads of a core', near(await square.run('[0, 1, 2].map((row) => groups[0].viewers[0].grid.values[4 * row])'), cores.map((core) => mean([core, core + 4], [core + 4, core]))), [true, true, true]);
  check('and apart from that one CPU', near(await square.run('[...groups[0].viewers[0].grid.own]'), cores.map((core) => mean([core, core], [core + 4, core + 4]))), [true, true, true]);
  check('both are named', await square.run("document.querySelector('.legend').textContent.includes('diagonal: both on one CPU (upper half), threads of a core (lower half)')"));
  check('and told apart in words', await square.run("groups[0].viewers[0].lines({ r: 1, c: 1 }).map((line) => line.split(':')[0])"), ['CPUs 1,5 → 1,5', 'both on one CPU', 'threads of a core']);
  await square.run("(() => { const select = document.querySelector('select[data-control=by]'); select.value = 'thread'; select.dispatchEvent(new Event('change')); })()");
  check('by thread every number has a place', await square.run("[groups[0].viewers[0].grid.own.some(Number.isFinite), document.querySelector('.legend').textContent.includes('diagonal: both on one CPU')]"), [false, true]);
  check('one CPU is not called threads of a core', await square.run("groups[0].viewers[0].lines({ r: 0, c: 0 }).slice(2)[0]"), 'both on one CPU');
  quiet(square, 'square');
  const woken = await browser.open(report('woken.html', 'woken'));
  check('wake-ups between all pairs are a map', await woken.run('[groups[0].viewers[0].matrix.cells, groups[0].viewers[0].matrix.unit]'), [56, 'ns']);
  quiet(woken, 'woken');

  const desk = await browser.open(report('desk.html', 'desk'), { downloads: folder });
  const data = JSON.parse(tool('export', 'desk', '--format', 'json'));
  const cell = (a, b) => data.matrices[0].cells.find(({ from, to }) => (from === a && to === b) || (from === b && to === a));

  await desk.run("document.querySelector('.frame').scrollIntoView({ behavior: 'instant' })");
  check('rows are cores at first', await desk.run('groups[0].viewers[0].grid.size'), 16);
  const choose = (page, key, value) => page.run(`(() => { const select = document.querySelector('select[data-control=${key}]'); select.value = '${value}'; select.dispatchEvent(new Event('change')); })()`);
  await choose(desk, 'by', 'thread');
  check('rows become threads', await desk.run('groups[0].viewers[0].grid.size'), 32);
  check('reported order', await desk.run('groups[0].viewers[0].grid.rows.slice(0, 4).map(([place]) => groups[0].viewers[0].matrix.cpus[place])'), [0, 16, 1, 17]);
  await choose(desk, 'order', 'id');
  check('order by id', await desk.run('groups[0].viewers[0].grid.rows.slice(0, 4).map(([place]) => groups[0].viewers[0].matrix.cpus[place])'), [0, 1, 2, 3]);
  await choose(desk, 'order', 'measured');
  check('measured order keeps every CPU', await desk.run('new Set(groups[0].viewers[0].grid.rows.flat()).size'), 32);
  await choose(desk, 'order', 'id');

  const [x, y] = await desk.run(`${within}(3, 12)`);
  await desk.mouse('mouseMoved', x, y);
  const tip = await desk.run("[...document.querySelectorAll('.tip > *')].map((line) => line.textContent)");
  const truth = cell(3, 12);
  check('the tooltip names the pair', tip[0], 'CPU 3 ↔ CPU 12');
  const said = tip[1].replace(/\u00a0/g, '').match(/^([\d.]+) ns \[([\d.]+) \.\. ([\d.]+)\]$/).slice(1).map(Number);
  check('the tooltip has value and interval', said.map((value, index) => Math.abs(value - [truth.median, ...truth.ci][index]) < 0.06), [true, true, true]);
  check('the tooltip has the relation and the grade', [tip[2], tip[3].startsWith(`grade ${truth.grade}`)], ['across L3', true]);
  const drawn = await desk.run(`(() => { const { canvas } = groups[0].viewers[0].picture; const box = canvas.getBoundingClientRect(); const ratio = devicePixelRatio; const [x, y] = ${within}(3, 12); return [...canvas.getContext('2d').getImageData((x - box.left - 9) * ratio, (y - box.top - 9) * ratio, 1, 1).data]; })()`);
  const wanted = await desk.run('[...groups[0].viewers[0].scale.color(groups[0].viewers[0].grid.values[3 * 32 + 12]), 255]');
  check('the pixel has the colour of the value', drawn, wanted);

  await desk.click(x, y);
  check('a click shows the passes', await desk.run("[document.querySelector('.pair h4').textContent, document.querySelectorAll('.pair circle').length >= 8]"), ['CPU 3 ↔ CPU 12', true]);

  await desk.run("document.querySelector('.frame').focus()");
  await desk.run('groups[0].viewers[0].cursor = { r: 0, c: 0 }');
  await desk.key('ArrowDown');
  await desk.key('ArrowDown');
  await desk.key('ArrowRight');
  const live = await desk.run("document.querySelector('.live').textContent");
  check('the keyboard moves the cursor and the live region says it', live.startsWith('CPU 2 ↔ CPU 1 · '), true);
  await desk.key('End');
  check('End goes to the last column', await desk.run('groups[0].viewers[0].cursor'), { r: 2, c: 31 });
  await desk.key('Enter');
  check('Enter opens the pair', await desk.run("document.querySelector('.pair h4').textContent"), 'CPU 2 ↔ CPU 31');
  await desk.key('+');
  check('+ zooms', await desk.run('groups[0].viewers[0].picture.window.size < 32'));
  await desk.key('0');
  check('0 shows all', await desk.run('groups[0].viewers[0].picture.window.size'), 32);

  await desk.run("[...document.querySelectorAll('button')].find((button) => button.textContent === 'Show as a table').click()");
  const table = await desk.run("[...document.querySelectorAll('.table tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))");
  const wrong = [];
  for (let a = 0; a < 32; a++) {
    for (let b = 0; b < 32; b++) {
      const expected = a === b ? '' : cell(a, b).median.toFixed(2);
      if (table[a][b].replace(' !', '') !== expected) wrong.push([a, b, table[a][b], expected]);
    }
  }
  check('the table equals the data', wrong, []);

  await desk.run("document.querySelector('button[data-download]').click()");
  let file;
  for (let wait = 0; wait < 50 && !file; wait++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    file = readdirSync(folder).find((name) => name.endsWith('.json'));
  }
  check('the download equals the export', readFileSync(join(folder, file), 'utf8') === tool('export', 'desk', '--format', 'json'));
  quiet(desk, 'desk');

  // The answer leads, with three numbers of it.
  check('the answer stands above everything', await desk.run("[document.querySelector('header .lede').textContent.startsWith('18 ns inside an L3'), document.querySelectorAll('header .tiles dt').length]"), [true, 3]);
  await choose(desk, 'by', 'core');
  const range = (page) => page.run('[groups[0].viewers[0].scale.low, groups[0].viewers[0].scale.high]');
  const own = await range(desk);
  check('colours span the values at first', [own[0] > 5, own[1] < 150], [true, true]);
  await choose(desk, 'scale', 'fixed');
  check('and the same range as on every page where that is chosen', await range(desk), [4, 500]);
  await choose(desk, 'scale', 'fit');

  // Tables sort by the column that is pressed, and back.
  const column = (index) => desk.run(`[...document.querySelectorAll('#ladder tbody tr')].map((row) => row.cells[${index}].textContent)`);
  const pressed = async (index) => {
    await desk.run(`document.querySelectorAll('#ladder thead .sort')[${index}].click()`);
    return column(index);
  };
  const before = await column(2);
  const number = (text) => parseFloat(text.replace(/\u00a0| (?=\d{3})/g, ''));
  const rising = (texts) => texts.map(number).filter(Number.isFinite).every((value, index, all) => index === 0 || all[index - 1] <= value);
  check('a press sorts upwards', rising(await pressed(2)));
  check('the heading says so', await desk.run("document.querySelectorAll('#ladder thead th')[2].getAttribute('aria-sort')"), 'ascending');
  const falling = (await pressed(2)).filter((text) => Number.isFinite(number(text)));
  check('another one downwards', [rising(falling.reverse()), rising(before)], [true, false]);
  check('and a third one as in the data', await pressed(2), before);

  // A window that becomes narrow keeps everything within it.
  const sized = (page, width) => page.send('Emulation.setDeviceMetricsOverride', { width, height: 844, deviceScaleFactor: 1, mobile: false });
  const settled = (page) => page.run('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))');
  await sized(desk, 390);
  await settled(desk);
  check('the map shrinks with the window', await desk.run("document.querySelector('.frame canvas').getBoundingClientRect().right <= 390"));
  check('figures are drawn anew for it', await desk.run("(() => { const svg = document.querySelector('#ladder .narrow svg'); return [svg.getBoundingClientRect().width <= 366, svg.getBoundingClientRect().width >= 300, getComputedStyle(document.querySelector('#ladder .wide')).display]; })()"), [true, true, 'none']);
  await sized(desk, 1300);
  await settled(desk);

  // Print has no controls, and headings of tables stay.
  await desk.send('Emulation.setEmulatedMedia', { media: 'print' });
  const displays = (selector) => desk.run(`[...new Set([...document.querySelectorAll('${selector}')].map((one) => getComputedStyle(one).display))]`);
  check('print shows no controls', [await displays('.controls'), await displays('.keys'), await displays('.download'), await displays('nav')], [['none'], ['none'], ['none'], ['none']]);
  check('and wide figures with headings', [await displays('#ladder .narrow'), (await displays('thead .sort')).includes('none')], [['none'], false]);
  await desk.send('Emulation.setEmulatedMedia', { media: '' });

  const pdf = await desk.pdf();
  const pages = (pdf.toString('latin1').match(/\/Type\s*\/Page[^s]/g) || []).length;
  check('print gives pages', pages >= 2 && pages <= 12, true);

  const evil = await browser.open(report('evil.html', 'evil'));
  check('hostile names are inert', await evil.run("[document.title.includes('caught') && document.title === 'caught', document.images.length, document.scripts.length]"), [false, 0, 3]);
  check('hostile names are shown without what steers text', await evil.run("document.querySelector('h1').textContent.includes('<img src=x') && !/[\\u202e\\u001b]/.test(document.body.innerText)"));
  quiet(evil, 'evil');

  const large = await browser.open(report('large.html', 'large'));
  check('192 CPUs are drawn', await large.run('groups[0].viewers[0].grid.size'), 192);
  const exported = JSON.parse(tool('export', 'large', '--format', 'json'));
  const rebuilt = await large.run('JSON.parse(documentOf(runs[0].run, runs[0].matrices))');
  const off = rebuilt.matrices[0].cells.filter((got, index) => {
    const of = exported.matrices[0].cells[index];
    return !(got.from === of.from && got.to === of.to && Math.abs(got.median - of.median) < 0.0051
      && Math.abs(got.ci[0] - of.ci[0]) < 0.011 && Math.abs(got.ci[1] - of.ci[1]) < 0.011
      && got.grade === of.grade && got.passes === of.passes && got.flags.join() === of.flags.join());
  });
  check('above 64 CPUs the download is the export within 0.01 ns', [rebuilt.matrices[0].cells.length, off.slice(0, 2)], [exported.matrices[0].cells.length, []]);
  check('it says that it is rounded', rebuilt.rounded.startsWith('0.01 ns'));
  quiet(large, 'large');

  const some = await browser.open(report('some.html', 'some'));
  check('cells that were not measured are hatched and said to be so', await some.run("[groups[0].viewers[0].grid.missing > 0, document.querySelector('.hatched').textContent.startsWith('not measured')]"), [true, true]);
  check('layers of tails appear', await some.run("[...document.querySelectorAll('select[data-control=layer] option')].map((option) => option.value).includes('p99')"));
  quiet(some, 'some');

  const two = await browser.open(report('two.html', 'desk', 'evil'));
  await two.run("document.querySelector('.frame').scrollIntoView({ behavior: 'instant' })");
  check('two runs stand side by side', await two.run('groups[0].viewers.length') >= 2);
  const [px, py] = await two.run(`${within}(1, 2)`);
  await two.mouse('mouseMoved', px, py);
  check('the crosshair is linked', await two.run("groups[0].viewers[1].tip.children.length > 1 && groups[0].viewers[1].tip.children[0].textContent.includes('1')"));
  check('runs of different machines have no map of differences', await two.run('groups[0].viewers.length'), 2);
  quiet(two, 'two');

  const changed = await browser.open(report('changed.html', 'before', 'after'));
  check('the difference is a third map', await changed.run('groups[0].viewers.map((viewer) => viewer.matrix.difference === true)'), [false, false, true]);
  const cellAt = (a, b) => `groups[0].viewers[2].matrix.at[${a} * 8 + ${b}]`;
  const shift = await changed.run(`[groups[0].viewers[2].matrix.median[${cellAt(1, 6)}], groups[0].viewers[2].matrix.median[${cellAt(0, 1)}]]`);
  check('it shows the pairs that became slower', [Math.abs(shift[0] - 30) < 6, Math.abs(shift[1]) < 5], [true, true]);
  await changed.run("document.querySelector('.frame').scrollIntoView({ behavior: 'instant' })");
  const [cx, cy] = await changed.run(`${within}(1, 6)`);
  await changed.mouse('mouseMoved', cx, cy);
  const linked = await changed.run("[...groups[0].viewers[2].tip.children].map((line) => line.textContent)");
  check('its tooltip has shift, interval and verdict', [linked[0], /^\+[\d.]+ % \[\+[\d.]+ \.\. \+[\d.]+ %\]$/.test(linked[1]), linked[2]], ['CPU 1 ↔ CPU 6', true, 'SLOWER']);
  quiet(changed, 'changed');

  const pair = await browser.open(report('pair.html', 'pair'));
  check('one pair is no map', await pair.run("document.querySelectorAll('canvas').length"), 0);
  quiet(pair, 'pair');

  // Distributions of files, one with a name that wants to be markup.
  tool('wait', '--machine', 'sim:chiplet-16', '--seed', '1', '--cpus', '0,1', '-q', '-o', join(folder, 'tables'), '--format', 'hgrm');
  const tables = readdirSync(join(folder, 'tables')).map((name) => join(folder, 'tables', name));
  const disguised = join(folder, '<b>caught<script>document.title="caught".hgrm');
  writeFileSync(disguised, readFileSync(tables[0]));
  run('view', ...tables, disguised, '-o', join(folder, 'view.html'));
  const spectra = await browser.open(`file://${join(folder, 'view.html')}`);
  check('a row for each file', await spectra.run("document.querySelectorAll('tbody tr').length"), tables.length + 1);
  check('curves are drawn', await spectra.run("document.querySelectorAll('#curves figure svg').length > 0"));
  check('names are not markup', await spectra.run("[document.title.includes('caught'), document.querySelectorAll('tbody b, script').length]"), [false, 0]);
  quiet(spectra, 'view');

  // Which pairs curves are of can be chosen.
  tool('wait', '--machine', 'sim:chiplet-16', '--seed', '1', '--strategy', 'busy,futex', '-q', '--name', 'waited');
  const waited = await browser.open(report('waited.html', 'waited'));
  const shown = () => waited.run("[...document.querySelectorAll('.choices > [data-choice]')].filter((part) => !part.hidden).map((part) => part.dataset.choice)");
  check('pairs of all distances are drawn at first', await shown(), ['all distances']);
  await waited.run("(() => { const select = document.querySelector('.choices select'); select.value = '1'; select.dispatchEvent(new Event('change')); })()");
  check('and those of a relation when it is chosen', await shown(), ['same L3']);
  check('a line for what was found leads', await waited.run("document.querySelectorAll('header .tiles dt').length > 0"));
  quiet(waited, 'waited');

  // The parts of many probes are folded; a link unfolds one, and print shows all.
  tool('suite', '--machine', 'sim:laptop-smt', '--cpus', '0,1,4', '--seed', '1', '--budget', '10s', '--name', 'suite', '-q');
  const suite = await browser.open(report('suite.html', 'suite'));
  const tall = () => suite.run('document.documentElement.scrollHeight');
  const folded = await tall();
  const height = (selector) => suite.run(`document.querySelector('${selector}').getBoundingClientRect().height`);
  await suite.send('Emulation.setEmulatedMedia', { media: 'print' });
  check('print unfolds', [await height('#found-queue') > 20, await height('#distributions .part > div') > 100], [true, true]);
  await suite.send('Emulation.setEmulatedMedia', { media: '' });
  await suite.run("document.querySelector('a[href=\"#found-wait\"]').click()");
  await settled(suite);
  check('a link unfolds', await suite.run("[...document.querySelectorAll('details[open]')].map((part) => part.querySelector('h3').textContent)"), ['wait']);
  await suite.run("document.querySelectorAll('details').forEach((part) => { part.open = true; })");
  check('a folded page is a third as tall', folded * 3 < await tall());
  quiet(suite, 'suite');

  for (const [name, page] of Object.entries({ suite, square, woken, desk, evil, large, some, two, changed, pair, spectra, waited })) {
    // What lies behind other pages is not drawn.
    await page.send('Page.bringToFront');
    await sized(page, 390);
    await settled(page);
    check(`${name}: nothing is wider than a phone`, await page.run('document.documentElement.scrollWidth <= innerWidth'));
    await sized(page, 1300);
  }

  if (axe && existsSync(axe)) {
    const source = readFileSync(axe, 'utf8');
    for (const [name, page] of Object.entries({ suite, desk, large, two, changed, pair, some, spectra, square, waited })) {
      for (const dark of [false, true]) {
        await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
        await page.run(source);
        const found = await page.run("axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.filter(({ impact }) => ['serious', 'critical'].includes(impact)).map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)}`))");
        check(`axe: ${name}, ${dark ? 'dark' : 'light'}: no serious violation`, found, []);
      }
    }
  } else {
    console.log('skipped: accessibility, because axe-core is not at hand');
  }
} finally {
  await browser.stop();
  rmSync(folder, { recursive: true, force: true });
}
console.log(failed === 0 ? 'all checks hold' : `${failed} checks failed`);
process.exit(failed === 0 ? 0 : 1);
