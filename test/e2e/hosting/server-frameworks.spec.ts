/** Programs as people have them, unchanged: what they do without us, they do here. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../../browser/launch.js';
import type { Json } from '../../harness/client.js';
import { itWithRegistry, registry } from '../../harness/project-build.js';
import { TestServers } from '../../harness/servers.js';
import { type Person, TestService } from '../../harness/service.js';

const MINUTES = 600_000;

let service: TestService;
let ada: Person;
let servers: TestServers;
let browser: Browser;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person('Ada');
  servers = new TestServers(service, ada.client, await service.workspace(ada));
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

/** A folder of the workspace with these files, and its packages, installed from the registry. */
async function project(folder: string, dependencies: Json, files: Record<string, string>): Promise<void> {
  for (const [name, content] of Object.entries(files)) await servers.write(`${folder}/${name}`, content);
  const at = path.join(service.dataDir, 'workspaces', servers.workspace, folder);
  mkdirSync(at, { recursive: true });
  writeFileSync(path.join(at, 'package.json'), JSON.stringify({ private: true, dependencies }));
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', `--registry=${registry()}`];
  execFileSync('npm', ['install', ...flags], { cwd: at, stdio: ['ignore', 'ignore', 'inherit'] });
  execFileSync('chown', ['-R', `--reference=${path.dirname(at)}`, at]);
}

/** Playwright gives up after half a minute otherwise. */
async function newPage(): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(MINUTES);
  return page;
}

const urlOf = ({ slug }: Json) => `http://${slug}.servers.localhost:${new URL(service.url).port}`;

describe('a program', () => {
  itWithRegistry(
    'of Express takes uploads, and streams events',
    async () => {
      const source = `const express = require('express');
const app = express();
app.post('/up', express.raw({ type: '*/*', limit: '50mb' }), (request, response) => response.json({ bytes: request.body.length }));
app.get('/events', (request, response) => {
  response.set('Content-Type', 'text/event-stream').flushHeaders();
  response.write('data: one\\n\\n');
  const timer = setInterval(() => response.write('data: more\\n\\n'), 20);
  request.on('close', () => clearInterval(timer));
});
app.listen(process.env.PORT);`;
      await project('express', { express: '5' }, { 'server.js': source });
      const server = await servers.start('node server.js', { folder: 'express' });
      const body = Buffer.alloc(20 * 1024 * 1024, 'x');
      const headers = { 'content-type': 'application/octet-stream' };
      expect(JSON.parse((await servers.text(server, '/up', { method: 'POST', body, headers })).text)).toEqual(
        {
          bytes: body.length,
        },
      );
      const events = await servers.ask(server, '/events');
      let seen = '';
      for await (const chunk of events) {
        seen += chunk;
        if (seen.includes('more')) break;
      }
      expect(seen).toMatch(/^data: one\n\ndata: more/);
    },
    MINUTES,
  );

  itWithRegistry(
    'of ws is a chat for all who are there',
    async () => {
      const source = `const { WebSocketServer } = require('ws');
const server = new WebSocketServer({ port: process.env.PORT });
server.on('connection', socket => {
  socket.send('hello');
  socket.on('message', text => { for (const one of server.clients) one.send('all: ' + text); });
});`;
      await project('chat', { ws: '8' }, { 'server.js': source });
      const server = await servers.start('node server.js', { folder: 'chat' });
      const pages = [await newPage(), await newPage()];
      for (const page of pages) {
        await page.goto(urlOf(server));
        await page.evaluate(`new Promise(resolve => {
        window.heard = [];
        window.socket = new WebSocket(location.origin.replace('http', 'ws'));
        socket.onmessage = ({ data }) => { heard.push(data); resolve(); };
      })`);
      }
      await pages[0]?.evaluate("socket.send('x'.repeat(100_000))");
      for (const page of pages) {
        await page.waitForFunction('heard.length > 1');
        expect(await page.evaluate('heard[1]')).toBe(`all: ${'x'.repeat(100_000)}`);
        await page.close();
      }
    },
    MINUTES,
  );

  itWithRegistry(
    'of Vite changes a page that is open when its file is written',
    async () => {
      const script = (text: string) =>
        `document.querySelector('#app').textContent = '${text}'; import.meta.hot.accept();`;
      await project(
        'vite',
        { vite: '8' },
        {
          'index.html':
            '<!doctype html><title>Vite</title><p id="app"></p><script type="module" src="/main.js"></script>',
          'main.js': script('before'),
        },
      );
      const server = await servers.start('npx vite --port $PORT', { folder: 'vite' });
      const page = await newPage();
      const connected = page.waitForEvent('console', message => message.text().includes('[vite] connected'));
      await page.goto(urlOf(server));
      await connected;
      await page.getByText('before').waitFor();
      await page.evaluate('window.kept = true');
      await servers.write('vite/main.js', script('after'));
      await page.getByText('after').waitFor();
      expect(await page.evaluate('window.kept')).toBe(true);
      await page.close();
    },
    MINUTES,
  );

  itWithRegistry(
    'of Next renders its pages on the server',
    async () => {
      await project(
        'next',
        { next: '16', react: '19', 'react-dom': '19' },
        {
          'app/layout.js': 'export default ({ children }) => <html><body>{children}</body></html>;',
          'app/page.js': `import { headers } from 'next/headers';
export default async () => <main>{'rendered for ' + (await headers()).get('x-forwarded-host')}</main>;`,
        },
      );
      const command = 'npx next build && exec npx next start';
      const env = { NEXT_TELEMETRY_DISABLED: { value: '1' } };
      const server = await servers.start(command, { folder: 'next', memory_bytes: 1536 * 1024 * 1024, env });
      const page = await newPage();
      await page.goto(urlOf(server));
      expect(await page.textContent('main')).toBe(`rendered for ${new URL(urlOf(server)).host}`);
      await page.close();
    },
    MINUTES,
  );

  it('of Python serves a folder', async () => {
    await servers.write('files/a.txt', 'from Python');
    const server = await servers.start('python3 -m http.server $PORT', { folder: 'files' });
    expect(await servers.text(server, '/a.txt')).toMatchObject({ status: 200, text: 'from Python' });
  });

  it('of Flask takes files of forms', async () => {
    const source = `import os
from flask import Flask, request
app = Flask(__name__)
@app.post('/up')
def up():
    return {'bytes': len(request.files['file'].read())}
app.run(port=int(os.environ['PORT']))`;
    await servers.write('flask/app.py', source);
    const server = await servers.start('python3 app.py', { folder: 'flask' });
    const form = new FormData();
    form.set('file', new Blob([Buffer.alloc(5_000_000)]), 'large.bin');
    const request = new Request('http://here', { method: 'POST', body: form });
    const headers = { 'content-type': request.headers.get('content-type') };
    const body = Buffer.from(await request.arrayBuffer());
    const { text } = await servers.text(server, '/up', { method: 'POST', headers, body });
    expect(JSON.parse(text)).toEqual({ bytes: 5_000_000 });
  });
});
