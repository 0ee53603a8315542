/** Something is broken. */
import { lines, project, task } from '../task.mjs';

const cart = `export function total(items) {
  let sum = 0;
  for (let index = 0; index <= items.length; index++) {
    sum += items[index].price * items[index].count;
  }
  return sum;
}

export function count(items) {
  return items.reduce((all, item) => all + item.count, 0);
}
`;
const cartTest = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { count, total } from '../src/cart.mjs';

const items = [{ price: 3, count: 2 }, { price: 5, count: 1 }];
test('the total is the sum of all prices', () => assert.equal(total(items), 11));
test('the count is that of all items', () => assert.equal(count(items), 3));
`;

const format = `export function money(cents) {
\tconst euros = (cents / 100).toFixed(2);
\treturn \`\${euros} EUR\`;
}

export function date(value) {
\treturn value.toISOString().slice(0, 10);
}
`;

/** Modules that all do the same with their own words. */
const MODULES = ['orders', 'users', 'invoices', 'stock'];
const module = name => `import { read } from './store.mjs';

export async function find${name}(id) {
  const row = await read('${name}', id);
  return row.value.trim();
}

export async function list${name}() {
  const rows = await read('${name}', '*');
  return rows.map(row => row.value);
}
`;
const store = `const rows = new Map([['orders/1', { value: ' one ' }]]);

export async function read(table, id) {
  return id === '*' ? [...rows.values()] : rows.get(\`\${table}/\${id}\`);
}
`;
const modulesTest = `import assert from 'node:assert/strict';
import { test } from 'node:test';
${MODULES.map(name => `import { find${name} } from '../src/${name}.mjs';`).join('\n')}

test('what is not there is null', async () => {
  for (const find of [${MODULES.map(name => `find${name}`).join(', ')}]) assert.equal(await find('none'), null);
});
`;

export default [
  task('failing-test', {
    ask: 'A test of this project fails. Find out why and fix the code, not the test.',
    files: project({ 'src/cart.mjs': cart, 'test/cart.test.mjs': cartTest }),
    async work({ run, look, edit }) {
      await run('npm test 2>&1 | tail -40');
      await Promise.all([look('src/cart.mjs'), look('test/cart.test.mjs')]);
      await edit('src/cart.mjs', 'index <= items.length', 'index < items.length');
      await run('npm test 2>&1 | tail -12');
      return 'The loop in src/cart.mjs went one item too far (`<=`). With `<` both tests pass.';
    },
    check: 'node --test && grep -q "index < items.length" src/cart.mjs && git diff --quiet HEAD -- test',
  }),

  task('wrong-path', {
    ask: 'In /workspace/src/utils/format.mjs amounts are shown as "12.00 EUR"; they are to be shown as "EUR 12.00".',
    files: project({
      'src/util/format.mjs': format,
      'src/util/index.mjs': "export * from './format.mjs';\n",
      'test/format.test.mjs': `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { money } from '../src/util/index.mjs';\n\ntest('money', () => assert.equal(money(1200), 'EUR 12.00'));\n`,
    }),
    async work({ look, find, edit, run, say }) {
      say('I start with the file you named.');
      const first = await look('/workspace/src/utils/format.mjs');
      const meant = /(src\/util\/format\.mjs)/.exec(first)?.[1];
      const path = meant ?? /(src\/util\/format\.mjs)/.exec(await find('format.mjs'))[1];
      say(`There is no src/utils; you mean ${path}.`);
      await look(path);
      await edit(path, `\`\${euros} EUR\``, `\`EUR \${euros}\``);
      await run('npm test 2>&1 | tail -12');
      return 'Amounts are now shown as "EUR 12.00". The file is src/util/format.mjs (there is no src/utils); the test passes.';
    },
    check: 'node --test',
  }),

  task('edit-from-memory', {
    ask: 'money() in src/util/format.mjs should take a currency, EUR where none is given.',
    files: project({ 'src/util/format.mjs': format }),
    async work({ look, edit, run }) {
      await look('src/util/format.mjs');
      const change = [
        'src/util/format.mjs',
        `export function money(cents) {\n    const euros = (cents / 100).toFixed(2);\n    return \`\${euros} EUR\`;`,
        `export function money(cents, currency = 'EUR') {\n\tconst amount = (cents / 100).toFixed(2);\n\treturn \`\${amount} \${currency}\`;`,
      ];
      const first = await edit(...change);
      // Spaces in place of tabs: refused, unless the answer shows what is there.
      if (!/\d+ ?[:\t].*euros/.test(first)) await look('src/util/format.mjs', 1, 5);
      await edit(change[0], change[1].replaceAll('    ', '\t'), change[2]);
      await run(
        `node -e "import('/workspace/src/util/format.mjs').then(m => console.log(m.money(1200), m.money(5, 'USD')))"`,
      );
      return 'money(cents, currency = "EUR") in src/util/format.mjs; tried with both.';
    },
    check: `test "$(node -e "import('/workspace/src/util/format.mjs').then(m => console.log(m.money(1200), m.money(5, 'USD')))")" = "12.00 EUR 0.05 USD"`,
  }),

  task('stack-trace', {
    ask: 'node src/report.mjs crashes. Fix it.',
    files: project({
      'src/report.mjs': `import { summary } from './summary.mjs';\n\nconsole.log(summary([{ team: 'a', hours: [1, 2] }, { team: 'b' }]));\n`,
      'src/summary.mjs': `${lines(180, n => `// ${n}: notes on how hours are counted, from the meeting in week ${n % 52}`)}\nexport function summary(teams) {\n  return teams.map(team => \`\${team.team}: \${team.hours.reduce((a, b) => a + b, 0)}\`).join('\\n');\n}\n`,
    }),
    async work({ run, look, edit }) {
      const trace = await run('node src/report.mjs');
      const line = Number(/summary\.mjs:(\d+)/.exec(trace)[1]);
      await look('/workspace/src/summary.mjs', line - 5, line + 5);
      await edit('src/summary.mjs', 'team.hours.reduce(', '(team.hours ?? []).reduce(');
      await run('node src/report.mjs');
      return 'A team without hours made src/summary.mjs crash; it now counts as 0.';
    },
    check: 'test "$(node src/report.mjs)" = "a: 3\nb: 0"',
  }),

  task('same-fault-thrice', {
    ask: 'The find… functions crash for ids that are not there; they should give null. The test says so.',
    files: project({
      ...Object.fromEntries(MODULES.map(name => [`src/${name}.mjs`, module(name)])),
      'src/store.mjs': store,
      'test/find.test.mjs': modulesTest,
    }),
    async work({ search, look, edits, run }) {
      await Promise.all([run('npm test 2>&1 | tail -30'), search('row.value.trim', { context: 3 })]);
      await look('src/store.mjs');
      await edits(
        MODULES.map(name => [
          `src/${name}.mjs`,
          'return row.value.trim();',
          'return row ? row.value.trim() : null;',
        ]),
      );
      await run('npm test 2>&1 | tail -12');
      return 'The four find… functions give null for what is not there; the test passes.';
    },
    check: 'node --test',
  }),

  task('recover-wrong-edit', {
    ask: 'count() in src/cart.mjs should not count items whose count is negative.',
    files: project({ 'src/cart.mjs': cart.replace('<=', '<'), 'test/cart.test.mjs': cartTest }),
    async work({ look, edit, run, say }) {
      await look('src/cart.mjs');
      const [old, wrong] = ['all + item.count, 0)', 'all + Math.min(item.count, 0), 0)'];
      await edit('src/cart.mjs', old, wrong);
      await run('npm test 2>&1 | grep -E "^not ok|expected|actual" | head');
      say('I mixed up min and max: that counts only what is negative. I put it right.');
      await edit('src/cart.mjs', wrong, 'all + Math.max(item.count, 0), 0)');
      await run('npm test 2>&1 | tail -12');
      return 'Negative counts are left out (Math.max in count(), src/cart.mjs). My first edit had min and max mixed up; the tests showed it.';
    },
    check: 'node --test && grep -q Math.max src/cart.mjs',
  }),

  task('git-history', {
    ask: 'total() gave the right sum two commits ago. Find the commit that broke it and put that right.',
    files: project({ 'test/cart.test.mjs': cartTest }),
    prepare: `export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=a@example.com
git init -q; mkdir -p src; cat > src/cart.mjs <<'EOF'
${cart.replace('<=', '<')}EOF
git add -A; git commit -qm 'Add the cart'
sed -i 's/index < items/index <= items/' src/cart.mjs; git commit -qam 'Tidy the loop'
for n in $(seq 1 200); do echo "line $n of the notes on this release, which nobody will ever read again" >> NOTES.md; done; git add -A; git commit -qm 'Add notes'`,
    async work({ run, edit }) {
      await run('git log --oneline -5 && git log -p -3 -- src');
      await edit('src/cart.mjs', 'index <= items.length', 'index < items.length');
      await run('npm test 2>&1 | tail -12');
      return '"Tidy the loop" turned `<` into `<=` in src/cart.mjs; I put it back, and the tests pass.';
    },
    check: 'node --test',
  }),

  task('flaky-test', {
    ask: 'test/order.test.mjs fails now and then. Make it dependable by fixing the code.',
    files: project({
      'src/order.mjs': `let serial = 0;\n\nexport function newOrder(now = Date.now()) {\n  serial += 1;\n  return { id: \`\${now}\`, number: serial };\n}\n`,
      'test/order.test.mjs': `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { newOrder } from '../src/order.mjs';\n\ntest('ids are unique', () => {\n  const ids = Array.from({ length: 50 }, () => newOrder().id);\n  assert.equal(new Set(ids).size, 50);\n});\n`,
    }),
    async work({ look, run, edit }) {
      await Promise.all([look('src/order.mjs'), look('test/order.test.mjs')]);
      await run(
        'for n in 1 2 3; do node --test test/order.test.mjs > /dev/null 2>&1 && echo ok || echo failed; done',
      );
      await edit('src/order.mjs', `id: \`\${now}\``, `id: \`\${now}-\${serial}\``);
      await run(
        'for n in $(seq 8); do node --test test/order.test.mjs > /dev/null 2>&1 && echo ok || echo failed; done | sort | uniq -c',
      );
      return 'Two orders of one millisecond had the same id. The serial number is part of it now; 8 of 8 runs pass.';
    },
    check: 'node --test test/order.test.mjs',
  }),
];
