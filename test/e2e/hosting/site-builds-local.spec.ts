import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { builtFile, ProjectBuilding } from '../../harness/project-build.js';
import { TestService } from '../../harness/service.js';

let service: TestService;
let building: ProjectBuilding;

beforeAll(async () => {
  service = await TestService.start({ SANDBOX_DRIVER: 'unsafe-local', SITE_BUILD_EGRESS: 'none' });
  building = await ProjectBuilding.in(service, await service.person());
});
afterAll(() => service.stop());

it('without isolation, npm runs the build of a project that needs nothing', async () => {
  const folder = await building.snapshot({
    'package.json': {
      scripts: { build: 'mkdir dist && echo built by $npm_lifecycle_event > dist/index.html' },
    },
  });
  expect(await builtFile(await building.build(folder), 'index.html')).toBe('built by build\n');
});

it('where builds reach no registry, a project with dependencies is told so', async () => {
  const manifest = { dependencies: { ms: '2.1.3' }, scripts: { build: 'true' } };
  const { failure, phases } = await building.build(await building.snapshot({ 'package.json': manifest }));
  expect(failure).toMatch(/^Builds of this installation reach no registry \(SITE_BUILD_EGRESS=none/);
  expect(phases).toEqual(['install']);
});
