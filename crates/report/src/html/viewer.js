// A viewer: one heat map with its crosshair, tooltip, keyboard cursor, details and table.

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children.map((child) => (typeof child === 'string' ? plain(child) : child)));
  return made;
}

// Maximum number of rows of a table; larger maps list only the zoomed part.
const TABLE_ROWS = 64;

class Viewer {
  constructor(group, run, matrices) {
    Object.assign(this, { group, run, matrices });
    const number = Viewer.count++;
    this.frame = element('div', { class: 'frame', tabindex: '0', role: 'application', 'aria-roledescription': 'heat map',
      'aria-describedby': `keys-${group.id}` });
    if (group.small) this.frame.classList.add('small');
    this.tip = element('div', { class: 'tip', 'aria-hidden': 'true', hidden: '' });
    this.legend = element('div', { class: 'legend' });
    this.live = element('p', { class: 'live', 'aria-live': 'polite', id: `live-${number}` });
    this.detail = element('div', { class: 'detail', id: `detail-${number}` });
    this.table = element('div', { class: 'table', hidden: '' });
    this.title = element('h3', { id: `title-${number}` });
    this.question = element('p', { class: 'question' });
    this.frame.setAttribute('aria-labelledby', `title-${number}`);
    this.root = element('div', { class: 'viewer' }, this.title, this.question,
      element('div', { class: 'beside' }, element('div', {}, this.frame, this.legend, this.live), this.detail), this.table);
    this.picture = new MapCanvas(this.frame);
    this.frame.append(this.tip);
    this.listen();
  }

  // Applies the controls of the group.
  arrange({ matrix, layer, order, by, scale }) {
    this.matrix = this.matrices[Math.min(matrix, this.matrices.length - 1)];
    const layers = this.matrix.layers();
    this.layer = layers.find((known) => known.id === layer) || layers[0];
    this.order = this.matrix.orders[order] || order === 'id' ? order : 'reported';
    const rows = this.matrix.rows(this.order, by, this.run.core);
    this.grid = new Grid(this.matrix, this.layer, rows);
    this.range = this.grid.range(scale);
    this.rows = rows;
  }

  // Draws the map in the colours of a range.
  paint(range, scale) {
    const { rows } = this;
    this.scale = new Scale(this.layer, range);
    const names = rows.map((row) => row.map((place) => this.matrix.cpus[place]).join(','));
    this.title.textContent = plain(this.run.marks.map((mark) => `${mark} · `).join('') + this.run.machine);
    this.question.textContent = plain(this.matrix.question + (this.layer.id === 'median' ? '' : ` — layer: ${this.layer.name}`));
    this.picture.show(this.grid, this.scale, this.bars(rows), names);
    this.drawLegend(scale);
    this.cursor = null;
    this.detail.replaceChildren();
    this.live.textContent = '';
    if (!this.table.hidden) this.fillTable();
  }

  // Returns runs of rows that share a group, coarsest level first, without levels whose bars would be too dense.
  bars(rows) {
    const found = [];
    for (const level of [...this.run.levels].reverse()) {
      if (level.name === 'core') continue;
      const groups = [];
      rows.forEach((row, index) => {
        const of = level.of[this.matrix.cpus[row[0]]];
        const last = groups[groups.length - 1];
        if (last && last[2] === of) last[1] = index + 1;
        else groups.push([index, index + 1, of]);
      });
      const same = (other) => other.length === groups.length && other.every(([begin], index) => begin === groups[index][0]);
      if (groups.length > 1 && 2 * groups.length <= rows.length && !found.some(same)) found.push(groups);
    }
    return found.slice(0, 3);
  }

  drawLegend(choice) {
    const { layer, scale, grid } = this;
    const width = 320;
    const ratio = window.devicePixelRatio || 1;
    const canvas = element('canvas', { width: String(width * ratio), height: String(30 * ratio), 'aria-hidden': 'true' });
    canvas.style.width = `${width}px`;
    canvas.style.height = '30px';
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (let step = 0; step < width; step++) {
      context.fillStyle = css(scale.table[Math.round((255 * step) / (width - 1))]);
      context.fillRect(step, 0, 1.5, 10);
    }
    context.font = this.picture.font(11);
    context.fillStyle = ink('faint');
    context.textBaseline = 'top';
    const [lowest, highest] = grid.ends();
    const beyond = [lowest < scale.low * 0.999 && !layer.diverging, highest > scale.high * 1.001];
    const words = scale.ticks().map((value) => [value, (layer.diverging && value > 0 ? '+' : '') + (Math.abs(value) < 1e4 ? String(Math.round(value * 100) / 100) : short(value))]);
    let free = -Infinity;
    for (const [value, text] of words) {
      const size = context.measureText(text).width;
      const at = Math.min(width - size, Math.max(0, scale.position(value) * (width - 1) - size / 2));
      context.fillRect(Math.round(scale.position(value) * (width - 1)), 10, 1, 3);
      if (at > free) context.fillText(text, at, 16);
      if (at > free) free = at + size + 6;
    }
    const kind = layer.log ? 'logarithmic' : 'linear';
    const fixed = choice === 'fixed' && (layer.fixed || layer.diverging);
    const wider = layer.log && !layer.diverging && Math.abs(scale.high / scale.low - 1.5) < 1e-9;
    const these = this.group.small ? 'these maps' : 'this map';
    const fitted = wider ? `from the minimum of ${these} to 1.5 times that, so that noise does not fill the scale` : `range of ${these}`;
    const parts = [canvas, element('span', {}, `${layer.name}, ${layer.unit}; ${kind}, ${fixed ? 'same colour scale on every machine' : fitted}`)];
    if (beyond[0]) parts.push(element('span', {}, `below ${long(scale.low)}: the first colour`));
    if (beyond[1]) parts.push(element('span', {}, `above ${long(scale.high)}: the last colour`));
    if (grid.missing > 0) parts.push(element('span', { class: 'hatched' }, `not measured (${grid.missing})`));
    if (layer.diverging) parts.push(element('span', {}, 'pale: no proven difference'));
    const diagonal = grid.diagonal(this.run.alone);
    if (diagonal) parts.push(element('span', {}, diagonal));
    if (grid.slices.includes(1)) parts.push(element('span', {}, `s: ${view.slices}`));
    if (grid.doubt.includes(1) || grid.ownDoubt.includes(1)) parts.push(element('span', {}, '! may be wrong'));
    this.legend.replaceChildren(...parts);
  }

  listen() {
    const { frame, picture } = this;
    const place = (event) => {
      const box = picture.canvas.getBoundingClientRect();
      return picture.placeAt(event.clientX - box.left, event.clientY - box.top);
    };
    let drag = null;
    frame.addEventListener('pointermove', (event) => {
      if (drag && event.buttons) {
        const moved = Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y);
        if (drag.far || moved > 4) {
          drag.far = true;
          picture.pan(event.clientX - drag.last[0], event.clientY - drag.last[1]);
          drag.last = [event.clientX, event.clientY];
          this.tip.hidden = true;
          return;
        }
      }
      this.point(place(event));
    });
    frame.addEventListener('pointerdown', (event) => {
      drag = { x: event.clientX, y: event.clientY, last: [event.clientX, event.clientY], far: false };
    });
    frame.addEventListener('pointerup', (event) => {
      const was = drag;
      drag = null;
      if (was && was.far) return;
      const at = place(event);
      if (at) this.open(at);
    });
    frame.addEventListener('pointerleave', () => {
      drag = null;
      this.group.point(this, null);
    });
    frame.addEventListener('dblclick', (event) => {
      const at = place(event);
      if (at) this.group.each((viewer) => viewer.picture.zoom(2, at));
    });
    // Scrolling without a modifier key scrolls the page.
    frame.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.group.each((viewer) => viewer.picture.zoom(event.deltaY < 0 ? 1.25 : 0.8, place(event)));
    }, { passive: false });
    frame.addEventListener('keydown', (event) => this.key(event));
    frame.addEventListener('blur', () => this.group.point(this, null));
  }

  key(event) {
    const size = this.grid.size;
    if (size === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.cursor || { r: 0, c: -1 };
    const far = event.shiftKey ? Math.max(1, Math.round(size / 8)) : 1;
    const moves = {
      ArrowLeft: [0, -far], ArrowRight: [0, far], ArrowUp: [-far, 0], ArrowDown: [far, 0],
      Home: [0, -size], End: [0, size], PageUp: [-size, 0], PageDown: [size, 0],
    };
    const limit = (value) => Math.min(size - 1, Math.max(0, value));
    if (moves[event.key]) {
      const [dr, dc] = moves[event.key];
      this.cursor = { r: limit(at.r + dr), c: limit(at.c + dc) };
      this.picture.reveal(this.cursor);
      this.point(this.cursor);
      this.live.textContent = this.lines(this.cursor).join(' · ');
    } else if (event.key === 'Enter' || event.key === ' ') {
      if (this.cursor) this.open(this.cursor);
    } else if (event.key === '+' || event.key === '=') {
      this.group.each((viewer) => viewer.picture.zoom(1.5, this.cursor));
      this.point(this.cursor);
    } else if (event.key === '-') {
      this.group.each((viewer) => viewer.picture.zoom(1 / 1.5, this.cursor));
      this.point(this.cursor);
    } else if (event.key === '0') {
      this.group.each((viewer) => viewer.picture.zoom(1e-9));
      this.point(this.cursor);
    } else if (event.key === 'Escape') {
      this.cursor = null;
      this.group.point(this, null);
    } else {
      return;
    }
    event.preventDefault();
  }

  point(at) {
    if (at) this.cursor = at;
    this.group.point(this, at);
  }

  // Draws the crosshair; `own` means that the pointer is over this map.
  mark(at, own) {
    this.picture.cross(at);
    if (!at) {
      this.tip.hidden = true;
      return;
    }
    const { picture, tip, frame } = this;
    const lines = this.lines(at);
    tip.replaceChildren(...lines.map((line, index) => element(index === 0 ? 'strong' : 'span', {}, line)));
    tip.hidden = !own && this.group.small;
    const [x, y] = [picture.left + (at.c - picture.window.x + 1) * picture.cell + 12, picture.top + (at.r - picture.window.y + 1) * picture.cell + 12];
    const flip = x + 260 > frame.clientWidth;
    tip.style.left = flip ? 'auto' : `${x}px`;
    tip.style.right = flip ? `${Math.max(0, frame.clientWidth - x + picture.cell + 24)}px` : 'auto';
    tip.style.top = `${y}px`;
  }

  // Finds the place in this map that shows the CPUs of a place in another map.
  find(cpus) {
    const row = (cpu) => this.grid.rows.findIndex((places) => places.some((place) => this.matrix.cpus[place] === cpu));
    const [r, c] = cpus.map(row);
    return r >= 0 && c >= 0 ? { r, c } : null;
  }
  cpusAt({ r, c }) {
    return [r, c].map((index) => this.matrix.cpus[this.grid.rows[index][0]]);
  }

  relation(a, b) {
    if (a === b) return this.run.alone[0];
    const level = this.run.levels.find(({ of }) => of[a] !== undefined && of[a] === of[b]);
    return level ? level.words : this.run.apart;
  }

  // Describes a place in a few lines.
  lines(at) {
    const { grid, matrix } = this;
    const name = (index) => grid.rows[index].map((place) => matrix.cpus[place]).join(',');
    const arrow = matrix.symmetric ? '↔' : '→';
    const cells = grid.cellsOf(at.r, at.c);
    const single = grid.rows[at.r].length === 1 && grid.rows[at.c].length === 1;
    const lines = [`${single ? 'CPU' : 'CPUs'} ${name(at.r)} ${arrow} ${single ? 'CPU ' : ''}${name(at.c)}`];
    if (cells.length === 0) return [...lines, 'the same CPU: nothing to measure'];
    if (cells.length === 1) return [...lines, ...this.cellLines(cells[0])];
    const value = grid.values[at.r * grid.size + at.c];
    const marked = at.r === at.c && grid.slices[at.r];
    if (marked || (at.r === at.c && Number.isFinite(grid.own[at.r]))) {
      const { pairs, own } = grid.partsOf(at.r, at.c);
      const [alone, pair] = this.run.alone;
      lines.push(marked ? `s: ${view.slices}` : `${alone}: ${this.say(grid.own[at.r])}, median of ${own.length} CPUs`);
      lines.push(`${pair}: ${Number.isFinite(value) ? `${this.say(value)}, median of ${pairs.length} pairs` : 'not measured'}`);
      const flags = [...new Set(cells.flatMap((cell) => matrix.flags(cell)))];
      return flags.length ? [...lines, flags.join(', ')] : lines;
    }
    lines.push(Number.isFinite(value) ? `${this.say(value)}, median of ${cells.length} pairs of threads` : `none of ${cells.length} pairs were measured`);
    const [first] = cells;
    lines.push(this.relation(matrix.cpus[matrix.pairs[2 * first]], matrix.cpus[matrix.pairs[2 * first + 1]]));
    const flags = [...new Set(cells.flatMap((cell) => matrix.flags(cell)))];
    if (flags.length) lines.push(flags.join(', '));
    return lines;
  }

  say(value) {
    const { layer } = this;
    if (layer.diverging) return `${signed(value, 1)} %`;
    if (layer.unit === '×') return `${value.toFixed(2)} ×`;
    return layer.id === 'flags' ? `${value} doubts` : `${long(value)} ${layer.unit}`;
  }

  cellLines(cell) {
    const { matrix, layer } = this;
    const lines = [];
    if (matrix.difference) {
      if (!Number.isFinite(matrix.median[cell])) return ['not measured in both runs'];
      const interval = Number.isFinite(matrix.low[cell]) ? ` [${signed(matrix.low[cell], 1)} .. ${signed(matrix.high[cell], 1)} %]` : ', no interval';
      lines.push(this.say(matrix.median[cell]) + interval);
      lines.push(matrix.verdicts[cell]);
    } else if (matrix.slices.has(cell)) {
      lines.push(`s: ${view.slices}`);
    } else if (!Number.isFinite(matrix.median[cell])) {
      lines.push(`not measured: ${plain(matrix.reasons(cell) || 'no reason given')}`);
    } else {
      const interval = Number.isFinite(matrix.low[cell]) ? ` [${long(matrix.low[cell])} .. ${long(matrix.high[cell])}]` : ', no interval';
      lines.push(`${long(matrix.median[cell])} ${matrix.unit}${interval}`);
      if (layer.id !== 'median' && Number.isFinite(layer.of(cell))) lines.push(`${layer.name}: ${this.say(layer.of(cell))}`);
    }
    lines.push(this.relation(matrix.cpus[matrix.pairs[2 * cell]], matrix.cpus[matrix.pairs[2 * cell + 1]]));
    const about = [];
    if (matrix.grade(cell)) about.push(`grade ${matrix.grade(cell)}`);
    if (matrix.passCount[cell] > 0) about.push(`${matrix.passCount[cell]} passes`);
    if (about.length) lines.push(about.join(', '));
    const flags = matrix.flags(cell);
    if (flags.length) lines.push(`${matrix.doubts(cell).length ? '! ' : ''}${flags.join(', ')}`);
    return lines;
  }

  // Shows all details of the pairs of a place next to the map.
  open(at) {
    this.cursor = at;
    const cells = this.grid.cellsOf(at.r, at.c);
    if (cells.length === 0) return;
    const parts = cells.slice(0, 16).map((cell) => this.card(cell));
    if (cells.length > 16) parts.push(element('p', {}, `… and ${cells.length - 16} more pairs`));
    this.detail.replaceChildren(...parts);
    this.live.textContent = `Details of ${this.lines(at)[0]} are shown beside the map`;
  }

  card(cell) {
    const { matrix } = this;
    const [from, to] = [0, 1].map((side) => matrix.cpus[matrix.pairs[2 * cell + side]]);
    const facts = [['value', this.cellLines(cell).join(' · ')]];
    const add = (name, value, words) => Number.isFinite(value) && facts.push([name, words(value)]);
    if (!matrix.difference) {
      add('fastest batch', matrix.min[cell], (value) => `${long(value)} ${matrix.unit}`);
      add('home penalty', matrix.home_penalty[cell], (value) => `${value.toFixed(2)} ×`);
      add('line spread', matrix.line_spread[cell], (value) => `${value.toFixed(2)} ×`);
      add('p99 of single events', matrix.p99[cell], (value) => `${long(value)} ${matrix.unit}`);
      const source = matrix.source && matrix.source[cell];
      if (source && source.cycles && source.cycles.median !== null) {
        const ends = source.cycles.ci ? ` [${long(source.cycles.ci[0])} .. ${long(source.cycles.ci[1])}]` : '';
        facts.push(['core cycles', `${long(source.cycles.median)}${ends}${source.core_ghz ? ` at ${source.core_ghz.toFixed(2)} GHz` : ''}`]);
      }
      for (const state of (source && source.states) || []) {
        facts.push(['state', `${Math.round(100 * state.share)} % of the passes: ${long(state.median)} ${matrix.unit}`]);
      }
      if (matrix.reasons(cell)) facts.push(['reason', plain(matrix.reasons(cell))]);
    }
    const list = element('dl', {});
    for (const [name, value] of facts) list.append(element('dt', {}, name), element('dd', {}, value));
    const card = element('div', { class: 'card pair' }, element('h4', {}, `CPU ${from} ${matrix.symmetric ? '↔' : '→'} CPU ${to}`), list);
    const passes = matrix.passes.get(cell);
    if (passes) card.append(this.strip(passes));
    else if (!matrix.difference) card.append(element('p', { class: 'note' }, this.run.passes_note));
    return card;
  }

  // Draws the passes of a pair in time order.
  strip({ times, values }) {
    const [width, height, left, bottom] = [300, 116, 40, 22];
    const draw = (name, attributes, text) => {
      const made = document.createElementNS('http://www.w3.org/2000/svg', name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (text !== undefined) made.textContent = text;
      return made;
    };
    const figure = draw('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
      'aria-label': `${values.length} passes from ${long(Math.min(...values))} to ${long(Math.max(...values))} ns` });
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = Math.max(high - low, 0.02 * high);
    const last = Math.max(times[times.length - 1] - times[0], 1e-9);
    const x = (time) => left + 6 + ((time - times[0]) / last) * (width - left - 16);
    const y = (value) => 10 + (1 - (value - low) / room) * (height - bottom - 18);
    const label = { 'font-size': 11, fill: 'var(--faint)' };
    for (const value of high > low ? [low, high] : [low]) {
      figure.append(draw('line', { x1: left, x2: width, y1: y(value), y2: y(value), stroke: 'var(--line)' }));
      figure.append(draw('text', { x: left - 4, y: y(value) + 4, 'text-anchor': 'end', ...label }, long(value)));
    }
    values.forEach((value, index) => figure.append(draw('circle', { cx: x(times[index]), cy: y(value), r: 3, fill: 'var(--series-0)' })));
    figure.append(draw('text', { x: left, y: height - 4, ...label }, `${values.length} passes over ${last.toPrecision(2)} s, ns`));
    return figure;
  }

  // Creates the table on first use.
  toggleTable(shown) {
    this.table.hidden = !shown;
    if (shown) this.fillTable();
    else this.table.replaceChildren();
  }

  fillTable() {
    const { grid, picture: { window: win } } = this;
    const whole = grid.size <= TABLE_ROWS;
    const span = (origin) => {
      const begin = whole ? 0 : Math.floor(origin);
      return [begin, Math.min(grid.size, begin + (whole ? grid.size : Math.min(TABLE_ROWS, Math.ceil(win.size))))];
    };
    const [rows, columns] = [span(win.y), span(win.x)];
    const name = (index) => grid.rows[index].map((place) => this.matrix.cpus[place]).join(',');
    const range = ([begin, end]) => Array.from({ length: end - begin }, (unused, index) => begin + index);
    const head = element('tr', {}, element('td', {}), ...range(columns).map((c) => element('th', { scope: 'col' }, name(c))));
    const body = range(rows).map((r) => element('tr', {}, element('th', { scope: 'row' }, name(r)), ...range(columns).map((c) => {
      const place = r * grid.size + c;
      const empty = grid.kind[place] === MISSING ? 'missing' : r === c && grid.slices[r] && grid.rows[r].length === 1 ? 's' : '';
      const text = grid.kind[place] === VALUE ? this.exact(grid.values[place]) + (grid.doubt[place] ? ' !' : '') : empty;
      const [alone, pair] = this.run.alone;
      if (r === c && grid.slices[r] && grid.rows[r].length > 1) return element('td', {}, `${alone} s; ${pair} ${text}`);
      if (r !== c || !Number.isFinite(grid.own[r])) return element('td', {}, text);
      return element('td', {}, `${alone} ${this.exact(grid.own[r])}${grid.ownDoubt[r] ? ' !' : ''}; ${pair} ${text}`);
    })));
    const part = whole ? '' : ` Rows ${rows[0] + 1} to ${rows[1]} of ${grid.size}; zoom to see others.`;
    const caption = element('caption', {}, `${this.matrix.question}: ${this.layer.name} in ${this.layer.unit}.${part}`);
    const scroll = element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'values as a table' });
    scroll.append(element('table', {}, caption, element('thead', {}, head), element('tbody', {}, ...body)));
    this.table.replaceChildren(scroll);
  }

  exact(value) {
    return this.layer.diverging ? fixed(value, 1) : Number.isInteger(value) ? String(value) : value.toFixed(2);
  }
}
Viewer.count = 0;
