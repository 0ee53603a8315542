import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, renameSync, statSync, truncateSync } from 'node:fs';
import { appendFile, rename, rm } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Snapshot } from './index.js';
import { TestWorkspace } from './workspace.fixture.js';

const run = promisify(execFile);

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

/** What a process has open. */
function foldersOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).map(fd => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
}

/** 1,000 folders in each other, of one name, and a file in the last. */
async function nest(name: string): Promise<void> {
  const script = `const fs = require('node:fs');
for (let depth = 0; depth < 1000; depth++) { fs.mkdirSync('${name}'); process.chdir('${name}'); }
fs.writeFileSync('file', '12345');`;
  await run(process.execPath, ['-e', script], { cwd: workspace.at('') });
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

  it('is refused where folders moved about while they were listed', async () => {
    const name = 'x'.repeat(200);
    for (let n = 0; n < 2000; n++) await workspace.put(`a/b/c/d/e/f/g/h/i/${name}-${n}`);
    const taken = Snapshot.take(workspace.at(''));
    // Nobody reads yet: it goes no further than the pipe takes, and is in the folder then.
    const [pid = 0] = listers();
    const isThere = () => foldersOf(pid).some(folder => folder.endsWith('/h/i'));
    while (!isThere() || !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') S '));
    // It goes back to the last few folders by descriptors, and up from those by "..".
    renameSync(workspace.at('a/b/c'), workspace.at('elsewhere'));
    await expect(taken).rejects.toMatchObject({ code: 'busy' });
    expect((await Snapshot.take(workspace.at(''))).totals()).toMatchObject({ files: 2000, folders: 9 });
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

  it('counts what lies deeper than a path can say, and lists none of it', async () => {
    // The paths of the first folders alone would be 100 MB.
    await nest('d'.repeat(200));
    await workspace.put('shallow/file', '123');
    const snapshot = await Snapshot.take(workspace.at(''));
    // A path has 4,096 bytes and a hundred names at most.
    expect(snapshot.totals()).toEqual({ files: 1, bytes: 3, folders: 1 + 20 });
    expect(snapshot.allHidden()).toEqual({ files: 1000 - 20 + 1, bytes: 5 });
    await nest('e');
    expect((await Snapshot.take(workspace.at(''))).totals()).toMatchObject({ folders: 1 + 20 + 100 });
    await run('rm', ['-rf', workspace.at('d'.repeat(200)), workspace.at('e')]);
  });

  it('finds what changed since in folders that did not change', async () => {
    await workspace.put('a b/c/old');
    await workspace.put('a b/c/new');
    await workspace.put('z');
    const before = await Snapshot.take(workspace.at(''));
    const [newest = 0] = ['a b/c/new', 'z']
      .map(path => statSync(workspace.at(path)).ctimeMs)
      .sort()
      .reverse();
    while (Date.now() < newest + 20) await setImmediate();
    await appendFile(workspace.at('a b/c/new'), 'more');
    const { ctimeMs } = statSync(workspace.at('a b/c/new'));
    const changed = await Snapshot.take(workspace.at(''), ctimeMs - 1);
    expect(changed.all().map(({ path }) => path)).toEqual(['a b/c/new']);
    const after = await Snapshot.take(workspace.at(''));
    expect(await before.changesTo(after)).toMatchObject([{ kind: 'modified', path: 'a b/c/new', size: 4 }]);
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
