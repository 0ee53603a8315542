import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { builtFile, ProjectBuilding, type ProjectFiles } from '../harness/project-build.js';
import { TestService } from '../harness/service.js';

let service: TestService;
let building: ProjectBuilding;

beforeAll(async () => {
  service = await TestService.start();
  const ada = await service.person();
  const id = await service.workspace(ada);
  const [row] = await service.database.query('select number::int from workspace where id = $1', [id]);
  building = new ProjectBuilding(service, { id, number: row?.number, organization_id: ada.organizationId });
});
afterAll(() => service.stop());

const build = async (files: ProjectFiles) => building.build(await building.snapshot(files));

describe('a project', () => {
  it('that is a plain folder is its own result', async () => {
    const built = await build({ 'index.html': '<h1>Here</h1>' });
    expect(await builtFile(built, 'index.html')).toBe('<h1>Here</h1>');
  });
});
