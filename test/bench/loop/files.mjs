/** Bodies, files and archives that cost as much as those of their size can. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import tar from 'tar-stream';
import yazl from 'yazl';

const MIB = 1024 * 1024;
const MAX_ENTRIES = 50_000;
const JSON_TYPE = { 'content-type': 'application/json' };

const numbered = (count, write) => Array.from({ length: count }, (_, n) => write(n)).join(',');

const BODIES = {
  'nested lists': () => Buffer.alloc(16 * MIB - 1, '['),
  'nested objects': () => '{"a":'.repeat(2 * MIB),
  'many lists': () => `[${numbered(3_000_000, () => '[]')}]`,
  'many keys': () => `{${numbered(1_000_000, n => `"${n}":0`)}}`,
  'as many keys as it may have': () => `{${numbered(20_000, n => `"${n}":0`)}}`,
  escapes: () => `{"name":"${'\\u0041'.repeat(2_600_000)}"}`,
};

const SHOWN = {
  'brackets.md': '!['.repeat(195_000),
  'links-in-links.md': '[a](<b'.repeat(60_000),
  'quotes.md': '> '.repeat(190_000),
  'emphasis.md': '*a_ '.repeat(95_000),
  'addresses.md': 'http://a.b/'.repeat(35_000),
  'digits.csv': `a\n${'1'.repeat(390_000)}x\n`,
  'columns.csv': ','.repeat(390_000),
  'open-quotes.csv': '"a'.repeat(190_000),
};

const READ = {
  'line ends': '\n',
  'short lines': 'a\n',
  quotes: '"',
  'signs that nobody sees': '\u0001',
};

const SEARCHES = {
  'nearly found everywhere': `q=${'a'.repeat(900)}b`,
  'of any case, nearly found everywhere': `q=b${'a'.repeat(900)}`,
  'an expression that looks to the end each time': `regex=true&q=${encodeURIComponent('a.*b|a')}`,
  'a large expression': `regex=true&q=${encodeURIComponent('(a{0,30}){0,30}b')}`,
};

const AGENTS = {
  'nested lists': '['.repeat(30_000),
  'nested maps': '{a: '.repeat(15_000),
  'block lists': '- '.repeat(30_000),
  keys: Array.from({ length: 8000 }, (_, n) => `k${n}: 1`).join('\n'),
  anchors: `a: &a [${'*a,'.repeat(15_000)}]`,
  'an open text': `a: "${'\\x'.repeat(20_000)}`,
  questions: '? '.repeat(30_000),
};
/** Of many agents: as long as is read, and much longer. */
const MANY_AGENTS = {
  'many, as long as is read': [n => `k${n}: "\\x"`, 8_000],
  'many, much longer than is read': [n => `k${n}: 1`, 60_000],
};

/** Writes the files into the workspaces that hold them; returns the requests for them. */
export async function hostileFiles({ url, workspace, pages, newWorkspace }, dataDir) {
  const put = (name, content, id = workspace) => {
    const at = path.join(dataDir, 'workspaces', id, name);
    mkdirSync(path.dirname(at), { recursive: true });
    writeFileSync(at, content);
  };
  for (const [name, text] of Object.entries(SHOWN)) put(`costly/${name}`, text);
  for (const [name, unit] of Object.entries(READ))
    put(`costly/${name}.txt`, unit.repeat((16 * MIB) / unit.length));
  put('search/alike.txt', 'a'.repeat(4 * MIB));
  put('search/lines.txt', `${'a'.repeat(60_000)}\n`.repeat(20));
  put('many.zip', await zipOf(MAX_ENTRIES + 10_000));
  put('many.tar.gz', await tarOf(MAX_ENTRIES + 10_000));
  const agents = [];
  for (const [name, yaml] of Object.entries(AGENTS)) {
    const id = await newWorkspace();
    put('.agents/hostile.md', `---\n${yaml}\n---\nDo ${name}.\n`, id);
    agents.push([name, id]);
  }
  for (const [name, [line, characters]] of Object.entries(MANY_AGENTS)) {
    const id = await newWorkspace();
    const yaml = Array.from({ length: 10_000 }, (_, n) => line(n))
      .join('\n')
      .slice(0, characters);
    for (let n = 0; n < 60; n++) put(`.agents/${n}.md`, `---\n${yaml}\n---\nDo it.\n`, id);
    agents.push([name, id]);
  }
  return requests({ url, workspace, pages, agents });
}

function* requests({ url, workspace, pages, agents }) {
  const at = `/api/workspaces/${workspace}`;
  const ask = (method, route, name, target, body) => ({
    route: `${method} ${route}`,
    name,
    method,
    path: target,
    body,
    headers: body ? JSON_TYPE : {},
  });
  const get = (route, name, target) => ask('GET', route, name, target);
  for (const route of ['/api/auth/login', '/api/workspaces'])
    for (const [name, body] of Object.entries(BODIES)) yield ask('POST', route, name, route, body);
  for (const name of Object.keys(SHOWN))
    yield {
      ...get('/s/{token}', name, `${pages.folder}/path/costly/${name}`),
      headers: { host: `share.localhost:${new URL(url).port}` },
    };
  for (const name of Object.keys(READ))
    yield get(
      '{workspace}/files/content',
      name,
      `${at}/files/content?path=${encodeURIComponent(`costly/${name}.txt`)}`,
    );
  for (const name of ['many.zip', 'many.tar.gz'])
    yield ask('POST', '{workspace}/files/extract', name, `${at}/files/extract`, () =>
      JSON.stringify({ path: name, to: 'out' }),
    );
  for (const [name, query] of Object.entries(SEARCHES))
    yield get('{workspace}/search', name, `${at}/search?path=search&${query}`);
  for (const [name, id] of agents)
    yield get('{workspace}/agents', `described by ${name}`, `/api/workspaces/${id}/agents`);
}

async function zipOf(entries) {
  const zip = new yazl.ZipFile();
  for (let n = 0; n < entries; n++) zip.addEmptyDirectory(`e${n}`);
  zip.end();
  return buffer(zip.outputStream);
}

async function tarOf(entries) {
  const pack = tar.pack();
  for (let n = 0; n < entries; n++) pack.entry({ name: `e${n}` }, '');
  pack.finalize();
  return gzipSync(await buffer(pack), { level: 1 });
}
