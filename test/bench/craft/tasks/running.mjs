/** Something is to be run. */
import { lines, project, task } from '../task.mjs';

const server = `import http from 'node:http';

http.createServer((request, response) => {
  if (request.url === '/slow') return;
  response.end('fine');
}).listen(4321, () => console.log('listening on 4321'));
`;

/** Tests that say much. */
const chatty = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { price } from '../src/price.mjs';

for (let n = 0; n < 400; n++)
  test('the price of item ' + n + ' in the catalogue of the year', () => {
    console.log('checked item ' + n + ' against the list of prices, which came from the import of last night');
    assert.equal(price(n), n * 2);
  });
`;

const lint = `import { readFileSync, readdirSync } from 'node:fs';
let faults = 0;
for (const name of readdirSync('src')) {
  const text = readFileSync('src/' + name, 'utf8').split('\\n');
  text.forEach((line, at) => {
    if (/\\bvar\\b/.test(line)) console.log('src/' + name + ':' + (at + 1) + ' var is not allowed'), faults++;
  });
}
process.exit(faults ? 1 : 0);
`;

export default [
  task('server-that-hangs', {
    ask: 'GET /slow of src/server.mjs never answers. It should answer 503. Try it with the server running, and leave nothing running.',
    files: project({ 'src/server.mjs': server }),
    async work({ look, run, start, edit, end, output, way }) {
      await look('src/server.mjs');
      // In the foreground, which ends with its time.
      await run('node src/server.mjs', 3);
      await edit(
        'src/server.mjs',
        "if (request.url === '/slow') return;",
        "if (request.url === '/slow') return void response.writeHead(503).end();",
      );
      const started = await start('node src/server.mjs');
      const id = way === 'tools' ? /\bc\d+\b/.exec(started)[0] : '';
      await run(
        "sleep 0.5; curl -s -m 2 -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:4321/slow; curl -s http://127.0.0.1:4321/",
      );
      await Promise.all([output(id), end(id)]);
      return '/slow answers 503 now (src/server.mjs); tried with the server running, which is ended.';
    },
    check: `(timeout 4 node src/server.mjs & sleep 1; test "$(curl -s -m 2 -o /dev/null -w '%{http_code}' http://127.0.0.1:4321/slow)" = 503)`,
  }),

  task('chatty-tests', {
    ask: 'The tests fail. Mend src/price.mjs.',
    files: project({
      'src/price.mjs': 'export const price = n => (n === 321 ? 0 : n * 2);\n',
      'test/price.test.mjs': chatty,
    }),
    async work({ run, look, edit }) {
      await run('npm test');
      await look('src/price.mjs');
      await edit('src/price.mjs', '(n === 321 ? 0 : n * 2)', 'n * 2');
      await run("npm test 2>&1 | grep -E '^. (pass|fail)|^# (pass|fail)'");
      return 'src/price.mjs had an exception for item 321; without it all 400 tests pass.';
    },
    check: 'node --test > /dev/null',
  }),

  task('lint-faults', {
    ask: 'node lint.mjs finds faults. Mend them.',
    files: project({
      'lint.mjs': lint,
      'src/a.mjs': 'var a = 1;\nexport { a };\n',
      'src/b.mjs': `${lines(120, n => `// ${n}`)}\nexport function b() {\n  var list = [];\n  return list;\n}\n`,
      'src/c.mjs': 'export const c = () => {\n  for (var n = 0; n < 3; n++) ;\n};\n',
    }),
    async work({ run, look, edits }) {
      await run('node lint.mjs');
      await Promise.all([look('src/a.mjs'), look('src/b.mjs', 118, 126), look('src/c.mjs')]);
      await edits([
        ['src/a.mjs', 'var a = 1;', 'const a = 1;'],
        ['src/b.mjs', 'var list = [];', 'const list = [];'],
        ['src/c.mjs', 'for (var n', 'for (let n'],
      ]);
      await run('node lint.mjs && echo clean');
      return 'Three vars are const or let now (src/a.mjs, src/b.mjs, src/c.mjs); the linter finds nothing.';
    },
    check: 'node lint.mjs',
  }),

  task('asks-for-input', {
    ask: 'Run ./setup.sh; it makes config.ini. Use the name "shop".',
    files: project({
      'setup.sh':
        '#!/bin/bash\nname=$1\nif [ -z "$name" ]; then read -p "Name: " name || { echo "no answer"; exit 1; }; fi\necho "name=$name" > config.ini\necho done\n',
    }),
    async work({ run, look }) {
      await run('bash setup.sh');
      await look('setup.sh');
      await run('bash setup.sh shop && cat config.ini');
      return 'config.ini is there. The script asks for the name only where none is given, so I passed it along.';
    },
    check: 'grep -qx name=shop config.ini',
  }),

  task('long-build', {
    ask: 'Run build.mjs. It takes a while; write the checksum that it prints at its end into build.sum.',
    files: project({
      'build.mjs': `for (let n = 0; n < 4000; n++) console.log('[build] step ' + n + ': compiled src/module' + n + '.mjs in ' + (n % 17) + ' ms, nothing to report');\nawait new Promise(done => setTimeout(done, 1500));\nconsole.log('checksum 4f1c9a');\n`,
    }),
    async work({ run, write }) {
      const built = await run('node build.mjs', 60);
      await write('build.sum', `${/checksum (\w+)/.exec(built)[1]}\n`);
      return 'build.sum has the checksum of the build: 4f1c9a.';
    },
    check: 'grep -qx 4f1c9a build.sum',
  }),

  task('types-from-errors', {
    ask: 'src/main.mjs fails one step after the other. Make it print "ok".',
    files: project({
      'src/main.mjs':
        "import { load } from './load.mjs';\nimport { show } from './show.mjs';\n\nshow(load('a'));\n",
      'src/load.mjs': 'export const laod = name => ({ name });\n',
      'src/show.mjs':
        "export function show({ nmae }) {\n  if (!nmae) throw new Error('no name');\n  console.log('ok');\n}\n",
    }),
    async work({ run, look, edit, edits }) {
      await run('node src/main.mjs 2>&1 | head -20');
      await Promise.all([look('src/main.mjs'), look('src/load.mjs'), look('src/show.mjs')]);
      await edit('src/load.mjs', 'laod', 'load');
      await run('node src/main.mjs 2>&1 | grep -A6 Error');
      await edits([
        ['src/show.mjs', 'show({ nmae })', 'show({ name })'],
        ['src/show.mjs', 'if (!nmae)', 'if (!name)'],
      ]);
      await run('node src/main.mjs');
      return 'Two words were misspelt: load in src/load.mjs, name in src/show.mjs. It prints "ok".';
    },
    check: 'test "$(node src/main.mjs)" = ok',
  }),
];
