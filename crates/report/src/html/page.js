// The page: groups of linked maps, their controls, and downloads.

class Group {
  constructor(place, number, members) {
    this.id = number;
    this.small = members.length > 1;
    this.viewers = members.map(([run, matrices]) => new Viewer(this, run, matrices));
    this.state = { matrix: 0, layer: 'median', ...view.initial };
    this.controls = element('div', { class: 'controls', role: 'group', 'aria-label': 'heat map' });
    const keys = 'Click a pair or press Enter to see its passes. Arrow keys move the cursor, + and - zoom, 0 shows all, dragging moves the map.';
    const maps = element('div', { class: members.length > 1 ? 'maps several' : 'maps' }, ...this.viewers.map((viewer) => viewer.root));
    place.replaceChildren(this.controls, element('p', { class: 'keys', id: `keys-${number}` }, keys), maps);
    this.build();
    this.update();
  }

  each(act) {
    this.viewers.forEach(act);
  }

  build() {
    const most = Math.max(...this.viewers.map((viewer) => viewer.matrices.length));
    const longest = this.viewers.find((viewer) => viewer.matrices.length === most);
    if (most > 1) this.choice('matrix', 'Map', longest.matrices.map((matrix, index) => [index, matrix.label]), Number);
    this.layers = this.choice('layer', 'Layer', []);
    const inferred = this.viewers.every((viewer) => viewer.run.inferred);
    const orders = [['reported', inferred ? 'by inferred groups' : 'as reported'], ['id', 'by CPU id'], ['measured', 'as measured']];
    this.choice('order', 'Order', orders);
    if (this.viewers.some((viewer) => viewer.run.smt)) this.choice('by', 'Rows', [['core', 'cores'], ['thread', 'threads']]);
    this.choice('scale', 'Colours', [['fit', this.small ? 'range of these maps' : 'range of this map'], ['fixed', 'same on every page']]);
    const button = (name, act) => {
      const made = element('button', { type: 'button' }, name);
      made.addEventListener('click', () => act(made));
      this.controls.append(made);
      return made;
    };
    button('Zoom in', () => this.each((viewer) => viewer.picture.zoom(1.6, viewer.cursor)));
    button('Zoom out', () => this.each((viewer) => viewer.picture.zoom(1 / 1.6, viewer.cursor)));
    button('Show all', () => this.each((viewer) => viewer.picture.zoom(1e-9)));
    const table = button('Show as a table', (made) => {
      const shown = made.getAttribute('aria-pressed') !== 'true';
      made.setAttribute('aria-pressed', String(shown));
      made.textContent = shown ? 'Hide the table' : 'Show as a table';
      this.each((viewer) => viewer.toggleTable(shown));
    });
    table.setAttribute('aria-pressed', 'false');
  }

  choice(key, name, options, read = String) {
    const select = element('select', { 'data-control': key });
    this.options(select, options, this.state[key]);
    select.addEventListener('change', () => {
      this.state[key] = read(select.value);
      this.update();
    });
    this.controls.append(element('label', {}, `${name} `, select));
    return select;
  }

  options(select, options, chosen) {
    select.replaceChildren(...options.map(([value, text]) => {
      const option = element('option', { value: String(value) }, text);
      option.selected = String(value) === String(chosen);
      return option;
    }));
  }

  update() {
    const known = new Map();
    for (const viewer of this.viewers) {
      const matrix = viewer.matrices[Math.min(this.state.matrix, viewer.matrices.length - 1)];
      if (!matrix.difference) for (const layer of matrix.layers()) known.set(layer.id, layer.name);
    }
    if (!known.has(this.state.layer)) this.state.layer = 'median';
    this.options(this.layers, [...known], this.state.layer);
    this.each((viewer) => viewer.arrange(this.state));
    this.each((viewer) => viewer.paint(this.range(viewer), this.state.scale));
  }

  // Maps side by side share a colour range if their layers have the same unit.
  range({ layer, range }) {
    if (layer.diverging) return range;
    const alike = this.viewers.filter((viewer) => viewer.layer.unit === layer.unit && !viewer.layer.diverging);
    return [Math.min, Math.max].map((end, index) => end(...alike.map((viewer) => viewer.range[index])));
  }

  // Moves the crosshair of every map to the pair under the pointer in one map.
  point(from, at) {
    const cpus = at && from.cpusAt(at);
    this.each((viewer) => viewer.mark(viewer === from ? at : cpus && viewer.find(cpus), viewer === from));
  }
}

// The document of a run: as in `coretalk export --format json`, or rounded if the page stores columns.
function documentOf(run, matrices) {
  const text = blockText(run.data);
  if (run.exact) return text;
  const whole = JSON.parse(text);
  whole.rounded = '0.01 ns; without the fields that the page leaves out';
  const known = (value) => (Number.isFinite(value) ? Math.round(value * 100) / 100 : null);
  matrices.filter((matrix) => matrix.index !== null).forEach((matrix) => {
    whole.matrices[matrix.index].cells = Array.from({ length: matrix.cells }, (unused, cell) => ({
      from: matrix.cpus[matrix.pairs[2 * cell]],
      to: matrix.cpus[matrix.pairs[2 * cell + 1]],
      median: known(matrix.median[cell]),
      ci: Number.isFinite(matrix.low[cell]) ? [known(matrix.low[cell]), known(matrix.high[cell])] : null,
      min: known(matrix.min[cell]),
      passes: matrix.passCount[cell] || 0,
      home_penalty: known(matrix.home_penalty[cell]),
      line_spread: known(matrix.line_spread[cell]),
      grade: matrix.grade(cell),
      flags: matrix.flags(cell),
      reason: matrix.reasons(cell),
    }));
  });
  return JSON.stringify(whole) + '\n';
}

function download(name, text) {
  const link = element('a', { download: name });
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const runs = view.runs.map((run) => {
  later(run, 'document', () => JSON.parse(blockText(run.data)));
  return { run, matrices: run.maps.map((map) => new Matrix(map, run)) };
});

// The difference of two runs as a map of its own.
function differenceOf(about) {
  const matrix = new Matrix(about, { document: {} });
  matrix.difference = true;
  matrix.verdicts = about.verdicts.map((verdict) => about.words[verdict]);
  // An unproven difference is drawn near the middle of the scale, whatever its size.
  const shown = matrix.median.map((shift, cell) => (about.shown[cell] ? shift : Math.max(-view.usual, Math.min(view.usual, shift)) * view.pale));
  matrix.layers = () => [{ id: 'median', name: 'difference', unit: '%', of: (cell) => matrix.median[cell], shown: (cell) => shown[cell], diverging: true }];
  return matrix;
}

const groups = [];
for (const place of document.querySelectorAll('.heat-map')) {
  const members = runs.filter(({ matrices }) => matrices.length > 0).map(({ run, matrices }) => [run, matrices]);
  if (view.differences.length > 0) {
    members.forEach((member, index) => { member[0] = { ...member[0], machine: `${'AB'[index]} · ${member[0].machine}` }; });
    members.push([{ ...view.runs[0], machine: 'Difference: B compared with A', marks: [] }, view.differences.map(differenceOf)]);
  }
  if (members.length > 0) groups.push(new Group(place, groups.length, members));
}
document.querySelectorAll('button[data-download]').forEach((button) => {
  const { run, matrices } = runs[Number(button.dataset.download)];
  button.hidden = false;
  button.addEventListener('click', () => download(`coretalk-${run.name}.json`, documentOf(run, matrices)));
});

const again = () => groups.forEach((group) => group.update());
let width = 0;
new ResizeObserver(() => {
  if (document.body.clientWidth === width) return;
  width = document.body.clientWidth;
  groups.forEach((group) => group.each((viewer) => viewer.picture.layout()));
}).observe(document.body);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
// Prints on white, with all parts unfolded.
let folded = [];
addEventListener('beforeprint', () => {
  document.documentElement.classList.add('printing');
  folded = [...document.querySelectorAll('details.part:not([open])')];
  folded.forEach((part) => { part.open = true; });
  again();
});
addEventListener('afterprint', () => {
  document.documentElement.classList.remove('printing');
  folded.forEach((part) => { part.open = false; });
  again();
});
// Runs after parsing, because the tables follow this script.
document.addEventListener('DOMContentLoaded', () => {
  document.querySelectorAll('.scroll > table').forEach(sortable);
  // Shows one part at a time, chosen in a select element.
  document.querySelectorAll('.choices').forEach((place) => {
    const parts = [...place.children];
    const select = element('select', {}, ...parts.map((part, index) => element('option', { value: String(index) }, part.dataset.choice)));
    const show = () => parts.forEach((part, index) => { part.hidden = index !== Number(select.value); });
    select.addEventListener('change', show);
    place.classList.add('live-choices');
    place.prepend(element('div', { class: 'controls' }, element('label', {}, `${place.dataset.label} `, select)));
    show();
  });
  document.documentElement.dataset.ready = 'true';
});
