/**
 * The house, as rules. Imports run downwards only:
 *   platform ← identity ← workspaces ← agents, hosting ← automation ← surfaces
 */
const layers = ['platform', 'identity', 'workspaces', 'agents|hosting', 'automation', 'surfaces'];

const downwardsOnly = layers.slice(0, -1).map((layer, index) => ({
  name: `${layer.replace('|', '-')}-knows-nothing-above`,
  comment:
    `${layer} stands below ${layers.slice(index + 1).join(', ')}. If it must make something happen there, publish an ` +
    'event (platform/events) or enqueue a job and let the feature above take it.',
  severity: 'error',
  from: { path: `^src/(${layer})/` },
  to: { path: `^src/(${layers.slice(index + 1).join('|')})/` },
}));

export default {
  forbidden: [
    ...downwardsOnly,
    {
      name: 'agents-and-hosting-are-neighbours',
      comment: 'Neither may lean on the other. What both need belongs below them, in workspaces.',
      severity: 'error',
      from: { path: '^src/(agents|hosting)/' },
      to: { path: '^src/(agents|hosting)/', pathNot: '^src/$1/' },
    },
    {
      name: 'through-the-front-door',
      comment:
        'A feature is used through its index.ts. If what you need is not exported there, it is either private for a ' +
        'reason or missing from the index: decide which.',
      severity: 'error',
      from: { path: '^src/([^/]+)/' },
      to: {
        path: '^src/(identity|workspaces|agents|hosting|automation|surfaces)/',
        pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$', '^src/identity/[^/]+/index\\.ts$'],
      },
    },
    {
      name: 'libs-stand-alone',
      comment:
        'A lib could be published as it is, so it knows nothing of the service or of another lib. Pass in what it needs.',
      severity: 'error',
      from: { path: '^libs/([^/]+)/' },
      to: { path: '^(src|test|libs)/', pathNot: ['^libs/$1/', '^test/fakes/'] },
    },
    {
      name: 'libs-through-the-front-door',
      comment: 'The public surface of a lib is its index.ts.',
      severity: 'error',
      from: { path: '^(src|test)/' },
      to: { path: '^libs/', pathNot: '^libs/[^/]+/index\\.ts$' },
    },
    {
      name: 'no-tests-in-the-service',
      comment: 'Code that ships does not import tests, fakes or harnesses.',
      severity: 'error',
      from: { path: '^(src|libs)/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^test/|\\.spec\\.ts$' },
    },
    {
      name: 'no-circles',
      comment:
        'Two files that import each other are one file, or lack a third. Types alone may point both ways.',
      severity: 'error',
      from: { path: '^(src|libs)/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'declared-packages-only',
      comment:
        'What is imported is listed in package.json: dependencies for what ships, devDependencies for tests.',
      severity: 'error',
      from: { path: '^(src|libs)/', pathNot: '\\.spec\\.ts$' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
