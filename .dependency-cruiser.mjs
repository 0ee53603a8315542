/**
 * The walls of the house, as rules. Rooms import downwards only:
 *   platform ← identity ← workspaces ← publishing ← connections ← agents, hosting ← automation ← surfaces
 * Each rule has a violation planted in test/contracts/walls.spec.ts.
 */
const rooms = [
  'platform',
  'identity',
  'workspaces',
  'publishing',
  'connections',
  'agents|hosting',
  'automation',
  'surfaces',
];

const downwardsOnly = rooms.slice(0, -1).map((room, index) => ({
  name: `${room.replace('|', '-')}-knows-nothing-above`,
  comment:
    `${room} stands below ${rooms.slice(index + 1).join(', ')}. If it needs something from there, it owns a port ` +
    '(an abstract class or a registry) and the room above registers.',
  severity: 'error',
  from: { path: `^src/(${room})/` },
  to: { path: `^src/(${rooms.slice(index + 1).join('|')})/` },
}));

export default {
  forbidden: [
    ...downwardsOnly,
    {
      name: 'agents-and-hosting-are-neighbours',
      comment: 'Neither may import the other. What both need belongs below them.',
      severity: 'error',
      from: { path: '^src/(agents|hosting)/' },
      to: { path: '^src/(agents|hosting)/', pathNot: '^src/$1/' },
    },
    {
      name: 'features-through-their-index',
      comment:
        'A feature is used through src/<room>/<feature>/index.ts. If what you need is not exported there, it is either ' +
        'private for a reason or missing from the index: decide which.',
      severity: 'error',
      from: { path: ['^src/([^/]+/[^/]+)/', '^src/'], pathNot: '^src/migrations\\.ts$' },
      to: { path: '^src/[^/]+/[^/]+/', pathNot: ['^src/$1/', '^src/[^/]+/[^/]+/index\\.ts$'] },
    },
    {
      name: 'rooms-have-no-index',
      comment:
        'A room exports nothing: import the feature that has what you need. Only the application imports room modules.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/app\\.module\\.ts$' },
      to: { path: '^src/[^/]+/[^/]+$' },
    },
    {
      name: 'room-modules-import-features',
      comment: 'The module of a room lists the modules of its features, and nothing else.',
      severity: 'error',
      from: { path: '^src/([^/]+)/[^/]+\\.module\\.ts$' },
      to: {
        pathNot: ['^src/$1/[^/]+/index\\.ts$', '^libs/[^/]+/index\\.ts$', '^node_modules/@nestjs/common/'],
      },
    },
    {
      name: 'no-import-of-a-parent-folder',
      comment:
        'A folder may import its subfolders, so a subfolder that imports its parent makes a cycle. Move what both need to ' +
        'a subfolder of its own.',
      severity: 'error',
      from: {
        path: [
          '^(((src/[^/]+/[^/]+)/[^/]+)/[^/]+)/[^/]+/[^/]+$',
          '^((src/[^/]+/[^/]+)/[^/]+)/[^/]+/[^/]+$',
          '^(src/[^/]+/[^/]+)/[^/]+/[^/]+$',
          '^src/[^/]+/',
        ],
      },
      to: { path: ['^src/[^/]+$', ...[1, 2, 3, 4, 5, 6].map(group => `^$${group}/[^/]+$`)] },
    },
    {
      name: 'no-folder-cycles',
      comment: 'Two folders that import each other are one feature, or lack a third.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^src' },
      to: { path: '^src', circular: true },
    },
    {
      name: 'no-cycles',
      comment:
        'Two files that import each other are one file, or lack a third. Types alone may point both ways.',
      severity: 'error',
      from: { path: '^(src|libs)/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'sql-in-stores',
      comment:
        'SQL stands in *.store.ts, in migrations and in the primitives of the platform. Give the store a method that says ' +
        'what it answers.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: ['^src/platform/', '\\.store\\.ts$', '\\.migration\\.ts$', '\\.spec\\.ts$'],
      },
      to: { path: '^node_modules/(kysely|pg)/' },
    },
    {
      name: 'parts-of-statements-stay-in-their-feature',
      comment:
        'A *-rows.store.ts has parts of statements that write. Others get a method that takes the unit of work; see also ' +
        'scripts/lint-rules/writes-stay-whole.grit.',
      severity: 'error',
      from: { path: '^src/.*/index\\.ts$' },
      to: { path: '-rows\\.store\\.ts$' },
    },
    {
      name: 'libs-stand-alone',
      comment:
        'A lib could be published as it is, so it knows nothing of the service or of another lib. Pass in what it needs. exact-json takes the place of a part of the language, and depends on nothing.',
      severity: 'error',
      from: { path: '^libs/([^/]+)/' },
      to: {
        path: '^(src|test|libs)/',
        pathNot: ['^libs/$1/', '^test/fakes/', '^libs/exact-json/index\\.ts$'],
      },
    },
    {
      name: 'libs-through-their-index',
      comment: 'The public surface of a lib is its index.ts.',
      severity: 'error',
      from: { path: '^(src|test)/' },
      to: { path: '^libs/', pathNot: '^libs/[^/]+/index\\.ts$' },
    },
    {
      name: 'no-tests-in-the-service',
      comment: 'Code that ships does not import tests, fakes or harnesses.',
      severity: 'error',
      from: { path: '^(src|libs)/', pathNot: ['\\.(spec|fixture)\\.ts$', '/testing/'] },
      to: { path: ['^test/', '\\.(spec|fixture)\\.ts$', '/testing/'] },
    },
    {
      name: 'declared-packages-only',
      comment:
        'What is imported is listed in package.json: dependencies for what ships, devDependencies for tests.',
      severity: 'error',
      from: { path: '^(src|libs)/', pathNot: '\\.spec\\.ts$' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'] },
    },
    {
      name: 'source-not-build',
      comment: 'What is imported from dist/ is seen by no other rule.',
      severity: 'error',
      from: { path: '^(src|libs|test)/', pathNot: '\\.mjs$' },
      to: { path: '^dist/' },
    },
    {
      name: 'imports-resolve',
      comment: 'What an import that is not found would reach is seen by no other rule.',
      severity: 'error',
      from: { path: '^(src|libs|test)/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      // `source`: what package.json maps #libs to is the source, not the build.
      conditionNames: ['source', 'import', 'require', 'node', 'default', 'types'],
    },
  },
};
