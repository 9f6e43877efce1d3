// Tables that sort by a clicked column: ascending, descending, then in document order.

// Factors that convert displayed times and large numbers to one unit.
const FACTORS = { ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9, min: 6e10, k: 1e3, M: 1e6, G: 1e9 };

// Returns the number at the start of a cell; NaN if there is none.
function numberOf(text) {
  const found = text.match(/^[<>~×]?\s*([+-]?\d+(?:[ \u00a0]\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?)\s?([a-zA-Zµ]+)?/);
  if (!found) return NaN;
  return Number(found[1].replace(/[ \u00a0]/g, '')) * (FACTORS[found[2]] || 1);
}

function sortable(table) {
  const [head, body] = [table.tHead && table.tHead.rows[0], table.tBodies[0]];
  // Rows without a name belong to the row above them.
  const groups = [];
  for (const row of body.rows) {
    if (groups.length === 0 || row.cells[0].tagName === 'TH') groups.push([row]);
    else groups[groups.length - 1].push(row);
  }
  if (!head || groups.length < 2) return;
  [...head.cells].forEach((cell, column) => {
    if (cell.tagName !== 'TH') return;
    const text = ([row]) => (row.cells[column] ? row.cells[column].textContent.trim() : '');
    const knownTexts = groups.map(text).filter((words) => words !== '' && words !== '·');
    const isNumber = 2 * knownTexts.filter((words) => !Number.isNaN(numberOf(words))).length > knownTexts.length;
    const key = (group) => (isNumber ? numberOf(text(group)) : text(group));
    const isKnown = (value) => value !== '' && value !== '·' && !Number.isNaN(value);
    const button = element('button', { type: 'button', class: 'sort' });
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener('click', () => {
      const next = { none: 'ascending', ascending: 'descending', descending: 'none' }[cell.ariaSort || 'none'];
      for (const other of head.cells) other.removeAttribute('aria-sort');
      const sign = next === 'descending' ? -1 : 1;
      const compare = (a, b) => (isNumber ? a - b : a.localeCompare(b, 'en', { numeric: true }));
      const sorted = next === 'none' ? groups : [...groups].sort((one, other) => {
        const [a, b] = [key(one), key(other)];
        // Unknown values stay at the end.
        return isKnown(a) && isKnown(b) ? sign * compare(a, b) : isKnown(b) - isKnown(a);
      });
      if (next !== 'none') cell.setAttribute('aria-sort', next);
      body.append(...sorted.flat());
    });
  });
}
