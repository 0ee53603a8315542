import { chmodSync, mkdtempSync, openSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { forkTree, itRunsCommands, startService, TestWorkspace } from './driver.fixture.js';
import { createSandbox } from './index.js';

const owner = process.getuid?.() === 0 ? { uid: 200_007, gid: 200_007 } : undefined;

describe('bubblewrap sandbox', () => {
  const sandbox = createSandbox('bubblewrap');
  let workspace: TestWorkspace;
  const run: TestWorkspace['run'] = request => workspace.run(request);
  const bash: TestWorkspace['bash'] = (script, request) => workspace.bash(script, request);

  beforeEach(() => {
    workspace = new TestWorkspace(() => sandbox, owner);
  });
  afterEach(() => workspace.remove());

  itRunsCommands(() => sandbox, {
    owner,
    inside: { uid: 1000, gid: 1000 },
    atOnce: 20,
    givenUpAfter: [0, 1, 2, 3, 5, 8],
  });

  describe('running', () => {
    it('works here, says so, and tries only once', async () => {
      const first = await sandbox.check();
      expect(first).toEqual({ ok: true });
      for (const again of await Promise.all([sandbox.check(), sandbox.check()])) expect(again).toBe(first);
    });

    it('gives the command its variables and few others', async () => {
      const { stdout } = await run({ argv: ['env'], env: { A: "b 'c'\n€", PATH: '/usr/bin' } });
      expect(stdout.trimEnd().split('\n').sort()).toEqual(
        [
          "A=b 'c'",
          '€',
          'HOME=/tmp/home',
          'LANG=C.UTF-8',
          'PATH=/usr/bin',
          'PWD=/workspace',
          'TERM=dumb',
        ].sort(),
      );
    });

    it('shows further folders, read-only, and puts a Node bound at /opt/node on the PATH', async () => {
      const withNode = createSandbox('bubblewrap', {
        readOnlyBinds: [{ from: dirname(process.execPath), to: '/opt/node/bin' }],
      });
      const extra = workspace.own(mkdtempSync(join(tmpdir(), 'sandbox-extra-')));
      writeFileSync(join(extra, 'file'), 'shown\n');
      const result = await withNode.run({
        workspace: workspace.path,
        owner,
        argv: [
          'bash',
          '-c',
          `cat /run/extra/file; echo >/run/extra/new; ${basename(process.execPath)} -p 1+1; which node`,
        ],
        readOnlyBinds: [{ from: extra, to: '/run/extra' }],
      });
      rmSync(extra, { recursive: true });
      expect(result.stdout).toBe('shown\n2\n/opt/node/bin/node\n');
      expect(result.stderr).toMatch(/Read-only file system/);
    });

    it('hands over the descriptors that the request names', async () => {
      const path = join(workspace.path, 'file');
      writeFileSync(path, 'through 3\n');
      expect((await bash('cat <&3', { descriptors: [openSync(path, 'r')] })).stdout).toBe('through 3\n');
    });
  });

  describe('ending', () => {
    const requestOf = (script: string) => ({
      workspace: workspace.path,
      owner,
      argv: ['bash', '-c', script],
    });

    it.each([
      ['a command', {}],
      ['a session', { script: forkTree }],
    ])('leaves no process of %s when the service is killed', async (_what, more) => {
      const lifeline = workspace.lifeline();
      const service = startService('bubblewrap', {}, { ...requestOf(forkTree), ...more });
      await service.said('ready');
      const ended = lifeline.ended();
      await service.killed();
      await ended;
    });

    it.each([0, 2, 4, 6, 8])(
      'lets no command run on whose service is killed %i ms after its start',
      async delay => {
        const script = 'until [ -e go ]; do sleep 0.05; done; touch survived';
        const service = startService('bubblewrap', {}, requestOf(script));
        await service.said('starting');
        await new Promise(resolve => setTimeout(resolve, delay));
        await service.killed();
        writeFileSync(join(workspace.path, 'go'), '');
        await bash('sleep 0.5');
        expect(readdirSync(workspace.path)).toEqual(['go']);
      },
    );
  });

  it('says what to install where bubblewrap is missing, and looks again the next time', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'programs-'));
    chmodSync(folder, 0o755);
    const incomplete = createSandbox('bubblewrap', { programFolders: [folder] });
    expect(await incomplete.check()).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/apt-get install bubblewrap/),
    });
    await expect(incomplete.run({ workspace: workspace.path, owner, argv: ['true'] })).rejects.toThrow(
      'apt-get install bubblewrap',
    );
    for (const program of ['/usr/bin/bwrap', '/usr/bin/mkfifo']) {
      symlinkSync(program, join(folder, basename(program)));
    }
    expect(await incomplete.check()).toEqual({ ok: true });
    rmSync(folder, { recursive: true });
  });

  it('explains a workspace that the owner cannot reach', async () => {
    const closed = mkdtempSync(join(tmpdir(), 'closed-'));
    await expect(run({ workspace: join(closed, 'missing'), argv: ['true'] })).rejects.toThrow(
      `cannot reach the workspace folder: run "chmod o+x '${closed}'"`,
    );
    rmSync(closed, { recursive: true });
  });
});
