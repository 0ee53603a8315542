import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Snapshot } from './index.js';
import { TestWorkspace } from './workspace.fixture.js';

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await TestWorkspace.make();
});
afterEach(() => workspace.remove());

/** Processes that list this workspace for this process. */
function listers(): number[] {
  const children = readdirSync('/proc/self/task').flatMap(task =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').trim().split(' '),
  );
  return children.filter(pid => pid !== '' && commandOf(pid).includes(workspace.at(''))).map(Number);
}

/** Children of other tests may end meanwhile. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

describe('Snapshot', () => {
  it('is refused where its listing was killed, and is whole otherwise', async () => {
    // More than a pipe takes: until this process reads, the listing cannot end.
    const name = 'x'.repeat(200);
    for (let n = 0; n < 2000; n++) await workspace.put(`folder/${name}-${n}`);
    const taken = Snapshot.take(workspace.at(''));
    for (const pid of listers()) process.kill(pid, 'SIGKILL');
    await expect(taken).rejects.toMatchObject({
      code: 'busy',
      message: 'The workspace could not be listed; try again',
    });
    const file = workspace.outside('snapshot');
    const saved = Snapshot.save(workspace.at(''), file);
    for (const pid of listers()) process.kill(pid, 'SIGKILL');
    await expect(saved).rejects.toMatchObject({ code: 'busy' });
    expect((await Snapshot.take(workspace.at(''))).count).toBe(2001);
  });

  it('is not read from a file that was cut short, wherever', async () => {
    for (let n = 0; n < 5; n++) await workspace.put(`${n}`);
    const file = workspace.outside('snapshot');
    await Snapshot.save(workspace.at(''), file);
    expect((await Snapshot.read(file)).count).toBe(5);
    for (let size = readFileSync(file).byteLength - 1; size >= 0; size--) {
      truncateSync(file, size);
      await expect(Snapshot.read(file)).rejects.toThrow('A listing of the workspace is not complete');
    }
  });

  it('says no_space where it cannot be saved', async () => {
    await workspace.put('file');
    await expect(Snapshot.save(workspace.at(''), '/dev/full')).rejects.toMatchObject({ code: 'no_space' });
  });

  it('says not_found of a workspace that is gone', async () => {
    await rename(workspace.at(''), workspace.outside('gone'));
    await expect(Snapshot.take(workspace.at(''))).rejects.toMatchObject({ code: 'not_found' });
    await rm(workspace.outside('gone'), { recursive: true });
  });
});
