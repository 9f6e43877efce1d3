'use strict';
// Data blocks of the page: the view for drawing, and the document of each run.

const view = JSON.parse(document.getElementById('view').textContent);

// Restores the `<` written as `\u003c` in a data block. All other backslashes come in pairs.
function blockText(id) {
  const text = document.getElementById(id).textContent;
  return text.replace(/\\(\\|u003c)/g, (whole, rest) => (rest === '\\' ? whole : '<'));
}

// Characters that reverse or hide text around them.
const STEERING = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const plain = (text) => String(text).replace(STEERING, '\ufffd');

// Formats with this number of decimals; values rounded to zero have no sign.
const fixed = (value, decimals) => value.toFixed(decimals).replace(/^-(?=0(?:\.0+)?$)/, '');
// The same with a sign, except for zero.
const signed = (value, decimals) => {
  const text = fixed(value, decimals);
  return Number(text) > 0 ? '+' + text : text;
};

// Formats as elsewhere in coretalk: three significant digits, in groups of three.
function short(value) {
  const size = Math.abs(value);
  if (size >= 999500) return short(value / 1e6) + 'M';
  if (size >= 9999.5) return short(value / 1e3) + 'k';
  if (size > 0 && size < 0.95) return value.toPrecision(2);
  return size < 9.95 ? fixed(value, 1) : fixed(value, 0);
}
function long(value) {
  const size = Math.abs(value);
  if (size > 0 && size < 0.0095) return value.toPrecision(2);
  if (size < 9.995) return fixed(value, 2);
  if (size < 99.95) return value.toFixed(1);
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, '\u00a0');
}

// Columns with few distinct values are stored as one letter per cell, other long columns as base-32 digits.
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const DIGITS = new Uint8Array(128);
for (let at = 0; at < LETTERS.length; at++) DIGITS[LETTERS.charCodeAt(at)] = at;
function spelled(column) {
  if (!column || Array.isArray(column)) return column;
  if (column.digits !== undefined) return numbers(column.digits);
  const all = new Float64Array(column.letters.length);
  for (let at = 0; at < all.length; at++) all[at] = column.of[DIGITS[column.letters.charCodeAt(at)]];
  return all;
}

// Decodes digits, lowest first, with 32 added to all but the last: 0 means none, then 0, -1, 1, -2, 2, ...
function numbers(digits) {
  const all = new Float64Array(digits.length);
  let known = 0;
  for (let at = 0, number = 0, unit = 1; at < digits.length; at++) {
    const digit = DIGITS[digits.charCodeAt(at)];
    number += (digit & 31) * unit;
    unit *= 32;
    if (digit & 32) continue;
    all[known++] = number === 0 ? NaN : number % 2 ? (number - 1) / 2 : -number / 2;
    number = 0;
    unit = 1;
  }
  return all.subarray(0, known);
}

// Adds a property that is computed on first access, because most columns are never shown.
function later(object, name, compute) {
  Object.defineProperty(object, name, {
    configurable: true,
    get: () => {
      const value = compute();
      Object.defineProperty(object, name, { value });
      return value;
    },
  });
}

// A matrix with its cells, from the columns of the view or the cells of the document.
class Matrix {
  constructor(about, run) {
    Object.assign(this, about);
    this.n = this.cpus.length;
    this.position = new Map(this.cpus.map((cpu, place) => [cpu, place]));
    // Cells that measured time slices; a mark replaces their values.
    this.slices = new Set(about.slices);
    const columns = about.columns;
    this.source = columns ? null : run.document.matrices[about.index].cells;
    this.cells = columns ? columns.cells : this.source.length;
    this.places(columns);
    later(this, 'p99', () => this.tails(run.document));
    if (columns) this.decode(columns);
    else this.translate();
    this.doubtBits = this.flagNames.reduce((bits, name, bit) => (view.doubts.includes(name) ? bits | (1 << bit) : bits), 0);
    this.passes = new Map(about.passes.map(([cell, times, values]) => [cell, { times, values }]));
  }

  // Maps each place of the square to its cell; -1 means no cell.
  places(columns) {
    const { n } = this;
    this.at = new Int32Array(n * n).fill(-1);
    this.pairs = new Int32Array(2 * this.cells);
    const put = (cell, row, column) => {
      this.at[row * n + column] = cell;
      if (this.symmetric) this.at[column * n + row] = cell;
      this.pairs[2 * cell] = this.symmetric ? column : row;
      this.pairs[2 * cell + 1] = this.symmetric ? row : column;
    };
    if (this.source) {
      this.source.forEach((cell, number) => {
        const [from, to] = [this.position.get(cell.from), this.position.get(cell.to)];
        put(number, this.symmetric ? to : from, this.symmetric ? from : to);
      });
    } else if (columns.at) {
      spelled(columns.at).forEach((at, number) => put(number, Math.floor(at / n), at % n));
    } else {
      let cell = 0;
      for (let row = 0; row < n; row++) {
        for (let column = 0; column < (this.symmetric ? row : n); column++) {
          if (row !== column) put(cell++, row, column);
        }
      }
    }
  }

  // Columns store hundredths as integers; interval ends are distances from the median.
  decode(columns) {
    const list = (name, scale) => {
      const values = new Float64Array(this.cells).fill(NaN);
      const stored = spelled(columns[name]);
      if (stored) for (let i = 0; i < values.length; i++) if (stored[i] !== null) values[i] = stored[i] / scale;
      return values;
    };
    const distant = (name) => {
      const distance = list(name, 100);
      return this.median.map((median, cell) => median - distance[cell]);
    };
    later(this, 'median', () => list('median', 100));
    later(this, 'low', () => distant('below'));
    later(this, 'high', () => {
      const [below, skew] = [list('below', 100), list('skew', 100)];
      return this.median.map((median, cell) => median + below[cell] + (columns.skew ? skew[cell] : 0));
    });
    later(this, 'min', () => distant('min_below'));
    for (const name of ['home_penalty', 'line_spread']) later(this, name, () => list(name, 100));
    later(this, 'passCount', () => list('passes', 1));
    this.bits = spelled(columns.flags) || null;
    const reason = spelled(columns.reason);
    this.flagNames = columns.flag_names;
    this.reasons = (cell) => (reason && reason[cell] > 0 ? columns.reasons[reason[cell] - 1] : null);
    this.grade = (cell) => columns.grades[cell].trim() || null;
  }

  translate() {
    const list = (read) => Float64Array.from(this.source, (cell) => {
      const value = read(cell);
      return value === null || value === undefined ? NaN : value;
    });
    this.median = list((cell) => cell.median);
    this.low = list((cell) => cell.ci && cell.ci[0]);
    this.high = list((cell) => cell.ci && cell.ci[1]);
    for (const cell of this.slices) this.median[cell] = this.low[cell] = this.high[cell] = NaN;
    this.min = list((cell) => cell.min);
    this.home_penalty = list((cell) => cell.home_penalty);
    this.line_spread = list((cell) => cell.line_spread);
    this.passCount = list((cell) => cell.passes || NaN);
    this.flagNames = [];
    this.bits = this.source.map((cell) => {
      let bits = 0;
      for (const flag of cell.flags || []) {
        if (!this.flagNames.includes(flag)) this.flagNames.push(flag);
        bits |= 1 << this.flagNames.indexOf(flag);
      }
      return bits;
    });
    this.reasons = (cell) => this.source[cell].reason;
    this.grade = (cell) => this.source[cell].grade;
  }

  // The 99th percentile of single events, for pairs with a series of this kernel.
  tails(document_) {
    const values = new Float64Array(this.cells).fill(NaN);
    for (const series of document_.series || []) {
      const own = series.parameters.kernel === this.kernel && series.parameters.view === 'closed-loop';
      if (!own || series.placement.length !== 2) continue;
      const [from, to] = series.placement.map((cpu) => this.position.get(cpu));
      if (from === undefined || to === undefined) continue;
      const cell = this.at[from * this.n + to];
      if (cell >= 0 && series.percentiles['99'] !== null) values[cell] = series.percentiles['99'];
    }
    return values;
  }

  flags(cell) {
    const bits = this.bits ? this.bits[cell] : 0;
    return this.flagNames.filter((name, bit) => (bits >> bit) & 1);
  }
  doubts(cell) {
    return this.flags(cell).filter((name) => view.doubts.includes(name));
  }

  // Returns the layers with a value in at least one cell.
  layers() {
    const unit = this.unit;
    const all = [
      { id: 'median', name: this.measure, unit, of: (cell) => this.median[cell], fixed: this.fixed, log: true },
      { id: 'width', name: 'uncertainty (± of the 95 % interval)', unit: '%', log: true, fixed: [0.5, 50], column: 'below',
        of: (cell) => (100 * Math.max(this.high[cell] - this.median[cell], this.median[cell] - this.low[cell])) / this.median[cell] },
      { id: 'min', name: 'fastest batch', unit, column: 'min_below', of: (cell) => this.min[cell], fixed: this.fixed, log: true },
      { id: 'home', name: 'home penalty (worse ÷ better node)', unit: '×', column: 'home_penalty', of: (cell) => this.home_penalty[cell], fixed: [1, 3], log: true },
      { id: 'spread', name: 'line spread (p90 ÷ p10 over lines)', unit: '×', column: 'line_spread', of: (cell) => this.line_spread[cell], fixed: [1, 2], log: true },
      { id: 'p99', name: 'p99 of single events', unit, of: (cell) => this.p99[cell], fixed: this.fixed, log: true },
      { id: 'flags', name: 'doubts', unit: 'flags', of: (cell) => (Number.isNaN(this.median[cell]) ? NaN : this.doubts(cell).length), fixed: [0, 3] },
    ];
    const has = ({ column, of }) => {
      // Empty columns are not stored, so stored ones need not be decoded for this check.
      if (this.columns && column) return this.columns[column] !== undefined;
      for (let cell = 0; cell < this.cells; cell++) if (Number.isFinite(of(cell))) return true;
      return false;
    };
    return all.filter((layer) => layer.id === 'median' || has(layer));
  }

  // Returns rows in an order: lists of positions, one per CPU or core.
  rows(order, by, core) {
    const positions = order === 'id'
      ? this.cpus.map((cpu, place) => place).sort((a, b) => this.cpus[a] - this.cpus[b])
      : this.orders[order];
    if (by !== 'core') return positions.map((place) => [place]);
    const rows = new Map();
    for (const place of positions) {
      const of = core[this.cpus[place]] === undefined ? `cpu ${place}` : core[this.cpus[place]];
      if (!rows.has(of)) rows.set(of, []);
      rows.get(of).push(place);
    }
    return [...rows.values()];
  }
}

// The median of a list, as the screen shows it for the threads of two cores.
function middle(values) {
  if (values.length === 0) return NaN;
  values.sort((a, b) => a - b);
  const half = values.length >> 1;
  return values.length % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

const VALUE = 0, MISSING = 1, NOTHING = 2;

// The drawn values: a layer of a matrix, arranged in rows.
class Grid {
  constructor(matrix, layer, rows) {
    Object.assign(this, { matrix, layer, rows, size: rows.length });
    const size = this.size;
    this.values = new Float64Array(size * size).fill(NaN);
    // Values of single CPUs in rows of several: a different relation than threads of a core, so no median combines them.
    this.own = new Float64Array(size).fill(NaN);
    this.ownDoubt = new Uint8Array(size);
    this.kind = new Uint8Array(size * size);
    this.doubt = new Uint8Array(size * size);
    // Rows whose CPUs measured time slices with both roles.
    this.slices = new Uint8Array(size);
    this.missing = 0;
    const single = rows.every((row) => row.length === 1);
    const doubtful = new Uint8Array(matrix.cells);
    for (let cell = 0; cell < matrix.cells; cell++) if (matrix.bits && matrix.bits[cell] & matrix.doubtBits) doubtful[cell] = 1;
    this.each((r, c) => {
      if (single) {
        const cell = matrix.at[rows[r][0] * matrix.n + rows[c][0]];
        const marked = cell >= 0 && matrix.slices.has(cell);
        if (marked) this.slices[r] = 1;
        this.set(r, c, cell < 0 ? NaN : layer.of(cell), cell < 0 || marked ? 0 : 1, cell >= 0 && doubtful[cell]);
      } else {
        const { pairs, own } = this.partsOf(r, c);
        const known = (cells) => middle(cells.map(layer.of).filter(Number.isFinite));
        this.set(r, c, known(pairs), pairs.length, pairs.some((cell) => doubtful[cell]));
        if (own.some((cell) => matrix.slices.has(cell))) this.slices[r] = 1;
        if (own.length > 0) {
          this.own[r] = known(own);
          this.ownDoubt[r] = own.some((cell) => doubtful[cell]) ? 1 : 0;
        }
      }
    });
    // An unproven difference keeps its number but loses its colour.
    const shade = (cells, value) => (Number.isFinite(value) ? middle(cells.map(layer.shown)) : value);
    const at = (place) => this.partsOf(Math.floor(place / size), place % size);
    this.paint = layer.shown ? this.values.map((value, place) => shade(at(place).pairs, value)) : this.values;
    this.ownPaint = layer.shown ? this.own.map((value, row) => shade(this.partsOf(row, row).own, value)) : this.own;
  }

  // Calls `back` for every place; in a symmetric matrix, only up to the diagonal.
  each(back) {
    const { size, matrix: { symmetric } } = this;
    for (let r = 0; r < size; r++) for (let c = 0; c < (symmetric ? r + 1 : size); c++) back(r, c);
  }

  set(r, c, value, pairs, doubt) {
    const kind = Number.isFinite(value) ? VALUE : pairs > 0 ? MISSING : NOTHING;
    for (const place of this.matrix.symmetric && r !== c ? [r * this.size + c, c * this.size + r] : [r * this.size + c]) {
      this.values[place] = value;
      this.kind[place] = kind;
      if (kind === MISSING) this.missing++;
      this.doubt[place] = doubt ? 1 : 0;
    }
  }

  // Returns the distinct cells of a place.
  cellsOf(r, c) {
    const { matrix, rows } = this;
    const cells = [];
    for (const a of rows[r]) {
      for (const b of rows[c]) {
        const cell = matrix.at[a * matrix.n + b];
        // Duplicates occur only on the diagonal.
        if (cell >= 0 && (r !== c || !cells.includes(cell))) cells.push(cell);
      }
    }
    return cells;
  }

  // Splits the cells of a place by relation: pairs of two CPUs, and single CPUs of a row of several.
  partsOf(r, c) {
    const { matrix, rows } = this;
    const cells = this.cellsOf(r, c);
    if (r !== c || rows[r].length < 2) return { pairs: cells, own: [] };
    const alone = (cell) => matrix.pairs[2 * cell] === matrix.pairs[2 * cell + 1];
    return { pairs: cells.filter((cell) => !alone(cell)), own: cells.filter(alone) };
  }

  // Describes the diagonal unless it shows pairs of two CPUs.
  diagonal([own, pair]) {
    const halved = this.rows.some((row, index) => row.length > 1 && this.slices[index]);
    if (halved || this.own.some(Number.isFinite)) return `diagonal: ${own} (upper half), ${pair} (lower half)`;
    const alone = this.rows.some((row, index) => row.length === 1 && this.kind[index * this.size + index] !== NOTHING);
    return alone ? `diagonal: ${own}` : null;
  }

  // Returns all shown values, ascending; those of a symmetric matrix once.
  all() {
    const all = new Float64Array(this.values.length + this.own.length);
    let known = 0;
    const add = (value) => { if (Number.isFinite(value)) all[known++] = value; };
    this.each((r, c) => add(this.values[r * this.size + c]));
    this.own.forEach(add);
    return all.subarray(0, known).sort();
  }

  // Returns the lowest and the highest shown value.
  ends() {
    let [low, high] = [Infinity, -Infinity];
    for (const some of [this.values, this.own]) {
      for (const value of some) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    return [low, high];
  }

  // The range of the colours: fixed, or fitted to the values so that an outlier does not use it up.
  range(choice) {
    const { layer } = this;
    if (layer.fixed && choice === 'fixed') return layer.fixed;
    const known = this.all();
    if (layer.diverging && (choice === 'fixed' || known.length === 0)) return [-view.usual, view.usual];
    if (known.length === 0) return layer.fixed || [1, 10];
    if (layer.diverging) {
      // A minimum range makes small differences look small.
      const most = Math.max(view.usual, Math.abs(known[Math.floor(known.length * 0.01)]), Math.abs(known[Math.ceil(known.length * 0.99) - 1]));
      return [-most, most];
    }
    if (!layer.log) return [Math.min(0, known[0]), Math.max(1, known[known.length - 1])];
    const usual = known[known.length >> 1];
    // If a few lowest values are below half of all others, the scale starts at half of the others' minimum.
    const gap = known.findIndex((value, index) => index > 0 && value > 2 * known[index - 1]);
    const least = Math.max(usual / 50, gap > 0 && 4 * gap <= known.length && gap * gap <= 2 * known.length ? known[gap] / 2 : 0);
    const [low, high] = [known[0], known[known.length - 1]].map((end) => Math.min(Math.max(end, least), usual * 20));
    return [low, Math.max(high, 1.5 * low)];
  }
}
