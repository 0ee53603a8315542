/** Something is to be changed in many places, or in a large one. */
import { lines, project, task } from '../task.mjs';

const PAGES = Array.from({ length: 12 }, (_, n) => `page${n + 1}`);
const page = name => `import { fetchUser } from '../api.mjs';

export async function ${name}(id) {
  const user = await fetchUser(id);
  return \`<h1>${name} of \${user.name}</h1>\`;
}
`;
const api = `export async function fetchUser(id) {
  return { id, name: \`user \${id}\` };
}
`;
/** What a bundler leaves: all of the sources in one line of 300 KB. */
const BUNDLE = `mkdir -p dist coverage && node -e "
const parts = Array.from({ length: 3000 }, (_, n) => 'async function f' + n + '(e){let t=await fetchUser(e);return t.name+' + n + '+checkoutToken(t)}');
require('node:fs').writeFileSync('dist/app.min.js', parts.join(';'));
require('node:fs').writeFileSync('coverage/lcov.info', parts.map((part, n) => 'FN:' + n + ',' + part).join('\\n'));"`;

const conflicted = name => `export const ${name} = {
<<<<<<< HEAD
  timeout: 30,
  retries: 3,
=======
  timeout: 10,
  backoff: 'full',
>>>>>>> feature/backoff
};
`;

const big = `node -e "
const text = Array.from({ length: 5000 }, (_, n) => 'export function rule' + n + '(order) {\\n  // from the list of rules, page ' + n + '\\n  const limit = ' + (n * 7 % 100) + ';\\n  return order.amount > limit;\\n}\\n');
require('node:fs').mkdirSync('src', { recursive: true });
require('node:fs').writeFileSync('src/rules.mjs', text.join(''));"`;

export default [
  task('rename-function', {
    ask: 'Rename fetchUser to loadUser in the sources.',
    files: project({
      'src/api.mjs': api,
      ...Object.fromEntries(PAGES.map(name => [`src/pages/${name}.mjs`, page(name)])),
    }),
    prepare: BUNDLE,
    async work({ search, run }) {
      await search('fetchUser');
      await run("grep -rl fetchUser src | xargs sed -i 's/\\bfetchUser\\b/loadUser/g'");
      await search('fetchUser', { path: 'src' });
      await run(`node -e "import('/workspace/src/pages/page3.mjs').then(m => m.page3(1)).then(console.log)"`);
      return 'fetchUser is loadUser now, in src/api.mjs and the twelve pages; one page tried.';
    },
    check:
      '! grep -rq fetchUser src && grep -q loadUser src/api.mjs src/pages/page12.mjs && grep -q fetchUser dist/app.min.js',
  }),

  task('change-signature', {
    ask: 'fetchUser(id) is to take an options object: fetchUser({ id }). Change it and every caller.',
    files: project({
      'src/api.mjs': api,
      'src/one.mjs': page('one').replace('../api', './api'),
      'src/two.mjs': page('two').replace('../api', './api').replace('fetchUser(id)', 'fetchUser(String(id))'),
      'src/three.mjs': page('three')
        .replace('../api', './api')
        .replace('fetchUser(id)', 'fetchUser(\n    id,\n  )'),
    }),
    prepare: BUNDLE,
    async work({ search, edits, run }) {
      await search('fetchUser(', { context: 2 });
      await edits([
        ['src/api.mjs', 'fetchUser(id) {', 'fetchUser({ id }) {'],
        ['src/one.mjs', 'fetchUser(id)', 'fetchUser({ id })'],
        ['src/two.mjs', 'fetchUser(String(id))', 'fetchUser({ id: String(id) })'],
        ['src/three.mjs', 'fetchUser(\n    id,\n  )', 'fetchUser({ id })'],
      ]);
      await run(
        `node -e "for (const n of ['one', 'two', 'three']) import('/workspace/src/' + n + '.mjs').then(m => m[n](1)).then(console.log)"`,
      );
      return 'fetchUser takes { id } now; its three callers in src pass it so.';
    },
    check: `test "$(node -e "for (const n of ['one', 'two', 'three']) import('/workspace/src/' + n + '.mjs').then(m => m[n](1)).then(console.log)" | grep -c 'user 1<')" = 3`,
  }),

  task('merge-conflict', {
    ask: 'The merge left conflicts in src. Keep both sides: the timeout of HEAD, and the backoff of the feature.',
    files: project({
      'src/http.mjs': conflicted('http'),
      'src/queue.mjs': conflicted('queue'),
      'test/config.test.mjs': `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { http } from '../src/http.mjs';\nimport { queue } from '../src/queue.mjs';\n\nfor (const one of [http, queue])\n  test('both sides', () => assert.deepEqual(one, { timeout: 30, retries: 3, backoff: 'full' }));\n`,
    }),
    async work({ search, look, edits, run }) {
      await search('<<<<<<<', { path: 'src' });
      await Promise.all([look('src/http.mjs'), look('src/queue.mjs')]);
      const conflict = conflicted('x').split('\n').slice(1, -2).join('\n');
      await edits(
        ['http', 'queue'].map(name => [
          `src/${name}.mjs`,
          conflict,
          "  timeout: 30,\n  retries: 3,\n  backoff: 'full',",
        ]),
      );
      await run('npm test 2>&1 | tail -12; git diff --check');
      return 'Both conflicts are resolved (src/http.mjs, src/queue.mjs): timeout 30, 3 retries, full backoff. The tests pass.';
    },
    check: 'node --test && ! grep -rq "<<<<<<<\\|>>>>>>>" src',
  }),

  task('large-file', {
    ask: 'rule4211 in src/rules.mjs must also hold where the amount equals the limit.',
    files: project(),
    prepare: big,
    async work({ look, search, edit, run }) {
      await look('src/rules.mjs');
      const found = await search('function rule4211(', { path: 'src/rules.mjs' });
      const line = Number(/(\d+):.*rule4211/.exec(found)[1]);
      await look('src/rules.mjs', line, line + 5);
      await edit(
        'src/rules.mjs',
        'rule4211(order) {\n  // from the list of rules, page 4211\n  const limit = 77;\n  return order.amount > limit;',
        'rule4211(order) {\n  // from the list of rules, page 4211\n  const limit = 77;\n  return order.amount >= limit;',
      );
      await run(
        `node -e "import('/workspace/src/rules.mjs').then(m => console.log(m.rule4211({ amount: 77 }), m.rule4212({ amount: 84 })))"`,
      );
      return 'rule4211 now also holds at its limit of 77; the rules beside it are as they were.';
    },
    check: `test "$(node -e "import('/workspace/src/rules.mjs').then(m => console.log(m.rule4211({ amount: 77 }), m.rule4212({ amount: 84 })))")" = "true false" && test "$(wc -l < src/rules.mjs)" = 25000`,
  }),

  task('move-file', {
    ask: 'Move src/helpers/text.mjs to src/text.mjs and mend the imports.',
    files: project({
      'src/helpers/text.mjs': 'export const title = text => text[0].toUpperCase() + text.slice(1);\n',
      'src/a.mjs': "import { title } from './helpers/text.mjs';\n\nexport const a = title('a');\n",
      'src/b/index.mjs': "import { title } from '../helpers/text.mjs';\n\nexport const b = title('b');\n",
    }),
    async work({ search, run, edits }) {
      await search('helpers/text', { path: 'src' });
      await run('git mv src/helpers/text.mjs src/text.mjs && ls src');
      await edits([
        ['src/a.mjs', './helpers/text.mjs', './text.mjs'],
        ['src/b/index.mjs', '../helpers/text.mjs', '../text.mjs'],
      ]);
      await run(
        `node -e "import('/workspace/src/b/index.mjs').then(m => console.log(m.b))"; node src/a.mjs && echo fine`,
      );
      return 'The file is src/text.mjs; src/a.mjs and src/b/index.mjs import it from there.';
    },
    check: 'test -f src/text.mjs && ! test -e src/helpers/text.mjs && node src/a.mjs && node src/b/index.mjs',
  }),

  task('new-module', {
    ask: 'Add src/discount.mjs with discount(total): 10 % from 100 on, else 0; export it from src/index.mjs, with a test.',
    files: project({
      'src/cart.mjs': 'export const total = items => items.reduce((sum, item) => sum + item, 0);\n',
      'src/index.mjs': "export { total } from './cart.mjs';\n",
    }),
    async work({ list, look, write, edit, run }) {
      await list();
      await Promise.all([look('src/index.mjs'), look('src/cart.mjs')]);
      await Promise.all([
        write('src/discount.mjs', 'export const discount = total => (total >= 100 ? total / 10 : 0);\n'),
        write(
          'test/discount.test.mjs',
          `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { discount } from '../src/index.mjs';\n\ntest('10 % from 100 on', () => {\n  assert.equal(discount(100), 10);\n  assert.equal(discount(99), 0);\n});\n`,
        ),
        edit(
          'src/index.mjs',
          "export { total } from './cart.mjs';",
          "export { total } from './cart.mjs';\nexport { discount } from './discount.mjs';",
        ),
      ]);
      await run('npm test 2>&1 | tail -12');
      return 'discount() is in src/discount.mjs and exported from src/index.mjs; test/discount.test.mjs has its limits. The tests pass.';
    },
    prepare: BUNDLE,
    check: `node --test && node -e "import('/workspace/src/index.mjs').then(m => process.exit(m.discount(200) === 20 ? 0 : 1))"`,
  }),

  task('config-value', {
    ask: 'Raise the memory limit of the worker in the deployment to 512Mi.',
    files: project({
      'deploy/all.yaml': lines(
        40,
        n =>
          `---\nkind: Deployment\nmetadata:\n  name: ${n === 27 ? 'worker' : `service-${n}`}\nspec:\n  replicas: ${n % 4}\n  limits:\n    cpu: 500m\n    memory: 256Mi`,
      ),
    }),
    async work({ search, edit, look }) {
      const found = await search('name: worker', { glob: '*.yaml', context: 6 });
      const line = Number(/(\d+):.*name: worker/.exec(found)[1]);
      await edit(
        'deploy/all.yaml',
        'name: worker\nspec:\n  replicas: 3\n  limits:\n    cpu: 500m\n    memory: 256Mi',
        'name: worker\nspec:\n  replicas: 3\n  limits:\n    cpu: 500m\n    memory: 512Mi',
      );
      await look('deploy/all.yaml', line - 2, line + 7);
      return 'The worker (deploy/all.yaml) may use 512Mi now; the other deployments are as they were.';
    },
    check:
      'test "$(grep -c 512Mi deploy/all.yaml)" = 1 && grep -A5 "name: worker" deploy/all.yaml | grep -q 512Mi',
  }),

  task('document-code', {
    ask: 'Write docs/api.md: each exported function of src with its parameters in one line.',
    files: project(
      Object.fromEntries(
        ['cart', 'order', 'user', 'mail', 'stock'].map(name => [
          `src/${name}.mjs`,
          `${lines(30, n => `const ${name}${n} = ${n};`)}\n\nexport function ${name}(id, options) {\n  return [id, options, ${name}1];\n}\n`,
        ]),
      ),
    ),
    prepare: BUNDLE,
    async work({ list, search, write }) {
      await list();
      const found = await search('^export function (\\w+)\\(([^)]*)\\)', { regex: true, glob: '*.mjs' });
      const entries = [...found.matchAll(/(src\/\w+\.mjs).*export function (\w+)\(([^)]*)\)/g)];
      await write(
        'docs/api.md',
        `# API\n\n${entries.map(([, at, name, given]) => `- \`${name}(${given})\` in ${at}`).join('\n')}\n`,
      );
      return `docs/api.md lists the ${entries.length} exported functions.`;
    },
    check: 'test "$(grep -c "(id, options)" docs/api.md)" = 5',
  }),
];
