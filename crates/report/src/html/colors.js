// Colours: the same perceptually uniform palette as in the terminal, and a diverging one for differences.

function ramp(stops) {
  const table = [];
  for (let step = 0; step < 256; step++) {
    const place = (step / 255) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2);
    const share = place - below;
    table.push(stops[below].map((from, channel) => Math.round(from + share * (stops[below + 1][channel] - from))));
  }
  return table;
}
const SEQUENTIAL = ramp(view.palette);
const DIVERGING = ramp(view.diverging);

class Scale {
  constructor(layer, range) {
    this.layer = layer;
    [this.low, this.high] = range;
    this.table = layer.diverging ? DIVERGING : SEQUENTIAL;
    this.span = layer.log ? Math.log(this.high / this.low) : this.high - this.low;
  }
  position(value) {
    const place = (this.layer.log ? Math.log(value / this.low) : value - this.low) / this.span;
    return Number.isFinite(place) ? Math.min(1, Math.max(0, place)) : 0;
  }
  color(value) {
    return this.table[Math.round(255 * this.position(value))];
  }
  // Round values along the scale.
  ticks() {
    if (!this.layer.log) {
      const rough = (this.high - this.low) / 5;
      const decade = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((by) => by * decade).find((by) => by >= rough);
      const ticks = [];
      for (let value = Math.ceil(this.low / step) * step; value <= this.high * 1.0001; value += step) ticks.push(value);
      return ticks;
    }
    const within = (steps) => {
      const ticks = [];
      for (let decade = Math.floor(Math.log10(this.low)); decade <= Math.ceil(Math.log10(this.high)); decade++) {
        for (const step of steps) ticks.push(step * 10 ** decade);
      }
      return ticks.filter((value) => value >= this.low * 0.9999 && value <= this.high * 1.0001);
    };
    const fine = within([1, 2, 5]);
    return fine.length < 3 ? within([1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]) : fine.length > 10 ? within([1]) : fine;
  }
}

// Whether black is easier to read on a colour than white (WCAG 2.1).
function wantsDark([red, green, blue]) {
  const light = ([channel, weight]) => weight * (channel / 255) ** 2.2;
  return [[red, 0.2126], [green, 0.7152], [blue, 0.0722]].map(light).reduce((a, b) => a + b) > 0.18;
}
const css = ([red, green, blue]) => `rgb(${red} ${green} ${blue})`;

// A colour of the style sheet in the active theme, on screen or paper.
function ink(name) {
  return getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();
}
