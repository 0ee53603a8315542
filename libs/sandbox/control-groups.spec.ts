import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ControlGroups } from './control-groups.js';

/** Plain folders in place of the kernel's, which would make the files that are written here, and act on them. */
describe('ControlGroups', () => {
  let folder: string;
  let tree: string;
  const limits = { memoryBytes: 1000, processes: 10 };

  function detect(membership: string, mounts: string): Promise<ControlGroups> {
    writeFileSync(join(folder, 'cgroup'), membership);
    writeFileSync(join(folder, 'mountinfo'), mounts);
    return ControlGroups.detect({ membership: join(folder, 'cgroup'), mounts: join(folder, 'mountinfo') });
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'control-groups-'));
    tree = join(folder, 'tree');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function confinedBy(groups: ControlGroups, parent: string): Promise<Record<string, string>> {
    const before = new Set(readdirSync(parent));
    const group = groups.create();
    group.confine(limits);
    await group.join(4711);
    const name = readdirSync(parent).find(one => one.startsWith('sandbox-') && !before.has(one)) ?? '';
    const path = join(parent, name);
    return Object.fromEntries(readdirSync(path).map(file => [file, readFileSync(join(path, file), 'utf8')]));
  }

  it('does without where the host has none', async () => {
    const groups = await detect('', '');
    expect([groups.counts('memory'), groups.counts('pids')]).toEqual([false, false]);
    const group = groups.create();
    await group.join(process.pid);
    expect(group.ranOutOfMemory()).toBe(false);
    group.remove();
  });

  it('makes groups of version 2 beside its own where its own does not share out controllers', async () => {
    mkdirSync(join(tree, 'unit/own'), { recursive: true });
    writeFileSync(join(tree, 'unit/own/cgroup.subtree_control'), '\n');
    writeFileSync(join(tree, 'unit/cgroup.subtree_control'), 'cpu memory pids\n');
    const groups = await detect('0::/unit/own\n', `30 20 0:1 / ${tree} rw - cgroup2 cgroup2 rw\n`);
    expect([groups.counts('memory'), groups.counts('pids')]).toEqual([true, true]);
    const written = await confinedBy(groups, join(tree, 'unit'));
    expect(written).toEqual({ 'memory.max': '1000', 'pids.max': '12', 'cgroup.procs': '4711' });
  });

  it('makes groups of version 1 below its own, in the tree of each controller', async () => {
    for (const path of ['memory/own', 'pids']) mkdirSync(join(tree, path), { recursive: true });
    const mounts = ['memory', 'pids'].map(
      name => `30 20 0:1 / ${tree}/${name} rw shared:1 - cgroup cgroup rw,${name}\n`,
    );
    const groups = await detect('5:memory:/own\n4:pids:/\n', mounts.join(''));
    expect([groups.counts('memory'), groups.counts('pids')]).toEqual([true, true]);
    expect(await confinedBy(groups, join(tree, 'memory/own'))).toEqual({
      'memory.limit_in_bytes': '1000',
      'cgroup.procs': '4711',
    });
    expect(await confinedBy(groups, join(tree, 'pids'))).toEqual({
      'pids.max': '12',
      'cgroup.procs': '4711',
    });
  });

  it('finds its group below the part of the tree that a container mounts', async () => {
    mkdirSync(join(tree, 'own'), { recursive: true });
    const mount = `30 20 0:1 /docker/abc ${tree} rw - cgroup cgroup rw,memory\n`;
    expect((await detect('5:memory:/docker/abc/own\n', mount)).counts('memory')).toBe(true);
    expect((await detect('5:memory:/elsewhere\n', mount)).counts('memory')).toBe(false);
  });

  it('does without where it may not make any', async () => {
    mkdirSync(tree);
    const groups = await detect('5:memory:/gone\n', `30 20 0:1 / ${tree} rw - cgroup cgroup rw,memory\n`);
    expect(groups.counts('memory')).toBe(false);
  });

  it('removes the groups of services that died', async () => {
    const [dead, alive] = [join(tree, 'sandbox-4194305-abc'), join(tree, `sandbox-${process.pid}-abc`)];
    for (const path of [dead, alive]) mkdirSync(path, { recursive: true });
    await detect('5:memory:/\n', `30 20 0:1 / ${tree} rw - cgroup cgroup rw,memory\n`);
    expect([existsSync(dead), existsSync(alive)]).toEqual([false, true]);
  });
});
