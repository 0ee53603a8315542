/** Something is to be found out, or made of data. */
import { project, task } from '../task.mjs';

const ORDERS = Array.from({ length: 60 }, (_, n) => ({
  id: n + 1,
  customer: ['Ada', 'Grace', 'Linus'][n % 3],
  cents: (n * 137) % 5000,
}));
const sums = Object.entries(Object.groupBy(ORDERS, ({ customer }) => customer))
  .map(([name, all]) => `${name},${all.length},${all.reduce((sum, { cents }) => sum + cents, 0)}`)
  .sort();

/** 200 MB of a log in which one client never closes what it opens. */
const LOG = `node -e "
const fs = require('node:fs');
fs.mkdirSync('logs', { recursive: true });
const out = fs.openSync('logs/pool.log', 'w');
let text = '';
for (let n = 0, size = 0; size < 200e6; n++) {
  const client = ['web', 'mobile', 'export', 'batch'][n % 4];
  const at = new Date(1.76e12 + n * 40).toISOString();
  const line = at + ' INFO pool ' + (n % 997 === 2 ? 'conn.open client=export id=' + n + ' leak=possible' : 'conn.' + (n % 2 ? 'close' : 'open') + ' client=' + client + ' id=' + n + ' took ' + n % 90 + ' ms') + '\\n';
  size += line.length;
  text += line;
  if (text.length > 1e6) { fs.writeSync(out, text); text = ''; }
}
fs.writeSync(out, text);"`;

const MODULES = `node -e "
const fs = require('node:fs');
for (let n = 0; n < 60; n++) {
  const at = 'node_modules/lib' + n + '/dist/';
  fs.mkdirSync(at, { recursive: true });
  for (let m = 0; m < 10; m++) fs.writeFileSync(at + 'file' + m + '.js', 'module.exports = ' + n * m + ';');
}
for (let n = 0; n < 1500; n++) {
  const at = 'fixtures/' + ['orders', 'users', 'mails'][n % 3] + '/' + 2020 + n % 6 + '/';
  fs.mkdirSync(at, { recursive: true });
  fs.writeFileSync(at + 'case-' + n + '.json', JSON.stringify({ n }));
}"`;

const LOCK = `node -e "
const packages = Object.fromEntries(Array.from({ length: 900 }, (_, n) => ['node_modules/lib' + n, { version: '1.' + n + '.0', resolved: 'https://registry.example/lib' + n, integrity: 'sha512-' + 'x'.repeat(86), dependencies: { 'left-pad': '^1.3.0' } }]));
require('node:fs').writeFileSync('package-lock.json', JSON.stringify({ name: 'shop', packages }, null, 2));"`;

const CSV = `node -e "
const rows = Array.from({ length: 20000 }, (_, n) => [n, ['DE', 'FR', 'IT'][n % 3], n % 311, n % 7 === 0 ? '' : 'ok'].join(','));
require('node:fs').mkdirSync('data', { recursive: true });
require('node:fs').writeFileSync('data/visits.csv', 'id,country,seconds,state\\n' + rows.join('\\n') + '\\n');"`;

export default [
  task('leak-in-log', {
    ask: 'Connections leak. Find in logs/pool.log (200 MB) which client opens connections that are marked as possible leaks, and write its name and the number of such lines into leak.txt as "client count".',
    files: project(),
    prepare: `${LOG}; echo 'logs/' >> .gitignore`,
    async work({ run, search, write, say }) {
      say('The log is large, so I look at its form first.');
      await run('ls -la logs && head -3 logs/pool.log');
      await search('leak', { path: 'logs/pool.log', limit: 5 });
      say('They are marked leak=possible; I count them by client.');
      const counted = await run(
        "grep 'leak=possible' logs/pool.log | grep -o 'client=[a-z]*' | sort | uniq -c",
      );
      const [, count, client] = /(\d+) client=(\w+)/.exec(counted);
      await write('leak.txt', `${client} ${count}\n`);
      return `The client "${client}" leaks: ${count} of its lines are marked so. It is in leak.txt.`;
    },
    check: `test "$(cat leak.txt)" = "export $(grep -c leak=possible logs/pool.log)"`,
  }),

  task('csv-report', {
    ask: 'Write report.csv from data/orders.json: customer, number of orders and sum of cents, one line a customer, sorted by name, with a header.',
    files: project({ 'data/orders.json': `${JSON.stringify(ORDERS, null, 1)}\n` }),
    async work({ look, run }) {
      await look('data/orders.json', 1, 12);
      await run(`node -e "
const fs = require('node:fs');
const all = Object.groupBy(JSON.parse(fs.readFileSync('data/orders.json', 'utf8')), ({ customer }) => customer);
const rows = Object.entries(all).map(([name, orders]) => [name, orders.length, orders.reduce((sum, { cents }) => sum + cents, 0)].join(','));
fs.writeFileSync('report.csv', ['customer,orders,cents', ...rows.sort()].join('\\n') + '\\n');" && cat report.csv`);
      return 'report.csv has a line for each of the three customers.';
    },
    check: `test "$(cat report.csv)" = "customer,orders,cents
${sums.join('\n')}"`,
  }),

  task('find-in-bundle', {
    ask: 'Where in the sources is checkoutToken made? Write "path:line" into answer.txt.',
    files: project({
      'src/pay/token.mjs':
        "import { randomUUID } from 'node:crypto';\n\nexport function checkoutToken(user) {\n  return user.id + randomUUID();\n}\n",
      'src/pay/index.mjs':
        "import { checkoutToken } from './token.mjs';\n\nexport const pay = user => checkoutToken(user);\n",
    }),
    prepare: `mkdir -p dist && node -e "
require('node:fs').writeFileSync('dist/app.js', Array.from({ length: 400 }, (_, n) => 'function f' + n + '(e){return checkoutToken(e)+' + n + '}' + ';var a=1'.repeat(8)).join('\\n'));"`,
    async work({ search, write }) {
      const found = await search('checkoutToken');
      const [, at, line] = /(src\/pay\/token\.mjs):(\d+):.*export function/.exec(found) ?? [];
      const [, path, number] = at
        ? [null, at, line]
        : /(src\/pay\/token\.mjs):(\d+):.*export function/.exec(
            await search('function checkoutToken', { path: 'src' }),
          );
      await write('answer.txt', `${path}:${number}\n`);
      return `checkoutToken is made in ${path}, line ${number}.`;
    },
    check: 'test "$(cat answer.txt)" = "src/pay/token.mjs:3"',
  }),

  task('look-around', {
    ask: 'Get to know this repository and write into overview.md which folder below fixtures has the most files, as "folder count".',
    files: project({ 'src/index.mjs': 'export const shop = true;\n' }),
    prepare: `${MODULES}; rm -rf fixtures/orders/20203`,
    async work({ list, run, write, look }) {
      await Promise.all([list(), look('README.md'), look('package.json')]);
      const counted = await run(
        'for d in fixtures/*; do echo "$d $(find $d -type f | wc -l)"; done | sort -k2 -n -r',
      );
      await write('overview.md', `${counted.split('\n')[0].trim()}\n`);
      return `${counted.split('\n')[0].trim()} files: the most below fixtures.`;
    },
    check: 'grep -Eq "^fixtures/(users|mails) 500$" overview.md',
  }),

  task('dependency-version', {
    ask: 'Which version of lib417 is locked? Write it into answer.txt.',
    files: project(),
    prepare: LOCK,
    async work({ search, write }) {
      const found = await search('lib417', { context: 2 });
      const version = /"version": "(1\.417\.0)"/.exec(found)?.[1];
      await write('answer.txt', `${version}\n`);
      return `lib417 is locked at ${version}.`;
    },
    check: 'test "$(cat answer.txt)" = 1.417.0',
  }),

  task('read-lockfile', {
    ask: 'Does anything in package-lock.json depend on left-pad in another version than ^1.3.0? Write yes or no into answer.txt.',
    files: project(),
    prepare: LOCK,
    async work({ search, run, write }) {
      await search('left-pad');
      const found = await run(`grep left-pad package-lock.json | grep -vc '"\\^1.3.0"' || true`);
      await write('answer.txt', `${Number(/\d+/.exec(found)[0]) > 0 ? 'yes' : 'no'}\n`);
      return 'No: all 900 packages ask for ^1.3.0.';
    },
    check: 'test "$(cat answer.txt)" = no',
  }),

  task('count-csv', {
    ask: 'In data/visits.csv some rows have no state. Write missing.json with the number of such rows by country.',
    files: project(),
    prepare: CSV,
    async work({ look, run }) {
      await look('data/visits.csv');
      await run(`node -e "
const rows = require('node:fs').readFileSync('data/visits.csv', 'utf8').trim().split('\\n').slice(1).map(row => row.split(','));
const missing = {};
for (const [, country, , state] of rows) if (!state) missing[country] = (missing[country] ?? 0) + 1;
require('node:fs').writeFileSync('missing.json', JSON.stringify(missing));" && cat missing.json`);
      return 'missing.json has the rows without a state: some 950 for each country.';
    },
    check: `node -e "const m = JSON.parse(require('node:fs').readFileSync('missing.json', 'utf8')); process.exit(m.DE + m.FR + m.IT === 2858 ? 0 : 1)"`,
  }),

  task('find-by-name', {
    ask: 'Where is the configuration of the linter? Set its indent to 2.',
    files: project({ 'tools/config/lint.config.json': '{\n  "indent": 4,\n  "quotes": "single"\n}\n' }),
    prepare: `${MODULES}; for n in $(seq 60); do echo '{}' > node_modules/lib$n.lint.json; done`,
    async work({ find, look, edit }) {
      const found = await find('*lint*');
      const path = /(tools\/config\/lint\.config\.json)/.exec(found)[1];
      await look(path);
      await edit(path, '"indent": 4', '"indent": 2');
      return `It is ${path}; the indent is 2 now.`;
    },
    check: 'grep -q \'"indent": 2\' tools/config/lint.config.json',
  }),
];
