// The canvas: draws a grid, its axes and group bars. The cost does not depend on the number of cells, which are one
// image, rendered once for each grid and scaled.

const BAR = 5, GAP = 3;

class MapCanvas {
  constructor(frame) {
    this.frame = frame;
    this.canvas = document.createElement('canvas');
    this.overlay = document.createElement('canvas');
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.setAttribute('aria-hidden', 'true');
      frame.append(canvas);
    }
    this.overlay.className = 'overlay';
    this.image = document.createElement('canvas');
    this.window = { x: 0, y: 0, size: 1 };
  }

  show(grid, scale, bars, names) {
    const fresh = !this.grid || this.grid.size !== grid.size;
    Object.assign(this, { grid, scale, bars, names });
    if (fresh) this.window = { x: 0, y: 0, size: grid.size };
    this.render();
    this.layout();
  }

  // Renders the cells as an image with one pixel per cell.
  render() {
    const { grid, scale, image } = this;
    const size = Math.max(1, grid.size);
    image.width = image.height = size;
    const context = image.getContext('2d');
    const pixels = context.createImageData(size, size);
    const words = new Uint32Array(pixels.data.buffer);
    // Bytes in memory are red, green, blue, alpha; this assumes a little-endian machine, as all browsers run on.
    const table = scale.table.map(([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0);
    const paper = document.createElement('canvas').getContext('2d');
    paper.fillStyle = ink('card');
    const ground = parseInt(paper.fillStyle.slice(1), 16);
    const blank = ((255 << 24) | ((ground & 255) << 16) | (ground & 0xff00) | (ground >> 16)) >>> 0;
    grid.each((r, c) => {
      const [place, mirrored] = [r * size + c, c * size + r];
      const kind = grid.kind[place];
      words[place] = kind === VALUE ? table[Math.round(255 * scale.position(grid.paint[place]))] : kind === NOTHING ? blank : 0;
      if (grid.matrix.symmetric) words[mirrored] = words[place];
    });
    context.putImageData(pixels, 0, 0);
  }

  // Computes sizes from the available width.
  layout() {
    const width = this.frame.clientWidth;
    if (width === 0) return;
    const context = this.canvas.getContext('2d');
    context.font = this.font(11);
    const widest = Math.max(10, ...this.names.map((name) => context.measureText(name).width));
    this.left = Math.ceil(Math.min(widest, 90)) + 8 + this.bars.length * (BAR + GAP);
    this.top = 18 + this.bars.length * (BAR + GAP);
    const room = this.frame.classList.contains('small') ? 520 : 760;
    this.side = Math.max(40, Math.floor(Math.min(width - this.left - 1, room)));
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.round((this.left + this.side + 1) * ratio);
      canvas.height = Math.round((this.top + this.side + 1) * ratio);
      canvas.style.width = `${this.left + this.side + 1}px`;
      canvas.style.height = `${this.top + this.side + 1}px`;
      canvas.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.draw();
  }

  font(size) {
    return `${size}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`;
  }
  get cell() {
    return this.side / this.window.size;
  }

  draw() {
    const { canvas, left, top, side, grid, window: { x, y, size } } = this;
    const context = canvas.getContext('2d');
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (grid.missing > 0) {
      context.fillStyle = this.hatch(context);
      context.fillRect(left, top, side, side);
    }
    // Cells smaller than a pixel are averaged; larger squares keep hard edges.
    context.imageSmoothingEnabled = this.cell * (window.devicePixelRatio || 1) < 1;
    context.drawImage(this.image, x, y, size, size, left, top, side, side);
    this.halves(context);
    this.separators(context);
    this.numbers(context);
    this.axes(context);
    this.cross(null);
  }

  // Draws the upper halves of the diagonal for rows with two values of their own.
  halves(context) {
    const { grid, scale, left, top, side, cell, window: win } = this;
    context.save();
    context.beginPath();
    context.rect(left, top, side, side);
    context.clip();
    grid.own.forEach((value, row) => {
      if (!Number.isFinite(value)) return;
      context.fillStyle = css(scale.color(grid.ownPaint[row]));
      context.fillRect(left + (row - win.x) * cell, top + (row - win.y) * cell, cell, cell / 2);
    });
    grid.slices.forEach((marked, row) => {
      if (!marked) return;
      context.fillStyle = ink('card');
      const high = grid.rows[row].length > 1 ? cell / 2 : cell;
      context.fillRect(left + (row - win.x) * cell, top + (row - win.y) * cell, cell, high);
    });
    context.restore();
  }

  hatch(context) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const of = tile.getContext('2d');
    of.fillStyle = ink('card');
    of.fillRect(0, 0, 6, 6);
    of.strokeStyle = ink('faint');
    of.beginPath();
    for (const offset of [-6, 0, 6]) {
      of.moveTo(offset, 6);
      of.lineTo(offset + 6, 0);
    }
    of.stroke();
    return context.createPattern(tile, 'repeat');
  }

  // Calls `back` for every visible group of a level, with begin and end in pixels from the corner of the map.
  groups(level, along, back) {
    const { window: win, side, cell } = this;
    const origin = along === 'x' ? win.x : win.y;
    level.forEach(([begin, end], index) => {
      const from = Math.max(0, (begin - origin) * cell);
      const to = Math.min(side, (end - origin) * cell);
      if (to > from) back(from, to, index);
    });
  }

  separators(context) {
    const { left, top, side, bars } = this;
    context.strokeStyle = ink('card');
    bars.forEach((level, depth) => {
      if (depth > 0 && (this.cell * this.grid.size) / level.length < 40) return;
      context.lineWidth = depth === 0 ? 2 : 1;
      context.beginPath();
      this.groups(level, 'x', (from) => {
        if (from > 0) { context.moveTo(left + from, top); context.lineTo(left + from, top + side); }
      });
      this.groups(level, 'y', (from) => {
        if (from > 0) { context.moveTo(left, top + from); context.lineTo(left + side, top + from); }
      });
      context.stroke();
    });
  }

  numbers(context) {
    const { cell, grid, scale, left, top, side, window: win } = this;
    if (cell < 14) return;
    const size = Math.min(15, Math.max(9, cell * 0.36));
    context.font = this.font(size);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const end = (from) => Math.min(grid.size, Math.ceil(from + win.size));
    for (let r = Math.floor(win.y); r < end(win.y); r++) {
      for (let c = Math.floor(win.x); c < end(win.x); c++) {
        const place = r * grid.size + c;
        const [px, py] = [left + (c - win.x + 0.5) * cell, top + (r - win.y + 0.5) * cell];
        if (px < left || py < top || px > left + side || py > top + side) continue;
        const write = (value, paint, doubt, y, high) => {
          const color = scale.color(paint);
          const text = this.number(value) + (doubt ? '!' : '');
          context.font = this.font(Math.min(size, high * 0.75));
          if (context.measureText(text).width > cell - 2) return;
          context.fillStyle = wantsDark(color) ? '#000' : '#fff';
          context.fillText(text, px, y);
        };
        const marked = r === c && grid.slices[r];
        const halved = r === c && (Number.isFinite(grid.own[r]) || (marked && grid.rows[r].length > 1));
        if (marked) {
          context.font = this.font(Math.min(size, cell * 0.38));
          context.fillStyle = ink('faint');
          context.fillText('s', px, halved ? py - cell / 4 : py);
        } else if (halved) write(grid.own[r], grid.ownPaint[r], grid.ownDoubt[r], py - cell / 4, cell / 2);
        if (grid.kind[place] !== VALUE) continue;
        const [y, high] = halved ? [py + cell / 4, cell / 2] : [py, cell];
        write(grid.values[place], grid.paint[place], grid.doubt[place], y, high);
      }
    }
  }

  number(value) {
    if (this.grid.layer.diverging) return signed(value, Math.abs(value) < 9.95 ? 1 : 0);
    return this.grid.layer.unit === '×' ? value.toFixed(2) : this.grid.layer.id === 'flags' ? String(value) : short(value);
  }

  axes(context) {
    const { left, top, side, bars, names, cell, window: win } = this;
    const away = bars.length * (BAR + GAP) + 5;
    context.font = this.font(11);
    context.textBaseline = 'middle';
    const starts = new Set(bars.flatMap((level) => level.map(([begin]) => begin)));
    const every = cell >= 13;
    const named = (row) => every || (bars.length > 0 ? starts.has(row) : row % Math.ceil(16 / cell) === 0);
    context.fillStyle = ink('faint');
    let [freeX, freeY] = [-Infinity, -Infinity];
    const seen = (origin) => [Math.max(0, Math.ceil(origin - 0.5)), Math.min(names.length, Math.floor(origin + win.size + 0.5))];
    const [rows, columns] = [seen(win.y), seen(win.x)];
    for (let row = rows[0]; row < rows[1]; row++) {
      const at = top + (row - win.y + (every ? 0.5 : 0)) * cell + (every ? 0 : 5);
      if (!named(row) || at < freeY || at > top + side) continue;
      context.textAlign = 'right';
      context.fillText(names[row], left - away, at);
      freeY = at + 13;
    }
    for (let column = columns[0]; column < columns[1]; column++) {
      if (!named(column)) continue;
      const width = context.measureText(names[column]).width;
      const centred = every && width <= cell * 1.4;
      const at = left + (column - win.x + (centred ? 0.5 : 0)) * cell - (centred ? width / 2 : 0);
      if (at < freeX || at + width > left + side + 1) continue;
      context.textAlign = 'left';
      context.fillText(names[column], at, top - away - 4);
      freeX = at + width + 5;
    }
    bars.forEach((level, depth) => {
      const off = (bars.length - depth) * (BAR + GAP);
      const draw = (from, to, index, x, y, along) => {
        context.fillStyle = index % 2 ? ink('line') : ink('faint');
        const length = Math.max(0.5, to - from - 1);
        if (along === 'y') context.fillRect(x, y + from, BAR, length);
        else context.fillRect(x + from, y, length, BAR);
      };
      this.groups(level, 'y', (from, to, index) => draw(from, to, index, left - off, top, 'y'));
      this.groups(level, 'x', (from, to, index) => draw(from, to, index, left, top - off, 'x'));
    });
    context.strokeStyle = ink('line');
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, top - 0.5, side + 1, side + 1);
  }

  // Draws the crosshair over a place, or removes it for null. Pointer movement redraws nothing else.
  cross(place) {
    const { overlay, left, top, side, cell, window: win } = this;
    const context = overlay.getContext('2d');
    context.clearRect(0, 0, left + side + 2, top + side + 2);
    if (!place) return;
    const [x, y] = [left + (place.c - win.x) * cell, top + (place.r - win.y) * cell];
    if (x + cell < left || y + cell < top || x > left + side || y > top + side) return;
    context.save();
    context.beginPath();
    context.rect(left - 60, top - 60, side + 61, side + 61);
    context.clip();
    context.fillStyle = ink('cross');
    context.fillRect(left, y, x - left, cell);
    context.fillRect(x + cell, y, left + side - x - cell, cell);
    context.fillRect(x, top, cell, y - top);
    context.fillRect(x, y + cell, cell, top + side - y - cell);
    context.lineWidth = 2;
    context.strokeStyle = '#fff';
    context.strokeRect(x - 1, y - 1, Math.max(cell, 3) + 2, Math.max(cell, 3) + 2);
    context.strokeStyle = '#000';
    context.lineWidth = 1;
    context.strokeRect(x - 2.5, y - 2.5, Math.max(cell, 3) + 5, Math.max(cell, 3) + 5);
    context.restore();
  }

  // Returns the place at a point of the canvas.
  placeAt(px, py) {
    const { left, top, side, cell, grid, window: win } = this;
    if (px < left || py < top || px >= left + side || py >= top + side) return null;
    const [c, r] = [Math.floor(win.x + (px - left) / cell), Math.floor(win.y + (py - top) / cell)];
    return r < grid.size && c < grid.size ? { r, c } : null;
  }

  zoom(factor, center) {
    const { grid, window: win } = this;
    const size = Math.min(grid.size, Math.max(Math.min(4, grid.size), win.size / factor));
    const middle = center || { r: win.y + win.size / 2, c: win.x + win.size / 2 };
    const keep = (origin, at) => Math.min(grid.size - size, Math.max(0, at - ((at - origin) * size) / win.size));
    this.window = { x: keep(win.x, middle.c + 0.5), y: keep(win.y, middle.r + 0.5), size };
    this.draw();
  }

  pan(dx, dy) {
    const { grid, window: win } = this;
    const keep = (origin) => Math.min(grid.size - win.size, Math.max(0, origin));
    this.window = { ...win, x: keep(win.x - dx / this.cell), y: keep(win.y - dy / this.cell) };
    this.draw();
  }

  // Moves the window so that a place is visible.
  reveal({ r, c }) {
    const { window: win } = this;
    const into = (origin, at) => (at < origin ? at : at + 1 > origin + win.size ? at + 1 - win.size : origin);
    const [x, y] = [into(win.x, c), into(win.y, r)];
    if (x !== win.x || y !== win.y) {
      this.window = { ...win, x, y };
      this.draw();
    }
  }
}
