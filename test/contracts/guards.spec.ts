import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ORGANIZATION_ROLES, VISIBILITIES, WORKSPACE_ROLES } from '../../src/platform/access/index.js';
import type { Client } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';

const MAX_BYTES = 100_000;
const MAX_FILES = 8;

let service: TestService;
let ada: Person;

beforeAll(async () => {
  service = await TestService.start({
    WORKSPACE_LIMITS: `bytes=${MAX_BYTES},files=${MAX_FILES}`,
  });
  ada = await service.person('Ada');
});
afterAll(() => service.stop());

describe('who sees a workspace', () => {
  it('is told alike by the list and by each workspace, to everybody', async () => {
    for (const visibility of VISIBILITIES)
      for (const role of ORGANIZATION_ROLES)
        for (const workspaceRole of [...WORKSPACE_ROLES, undefined]) {
          const workspace = await service.workspace(ada, { visibility });
          const person = await personAs(role, workspace, workspaceRole);
          const one = await person.get(`/api/workspaces/${workspace}`);
          const { body } = await person.get('/api/workspaces?limit=200');
          const listed = body.items.some(({ id }: { id: string }) => id === workspace);
          const isSeen =
            visibility !== 'private' &&
            (role === 'owner' ||
              role === 'admin' ||
              workspaceRole !== undefined ||
              (visibility === 'org' && role === 'member'));
          expect([visibility, role, workspaceRole, one.status, listed]).toEqual([
            visibility,
            role,
            workspaceRole,
            isSeen ? 200 : 404,
            isSeen,
          ]);
          await service.database.query('delete from workspace where id = $1', [workspace]);
        }
  });

  it('makes no page of a list shorter, nor ends it early', async () => {
    const owner = await service.person();
    for (const visibility of ['private', 'restricted']) await service.workspace(owner, { visibility });
    const shown = await service.workspace(owner, { visibility: 'org' });
    const member = await service.person();
    await service.join(member, { organization: owner.organizationId, role: 'member' });
    const list = `/api/workspaces?organization_id=${owner.organizationId}&limit=1`;
    const { body } = await member.client.get(list);
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual([shown]);
  });

  /** One person, in one role after the other. */
  let bob: Person | undefined;
  async function personAs(role: string, workspace: string, workspaceRole?: string): Promise<Client> {
    bob ??= await service.person('Bob');
    const place = { organization: ada.organizationId, role };
    await service.join(bob, workspaceRole ? { ...place, workspace, workspaceRole } : place);
    return bob.client;
  }
});

describe('what a workspace may hold', () => {
  const files = (workspace: string, what: string) => `/api/workspaces/${workspace}/files/${what}`;
  const put = (workspace: string, path: string, bytes: number) =>
    ada.client.put(files(workspace, 'content'), { path, content: 'x'.repeat(bytes) });

  /** Ways to add `n` bytes to a workspace that has a file of 60,000 and one version more of it. */
  const WRITES: Record<string, (workspace: string, n: number) => Promise<{ status: number }>> = {
    write: (workspace, n) => put(workspace, 'new', n),
    upload: (workspace, n) =>
      ada.client.raw('PUT', files(workspace, 'upload?path=new'), { body: 'x'.repeat(n) }),
    edit: (workspace, n) =>
      ada.client.post(files(workspace, 'edit'), { path: 'small', old_text: 'a', new_text: 'x'.repeat(n) }),
  };

  it.each(Object.entries(WRITES))('bounds %s in bytes', async (_name, write) => {
    const workspace = await service.workspace(ada);
    await put(workspace, 'big', 60_000);
    await ada.client.put(files(workspace, 'content'), { path: 'small', content: 'a' });
    expect((await write(workspace, 50_000)).status).toBe(413);
    expect((await write(workspace, 30_000)).status).toBe(200);
  });

  it('bounds copies and restored versions in bytes', async () => {
    const workspace = await service.workspace(ada);
    await put(workspace, 'big', 60_000);
    const copied = await ada.client.post(files(workspace, 'copy'), { from: 'big', to: 'again' });
    expect(copied.status).toBe(413);
    const { body } = await ada.client.get(files(workspace, 'history?path=big'));
    await ada.client.delete(`/api/workspaces/${workspace}/files?path=big`);
    await put(workspace, 'other', 60_000);
    const version = body.items.at(-1).id;
    const restored = await ada.client.post(files(workspace, 'restore'), { path: 'back', version });
    expect(restored.status).toBe(413);
  });

  it('bounds the number of files and folders, however they come', async () => {
    const workspace = await service.workspace(ada);
    for (let n = 0; n < MAX_FILES; n++) expect((await put(workspace, `${n}`, 1)).status).toBe(200);
    expect((await put(workspace, 'more', 1)).status).toBe(409);
    expect((await ada.client.post(files(workspace, 'mkdir'), { path: 'folder' })).status).toBe(409);
    expect((await ada.client.post(files(workspace, 'copy'), { from: '0', to: 'copy' })).status).toBe(409);
    await ada.client.delete(`/api/workspaces/${workspace}/files?path=0`);
    // A file brings the folders above it.
    expect((await put(workspace, 'folder/one', 1)).status).toBe(409);
    expect((await put(workspace, 'one', 1)).status).toBe(200);
  });

  it('bounds the number of folders that are made at once', async () => {
    const [made, moved] = [await service.workspace(ada), await service.workspace(ada)];
    const paths = ['a', 'b', 'c', 'd'];
    for (const path of paths) expect((await put(moved, path, 1)).status).toBe(200);
    const answers = await Promise.all([
      ...Array.from({ length: 30 }, (_, n) => ada.client.post(files(made, 'mkdir'), { path: `${n}/in/it` })),
      ...paths.map(path =>
        ada.client.post(files(moved, 'move'), { from: path, to: `of ${path}/in/it/${path}` }),
      ),
    ]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
    for (const workspace of [made, moved]) {
      const { body } = await ada.client.get(`/api/workspaces/${workspace}/files?recursive=true`);
      expect(body.items.length).toBeLessThanOrEqual(MAX_FILES);
    }
  });

  it('lets files be replaced where no more of them may be made', async () => {
    const workspace = await service.workspace(ada);
    const paths = Array.from({ length: MAX_FILES }, (_, n) => `${n}`);
    for (const path of paths) expect((await put(workspace, path, 1)).status).toBe(200);
    const slow = slowBody();
    const uploading = ada.client.raw('PUT', files(workspace, 'upload?path=0'), slow.init);
    await slow.begun;
    const all = await Promise.all(paths.slice(1).map(path => put(workspace, path, 2)));
    expect(all.map(({ status, body }) => [status, body.created])).toEqual(
      paths.slice(1).map(() => [200, false]),
    );
    slow.end();
    expect((await uploading).status).toBe(200);
    const edited = { path: '1', old_text: 'xx', new_text: 'yy' };
    const { body } = await ada.client.get(files(workspace, 'history?path=1'));
    const version = body.items.at(-1).id;
    const onto = { from: '1', to: '2', overwrite: true };
    for (const [what, input] of [
      ['edit', edited],
      ['restore', { path: '1', version }],
      ['copy', onto],
    ] as const)
      expect([what, (await ada.client.post(files(workspace, what), input)).status]).toEqual([what, 200]);
    expect((await put(workspace, 'more', 1)).status).toBe(409);
  });

  /** A body of unknown length, of which half is sent until it is ended. */
  function slowBody() {
    let end = () => {};
    let begin = () => {};
    const begun = new Promise<void>(resolve => {
      begin = resolve;
    });
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    async function* bytes() {
      yield Buffer.alloc(1000, 'x');
      begin();
      await ended;
      yield Buffer.alloc(1000, 'x');
    }
    const init = { body: bytes(), duplex: 'half' } as unknown as RequestInit;
    return { init, begun, end: () => end() };
  }
});
