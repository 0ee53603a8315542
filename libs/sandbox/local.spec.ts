import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type SandboxRequest, type SandboxResult } from './index.js';

describe('unsafe-local sandbox', () => {
  const sandbox = createSandbox('unsafe-local');
  let workspace: string;

  const bash = (script: string, request: Partial<SandboxRequest> = {}): Promise<SandboxResult> =>
    sandbox.run({ workspace, argv: ['bash', '-c', script], ...request });

  beforeEach(() => {
    workspace = realpathSync(mkdtempSync(join(tmpdir(), 'sandbox-local-')));
  });
  afterEach(() => rmSync(workspace, { recursive: true }));

  it('says that it does not isolate', async () => {
    expect(sandbox).toMatchObject({ name: 'unsafe-local', isolated: false });
    expect(await sandbox.check()).toEqual({ ok: true });
  });

  it('runs a command in the workspace with its own variables only', async () => {
    mkdirSync(join(workspace, 'a'));
    const result = await bash('pwd; cat /dev/stdin; echo err >/dev/stderr; exit 3', {
      cwd: 'a',
      stdin: 'in\n',
    });
    expect(result).toMatchObject({ exit_code: 3, stdout: `${workspace}/a\nin\n`, stderr: 'err\n' });
    const names = (await bash('env | cut -d= -f1 | sort | xargs', { env: { A: 'b' } })).stdout;
    expect(names).toBe('A HOME LANG PATH PWD SHLVL TERM _\n');
  });

  it('reports signals and unknown programs as a shell does', async () => {
    expect(await bash('kill -SEGV $$')).toMatchObject({ exit_code: 139, signal: 'SIGSEGV' });
    expect(await sandbox.run({ workspace, argv: ['no-such-program'] })).toMatchObject({ exit_code: 127 });
  });

  it('refuses a folder to start in that lies outside, by name or by link', async () => {
    symlinkSync('/etc', join(workspace, 'link'));
    await expect(bash('pwd', { cwd: '..' })).rejects.toThrow('inside the workspace');
    await expect(bash('pwd', { cwd: 'link' })).rejects.toThrow('inside the workspace');
    await expect(bash('pwd', { cwd: 'missing' })).rejects.toThrow('does not exist');
  });

  it('ends a command with its children at the deadline, and when the caller gives up', async () => {
    const script = 'setsid sleep 1000 & sleep 1000 & wait';
    expect(await bash(script, { limits: { wallMs: 200 } })).toMatchObject({
      exit_code: null,
      ended_by: 'timeout',
    });
    const signal = AbortSignal.timeout(200);
    expect(await bash(script, { signal })).toMatchObject({ exit_code: null, ended_by: 'stopped' });
  });

  it('ends what a command leaves in the background when it ends', async () => {
    expect(await bash('sleep 1000 & echo started')).toMatchObject({ exit_code: 0, stdout: 'started\n' });
  });

  it('holds the limits', async () => {
    const hog = 'perl -e \'my @a; push @a, "x" x 1048576 while 1\'';
    expect(await bash(hog, { limits: { memoryBytes: 200 * 2 ** 20 } })).toMatchObject({ ended_by: 'memory' });
    expect(await bash('yes', { limits: { outputBytes: 100 } })).toMatchObject({
      ended_by: 'output',
      truncated: true,
    });
    expect((await bash('ulimit -f', { limits: { fileBytes: 2 ** 20 } })).stdout).toBe('1024\n');
  });
});
