import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';

const ROOT = path.resolve(import.meta.dirname, '../..');
const CRUISER = path.join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

const CONFIG = path.join(ROOT, '.dependency-cruiser.mjs');
const run = promisify(execFile);

type Files = Record<string, string>;
const imports = (...modules: string[]) => modules.map(name => `import '${name}';\n`).join('');

/** Everything here is allowed. */
const ALLOWED: Files = {
  'package.json': JSON.stringify({
    type: 'module',
    dependencies: { kysely: '1' },
    devDependencies: { 'test-tool': '1' },
    imports: { '#libs/*.js': { source: './libs/*.ts', default: './dist/libs/*.js' } },
  }),
  'tsconfig.json': JSON.stringify({
    compilerOptions: { module: 'nodenext', moduleResolution: 'nodenext' },
  }),
  ...Object.fromEntries(
    ['kysely', 'test-tool', 'undeclared', '@nestjs/common'].flatMap(name => [
      [`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', main: 'index.js' })],
      [`node_modules/${name}/index.js`, 'module.exports = {};\n'],
    ]),
  ),
  'dist/libs/writer/index.js': '',
  'dist/libs/parser/index.js': '',
  'dist/libs/parser/inner.js': '',
  'libs/parser/index.ts': imports('./inner.js'),
  'libs/parser/inner.ts': '',
  'libs/writer/index.ts': '',
  'test/fakes/mailbox.ts': '',
  'src/app.module.ts': imports('./platform/platform.module.js', './identity/identity.module.js'),
  'src/migrations.ts': imports('./identity/people/people.migration.js'),
  'src/identity/people/people.migration.ts': '',
  'src/platform/platform.module.ts': imports('./clock/index.js'),
  'src/platform/clock/index.ts': imports('./clock.js', '#libs/parser/index.js'),
  'src/platform/clock/clock.ts': '',
  'src/identity/identity.module.ts': imports('./people/index.js'),
  'src/identity/people/index.ts': imports('./people.service.js'),
  'src/identity/people/people.service.ts': imports(
    './people.store.js',
    './names/name.js',
    '../../platform/clock/index.js',
  ),
  'src/identity/people/people.store.ts': imports('kysely'),
  'src/identity/people/people.service.spec.ts': imports(
    './people.service.js',
    '../../../test/fakes/mailbox.js',
  ),
  'src/identity/people/names/name.ts': '',
  ...Object.fromEntries(
    [
      'identity',
      'workspaces',
      'publishing',
      'connections',
      'agents',
      'hosting',
      'automation',
      'surfaces',
    ].map(room => [`src/${room}/visited/index.ts`, '']),
  ),
  'src/surfaces/index.ts': '',
  'src/agents/parent/index.ts': imports('./parent.js'),
  'src/agents/parent/parent.ts': '',
};

/** A file that imports these. */
const planted = (file: string, ...modules: string[]) => ({
  files: { [file]: imports(...modules) },
  refused: [file],
});
const upwards = (room: string, above: string) =>
  planted(`src/${room}/upwards/index.ts`, `../../${above}/visited/index.js`);

/** For each rule: files that break it and no other rule, and those of them that are refused. */
const PLANTED: Record<string, { files: Files; refused: string[] }> = {
  'platform-knows-nothing-above': upwards('platform', 'identity'),
  'identity-knows-nothing-above': upwards('identity', 'workspaces'),
  'workspaces-knows-nothing-above': upwards('workspaces', 'publishing'),
  'publishing-knows-nothing-above': upwards('publishing', 'connections'),
  'connections-knows-nothing-above': upwards('connections', 'hosting'),
  'agents-hosting-knows-nothing-above': upwards('agents', 'automation'),
  'automation-knows-nothing-above': upwards('automation', 'surfaces'),
  'agents-and-hosting-are-neighbours': upwards('hosting', 'agents'),
  'features-through-their-index': {
    files: {
      'src/identity/burglar/index.ts': imports('../../platform/clock/clock.js'),
      'src/burglar.ts': imports('./identity/people/people.service.js'),
    },
    refused: ['src/burglar.ts', 'src/identity/burglar/index.ts'],
  },
  'rooms-have-no-index': planted('src/surfaces/barrel-user/index.ts', '../index.js'),
  'room-modules-import-features': planted(
    'src/workspaces/workspaces.module.ts',
    '../identity/people/index.js',
  ),
  'no-import-of-a-parent-folder': planted('src/agents/parent/child/child.ts', '../parent.js'),
  'no-folder-cycles': {
    files: {
      'src/automation/left/index.ts': imports('../right/index.js'),
      'src/automation/right/index.ts': '',
      'src/automation/right/lonely.ts': imports('../left/index.js'),
    },
    refused: ['src/automation/left', 'src/automation/right'],
  },
  'no-cycles': {
    files: {
      'libs/parser/hen.ts': imports('./egg.js'),
      'libs/parser/egg.ts': imports('./hen.js'),
    },
    refused: ['libs/parser/egg.ts'],
  },
  'sql-in-stores': planted('src/identity/people/people.controller.ts', 'kysely'),
  'parts-of-statements-stay-in-their-feature': {
    files: {
      'src/identity/pets/index.ts': imports('./pet-rows.store.js'),
      'src/identity/pets/pet-rows.store.ts': '',
    },
    refused: ['src/identity/pets/index.ts'],
  },
  'libs-stand-alone': planted('libs/writer/writer.ts', '#libs/parser/index.js'),
  'libs-through-their-index': planted('src/platform/clock/zones.ts', '#libs/parser/inner.js'),
  'no-tests-in-the-service': planted('src/platform/clock/tested.ts', '../../../test/fakes/mailbox.js'),
  'declared-packages-only': planted('src/platform/clock/borrowed.ts', 'undeclared'),
  'source-not-build': planted('src/platform/clock/built.ts', '../../../dist/libs/writer/index.js'),
  'imports-resolve': planted('src/platform/clock/lost.ts', './nowhere.js'),
};

/** What the rules say of these files, each as "rule: file". */
async function refusals(files: Files): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'walls-'));
  try {
    for (const [name, content] of Object.entries(files)) {
      const file = path.join(folder, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, content);
    }
    const given = ['--config', CONFIG, '--output-type', 'json', 'src', 'libs', 'test'];
    const { stdout } = await run(process.execPath, [CRUISER, ...given], { cwd: folder });
    const { summary } = JSON.parse(stdout) as {
      summary: { violations: { rule: { name: string }; from: string }[] };
    };
    return [...new Set(summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`))].sort();
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('the walls between the folders', () => {
  let rules: string[];
  beforeAll(async () => {
    const { default: config }: { default: { forbidden: { name: string }[] } } = await import(CONFIG);
    rules = config.forbidden.map(({ name }) => name);
  });

  it('refuse nothing that is allowed', async () => {
    expect(await refusals(ALLOWED)).toEqual([]);
  });

  it('have a planted violation for each rule, and no other', () => {
    expect(Object.keys(PLANTED).sort()).toEqual([...rules].sort());
  });

  it('report each planted violation by the name of its rule, and nothing else', async () => {
    const plants = rules.map(rule => ({ rule, ...PLANTED[rule] }));
    const files = Object.assign({}, ALLOWED, ...plants.map(plant => plant.files));
    const expected = plants.flatMap(({ rule, refused = [] }) => refused.map(file => `${rule}: ${file}`));
    expect(await refusals(files)).toEqual(expected.sort());
  });
});

/** The lines of a file that one rule of `scripts/lint-rules` refuses. */
async function refusedLines(rule: string, file: string, text: string): Promise<number[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lint-rule-'));
  try {
    const plugins = [path.join(ROOT, 'scripts/lint-rules', rule)];
    await writeFile(path.join(folder, 'biome.json'), JSON.stringify({ plugins }));
    await writeFile(path.join(folder, file), text);
    const biome = path.join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
    const checked = run(biome, ['lint', file], { cwd: folder });
    const { stderr } = await checked.catch((error: { stderr: string }) => error);
    return [...stderr.matchAll(/\.ts:(\d+):\d+ plugin/g)].map(([, line]) => Number(line));
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('parts of statements that write', () => {
  const SQL = "import { sql } from 'kysely';\n";
  const refused = (store: string) => refusedLines('writes-stay-whole.grit', 'pets.store.ts', SQL + store);

  it.each([
    ['a constant', 'export const rows = sql`insert into pet (id) values (1)`;\n'],
    ['an arrow function', 'export const rows = (run: unknown) => sql`delete from pet`;\n'],
    ['a function', 'export function rows() { return sql`x as (update pet p set a = 1)`; }\n'],
  ])('are not exported as %s', async (_, store) => expect(await refused(store)).toEqual([2]));

  it('may be read, executed, or kept in the file', async () => {
    const fine = [
      'export const reads = sql`exists (select 1 from pet)`;',
      'export const add = (unit: Unit) => sql`insert into pet (id) values (1)`.execute(unit.tables());',
      'const own = sql`insert into pet (id) values (1)`;',
      'export { own as other };',
    ];
    expect(await refused(fine.join('\n'))).toEqual([]);
  });
});

describe('literals', () => {
  it('are written out where they stand, not spread', async () => {
    const lines = [
      'export const pet = { ...{ name, age }, kind: 1 };',
      'export const owner = { ...pet, ...(name ? { name } : {}) };',
      'call({',
      '  ...{ id },',
      '});',
    ];
    expect(await refusedLines('no-literal-spread.grit', 'pets.ts', lines.join('\n'))).toEqual([1, 4]);
  });
});

describe('documents', () => {
  it('name files and headings that exist', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'documents-'));
    try {
      await run('git', ['init', '-q'], { cwd: folder });
      await mkdir(path.join(folder, 'src/pets'), { recursive: true });
      await writeFile(path.join(folder, 'src/pets/pets.service.ts'), '');
      const lines = [
        '# Pets',
        'See [the pets](#pets), `src/pets/pets.service.ts`, `pets.service.ts` and <https://example.com/a#b>.',
        'See [the cats](#cats).',
        'See [more](docs/pets.md).',
        'See `pets.store.ts`.',
        '```',
        '[as typed](nowhere.md)',
        '```',
      ];
      await writeFile(path.join(folder, 'README.md'), lines.join('\n'));
      const checked = run(process.execPath, [path.join(ROOT, 'scripts/lint-docs.mjs'), folder]);
      const { stderr } = await checked.catch((error: { stderr: string }) => error);
      expect(stderr.trim().split('\n')).toEqual([
        'README.md:3 #cats: README.md has no such heading',
        'README.md:4 docs/pets.md: there is no such file',
        'README.md:5 pets.store.ts: there is no such file',
        'README.md: "How it is laid out" lacks src/pets/',
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
