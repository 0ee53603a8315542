import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DOCUMENTATION_SITE } from '../../../src/workspaces/templates/builtin/documentation-site.js';
import {
  type Built,
  builtFile,
  itWithRegistry,
  ProjectBuilding,
  registry,
} from '../../harness/project-build.js';
import { TestService } from '../../harness/service.js';
import { type Starter, starters } from '../../harness/starters.js';

/** Built one after the other: each takes all of a core, and other tests run at the same time. */
const FRAMEWORKS = ['docusaurus', 'vite', 'eleventy', 'nuxt', 'next', 'astro', 'sveltekit'];

/** The folder `site` of the template for documentation. */
const DOCUMENTATION = Object.fromEntries(
  Object.entries(DOCUMENTATION_SITE.files)
    .filter(([name]) => name.startsWith('site/'))
    .map(([name, text]) => [name.slice('site/'.length), text]),
);

let service: TestService;
const builds = new Map<string, Promise<Built>>();

beforeAll(async () => {
  service = await TestService.start({ SITE_BUILD_REGISTRIES: registry() });
  const building = await ProjectBuilding.in(service, await service.person());
  let before: Promise<unknown> = Promise.resolve();
  const sources = FRAMEWORKS.map(name => [name, starterOf(name).files] as const);
  for (const [name, files] of [...sources, ['documentation', DOCUMENTATION] as const]) {
    const built = before.then(async () => building.build(await building.snapshot(files)));
    before = built.catch(() => undefined);
    builds.set(name, built);
  }
});
afterAll(async () => {
  await Promise.allSettled(builds.values());
  await service.stop();
});

function starterOf(name: string): Starter {
  const starter = starters[name];
  if (!starter) throw new Error(`There is no starter of ${name}`);
  return starter;
}

describe('the starter of a framework', () => {
  it('is there for each that is built', () => {
    expect(FRAMEWORKS.toSorted()).toEqual(Object.keys(starters).toSorted());
  });

  itWithRegistry.each(FRAMEWORKS)(
    '%s is detected, installed and built',
    async name => {
      const { preset, shows } = starterOf(name);
      const built = (await builds.get(name)) as Built;
      const [file, text] = shows;
      expect(await builtFile(built, file)).toMatch(text);
      expect([built.preset, built.phases]).toEqual([preset, ['install', 'build']]);
    },
    600_000,
  );
});

itWithRegistry(
  'the template for documentation is built with navigation and search',
  async () => {
    const built = (await builds.get('documentation')) as Built;
    expect(await builtFile(built, 'index.html')).toContain('Welcome');
    expect(await builtFile(built, 'install/index.html')).toContain('<nav');
    expect(await builtFile(built, 'search.json')).toContain('"title":"Write a page"');
    expect(built.preset).toBe('eleventy');
  },
  600_000,
);
