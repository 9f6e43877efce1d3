// What a page of 512 CPUs costs. `node bench.mjs CORETALK CHROMIUM`; names the machine it ran on.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser } from './browser.mjs';

const [coretalk, chromium] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'coretalk-bench-'));
const tool = (...words) => {
  const began = performance.now();
  const done = spawnSync(coretalk, [...words, '--store', join(folder, 'runs')], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`coretalk ${words.join(' ')}: ${done.stderr}`);
  return performance.now() - began;
};
const kilobytes = (file) => (statSync(join(folder, file)).size / 1e3).toFixed(0);
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

// The end of the first frame that has a map, which can come before the rest of the page is parsed.
const FIRST_MAP = `globalThis.firstMap = new Promise((done) => {
  const look = () => {
    const canvas = document.querySelector('.heat-map canvas');
    if (canvas && canvas.width > 300) setTimeout(() => done(performance.now()), 0);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})`;

tool('--machine', 'sim:huge-1024', '--cpus', '0-511', '--seed', '1', '--name', 'large', '-q');
tool('--machine', 'sim:noisy-vm', '--cpus', '0,1', '--seed', '1', '--name', 'pair', '-q');
const whole = tool('report', 'large', '-o', join(folder, 'large.html'));
const shown = tool('runs', 'show', 'large', '-o', join(folder, 'large.txt'));
tool('report', 'pair', '-o', join(folder, 'pair.html'));

const browser = await Browser.start(chromium);
try {
  console.log(`${browser.version} on ${cpus()[0].model}, ${cpus().length} CPUs`);
  console.log(`512 CPUs: ${kilobytes('large.html')} kB, report in ${whole.toFixed(0)} ms (reading and analysis, as of runs show: ${shown.toFixed(0)} ms)`);
  console.log(`2 CPUs: ${kilobytes('pair.html')} kB`);
  const paints = [];
  const hovers = [];
  for (let round = 0; round < 5; round++) {
    const page = await browser.open(`file://${join(folder, 'large.html')}`, { script: FIRST_MAP });
    paints.push(await page.run('firstMap'));
    // A move over the map, from the event to the next frame's work, for 200 places.
    hovers.push(...await page.run(`(() => {
      const viewer = groups[0].viewers[0];
      const box = viewer.picture.canvas.getBoundingClientRect();
      const times = [];
      for (let move = 0; move < 200; move++) {
        const [x, y] = [0.1 + 0.8 * ((move * 37) % 200) / 200, 0.1 + 0.8 * ((move * 61) % 200) / 200];
        const began = performance.now();
        viewer.frame.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x * box.width, clientY: box.top + y * box.height, bubbles: true }));
        viewer.frame.getBoundingClientRect();
        times.push(performance.now() - began);
      }
      return times;
    })()`));
    await page.close();
  }
  console.log(`first paint with the map: ${median(paints).toFixed(0)} ms (median of ${paints.length}, from the start of navigation)`);
  const worst = Math.max(...hovers);
  console.log(`a move of the pointer: ${median(hovers).toFixed(2)} ms, at most ${worst.toFixed(2)} ms (${hovers.length} moves)`);
} finally {
  await browser.stop();
  rmSync(folder, { recursive: true, force: true });
}
