import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Built,
  builtFile,
  itWithRegistry,
  ProjectBuilding,
  registry,
} from '../harness/project-build.js';
import { TestService } from '../harness/service.js';
import { type Starter, starters } from '../harness/starters.js';

/** Built one after the other: each takes all of a core, and other tests run at the same time. */
const FRAMEWORKS = ['docusaurus', 'vite', 'eleventy', 'nuxt', 'next', 'astro', 'sveltekit'];

let service: TestService;
const builds = new Map<string, Promise<Built>>();

beforeAll(async () => {
  service = await TestService.start({ SITE_BUILD_REGISTRIES: registry() });
  const building = await ProjectBuilding.in(service, await service.person());
  let before: Promise<unknown> = Promise.resolve();
  for (const name of FRAMEWORKS) {
    const built = before.then(async () => building.build(await building.snapshot(starterOf(name).files)));
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
