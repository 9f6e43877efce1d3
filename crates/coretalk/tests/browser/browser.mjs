// A headless Chromium over the DevTools protocol, through pipes: no port, no package.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class Browser {
  static async start(program) {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), 'coretalk-browser-'));
    const words = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
      '--disable-background-networking', '--remote-debugging-pipe', `--user-data-dir=${browser.profile}`, 'about:blank'];
    browser.process = spawn(program, words, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    browser.waiting = new Map();
    browser.listeners = [];
    browser.number = 0;
    let rest = '';
    browser.process.stdio[4].setEncoding('utf8').on('data', (text) => {
      const messages = (rest + text).split('\0');
      rest = messages.pop();
      messages.forEach((message) => browser.take(JSON.parse(message)));
    });
    browser.version = (await browser.send('Browser.getVersion')).product;
    return browser;
  }

  send(method, params = {}, sessionId) {
    const id = ++this.number;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, method }));
  }

  take(message) {
    const waiting = this.waiting.get(message.id);
    if (waiting) {
      this.waiting.delete(message.id);
      if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
      else waiting.resolve(message.result);
    } else {
      this.listeners.forEach((listener) => listener(message));
    }
  }

  // A new page that shows a file, with its complaints; `script` runs before anything of the page.
  async open(url, { width = 1300, height = 1600, dark = false, downloads, script } = {}) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.listeners.push((message) => message.sessionId === sessionId && page.hear(message));
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.send(`${domain}.enable`);
    await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
    if (script) await page.send('Page.addScriptToEvaluateOnNewDocument', { source: script });
    if (downloads) await this.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads, eventsEnabled: true });
    const loaded = new Promise((resolve) => { page.loaded = resolve; });
    await page.send('Page.navigate', { url });
    await loaded;
    return page;
  }

  async stop() {
    await this.send('Browser.close').catch(() => {});
    await new Promise((resolve) => (this.process.exitCode === null ? this.process.on('exit', resolve) : resolve()));
    rmSync(this.profile, { recursive: true, force: true });
  }
}

class Page {
  constructor(browser, session, target) {
    Object.assign(this, { browser, session, target, complaints: [], requests: [] });
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  hear({ method, params }) {
    if (method === 'Page.loadEventFired') this.loaded();
    if (method === 'Runtime.exceptionThrown') this.complaints.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
    if (method === 'Log.entryAdded' && params.entry.level !== 'info') this.complaints.push(params.entry.text);
    if (method === 'Runtime.consoleAPICalled') this.complaints.push(params.args.map((arg) => arg.value).join(' '));
    if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
  }

  // The value of an expression in the page; promises are waited for. Runs beside the policy of the page, as DevTools do.
  async run(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
    return result.value;
  }

  async key(key, modifiers = 0) {
    const text = key.length === 1 ? key : key === 'Enter' ? '\r' : undefined;
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, text, modifiers });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, modifiers });
  }

  mouse(type, x, y, more = {}) {
    return this.send('Input.dispatchMouseEvent', { type, x, y, ...more });
  }

  async click(x, y) {
    await this.mouse('mouseMoved', x, y);
    await this.mouse('mousePressed', x, y, { button: 'left', buttons: 1, clickCount: 1 });
    await this.mouse('mouseReleased', x, y, { button: 'left', clickCount: 1 });
  }

  async screenshot() {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true });
    return Buffer.from(data, 'base64');
  }

  async pdf() {
    const { data } = await this.send('Page.printToPDF', { printBackground: true });
    return Buffer.from(data, 'base64');
  }

  close() {
    return this.browser.send('Target.closeTarget', { targetId: this.target });
  }
}
