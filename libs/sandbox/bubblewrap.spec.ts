import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { transformFileSync } from '@swc/core';
import { createSandbox, type OutputChunk, type SandboxRequest, type SandboxResult } from './index.js';

const owner = process.getuid?.() === 0 ? { uid: 200_007, gid: 200_007 } : undefined;
const MiB = 1024 * 1024;

describe('bubblewrap sandbox', () => {
  const sandbox = createSandbox('bubblewrap');
  let workspace: string;

  function own(path: string): string {
    if (owner) chownSync(path, owner.uid, owner.gid);
    return path;
  }

  function run(request: Partial<SandboxRequest> & { argv: string[] }): Promise<SandboxResult> {
    return sandbox.run({ workspace, owner, ...request });
  }

  function bash(script: string, request: Partial<SandboxRequest> = {}): Promise<SandboxResult> {
    return run({ argv: ['bash', '-c', script], ...request });
  }

  /**
   * A script that holds a FIFO of the workspace open and starts daemons that inherit it; `ended` resolves when
   * the last process that holds it is dead.
   */
  const forkTree = [
    'exec 9<>alive',
    'setsid nohup sleep 1000 >/dev/null 2>&1 &',
    '(setsid bash -c "trap \\"\\" TERM HUP; sleep 1000 & sleep 1000" &) >/dev/null 2>&1',
    'echo ready; sleep 1000',
  ].join('\n');

  function makeLifeline(): { ended: () => Promise<unknown> } {
    const path = join(workspace, 'alive');
    execFileSync('mkfifo', [path]);
    own(path);
    const ended = async (): Promise<void> => {
      const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      await once(new Socket({ fd, readable: true, writable: false }).resume(), 'close');
    };
    return { ended };
  }

  beforeEach(() => {
    workspace = own(mkdtempSync(join(tmpdir(), 'sandbox-spec-')));
  });
  afterEach(() => rmSync(workspace, { recursive: true, force: true }));

  describe('running', () => {
    it('works here, says so, and tries only once', async () => {
      expect(await sandbox.check()).toEqual({ ok: true });
      const folders = readdirSync(tmpdir()).filter(name => name.startsWith('sandbox-probe-'));
      const both = await Promise.all([sandbox.check(), sandbox.check()]);
      expect(both[0]).toBe(both[1]);
      expect(readdirSync(tmpdir()).filter(name => name.startsWith('sandbox-probe-'))).toEqual(folders);
    });

    it('returns what the command wrote, by stream and together, and its exit code', async () => {
      const result = await bash('echo one; sleep 0.05; echo two >&2; sleep 0.05; echo three; exit 3');
      expect(result).toMatchObject({ exit_code: 3, signal: null, ended_by: 'exit', truncated: false });
      expect(result).toMatchObject({ stdout: 'one\nthree\n', stderr: 'two\n', output: 'one\ntwo\nthree\n' });
    });

    it('streams output while the command runs', async () => {
      const chunks: OutputChunk[] = [];
      const controller = new AbortController();
      const result = await bash('echo first; sleep 1000', {
        signal: controller.signal,
        onOutput: chunk => {
          chunks.push(chunk);
          controller.abort();
        },
      });
      expect(chunks).toEqual([{ stream: 'stdout', text: 'first\n' }]);
      expect(result.ended_by).toBe('stopped');
    });

    it('puts characters together that are written in pieces', async () => {
      const texts: string[] = [];
      const onOutput = ({ text }: OutputChunk): number => texts.push(text);
      await bash("printf '\\xe2\\x82'; sleep 0.1; printf '\\xac'", { onOutput });
      expect(texts).toEqual(['€']);
    });

    it('passes every argument and input through unchanged', async () => {
      const words = ["it's", 'a\nb', '$HOME `id` "x" \\', 'žluť 漢字 \u0081\u0088', '', '-n', '*'];
      expect((await run({ argv: ['printf', '[%s]', ...words] })).stdout).toBe(
        words.map(word => `[${word}]`).join(''),
      );
      const stdin = Buffer.from('line\n'.repeat(100_000));
      expect((await run({ argv: ['wc', '-c'], stdin })).stdout).toBe('500000\n');
      expect((await run({ argv: ['cat'] })).stdout).toBe('');
    });

    it('has standard streams that can be opened by name', async () => {
      const result = await bash('cat /dev/stdin; echo out >/dev/stdout; echo err >/dev/stderr', {
        stdin: 'in ',
      });
      expect(result).toMatchObject({ stdout: 'in out\n', stderr: 'err\n' });
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

    it('starts where the request says', async () => {
      own(mkdirSync(join(workspace, 'a/b'), { recursive: true }) ?? '');
      expect((await run({ argv: ['pwd'], cwd: 'a/b' })).stdout).toBe('/workspace/a/b\n');
      await expect(run({ argv: ['pwd'], cwd: '../..' })).rejects.toThrow('inside the workspace');
      await expect(run({ argv: ['pwd'], cwd: 'missing' })).rejects.toThrow('does not exist');
    });

    it('reports signals and unknown programs as a shell does', async () => {
      expect(await bash('kill -SEGV $$')).toMatchObject({
        exit_code: 139,
        signal: 'SIGSEGV',
        ended_by: 'exit',
      });
      expect(await run({ argv: ['no-such-program'] })).toMatchObject({ exit_code: 127, ended_by: 'exit' });
      expect(await run({ argv: ['/etc/passwd'] })).toMatchObject({ exit_code: 126, ended_by: 'exit' });
    });

    it('refuses a command line that the kernel could not take', async () => {
      await expect(run({ argv: ['true', 'x'.repeat(200_000)] })).rejects.toThrow('too long');
    });

    it('leaves files that belong to the owner', async () => {
      expect((await bash('id -u; id -g; echo hello >file; mkdir folder')).stdout).toBe('1000\n1000\n');
      expect(readFileSync(join(workspace, 'file'), 'utf8')).toBe('hello\n');
      const { uid, gid } = statSync(join(workspace, 'file'));
      expect({ uid, gid }).toEqual(owner ?? { uid: process.getuid?.(), gid: process.getgid?.() });
    });

    it('keeps owners apart, however their commands alternate', async () => {
      const owners = owner ? [owner, { uid: owner.uid + 1, gid: owner.gid + 1 }] : [undefined, undefined];
      for (const one of [...owners, ...owners]) {
        const folder = mkdtempSync(join(tmpdir(), 'sandbox-owner-'));
        if (one) chownSync(folder, one.uid, one.gid);
        await bash('touch file', { workspace: folder, owner: one });
        expect(statSync(join(folder, 'file')).uid).toBe(one?.uid ?? process.getuid?.());
        rmSync(folder, { recursive: true });
      }
    });

    it('shows further folders, read-only, and puts a Node bound at /opt/node on the PATH', async () => {
      const withNode = createSandbox('bubblewrap', {
        readOnlyBinds: [{ from: dirname(process.execPath), to: '/opt/node/bin' }],
      });
      const extra = own(mkdtempSync(join(tmpdir(), 'sandbox-extra-')));
      writeFileSync(join(extra, 'file'), 'shown\n');
      const result = await withNode.run({
        workspace,
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
      const path = join(workspace, 'file');
      writeFileSync(path, 'through 3\n');
      expect((await bash('cat <&3', { descriptors: [openSync(path, 'r')] })).stdout).toBe('through 3\n');
    });

    it('runs many commands at once', async () => {
      const results = await Promise.all(Array.from({ length: 20 }, (_, index) => bash(`echo ${index}`)));
      expect(results.map(({ stdout }) => stdout.trim())).toEqual(
        Array.from({ length: 20 }, (_, index) => `${index}`),
      );
    });

    it('gives back the error of a caller that cannot take the output', async () => {
      const onOutput = (): never => {
        throw new Error('full');
      };
      await expect(bash('echo x; sleep 1000', { onOutput })).rejects.toThrow('full');
    });
  });

  describe('ending', () => {
    it('kills the whole tree at the deadline, daemons included', async () => {
      const lifeline = makeLifeline();
      let ended: Promise<unknown> | undefined;
      const onOutput = (): void => {
        ended = lifeline.ended();
      };
      const result = await bash(forkTree, { limits: { wallMs: 700 }, onOutput });
      expect(result).toMatchObject({
        exit_code: null,
        signal: 'SIGKILL',
        ended_by: 'timeout',
        stdout: 'ready\n',
      });
      await ended;
      expect(ended).toBeDefined();
    });

    it('kills the whole tree within a second of the caller giving up', async () => {
      const lifeline = makeLifeline();
      const controller = new AbortController();
      let abortedAt = 0;
      let ended: Promise<unknown> | undefined;
      const onOutput = (): void => {
        ended = lifeline.ended();
        abortedAt = performance.now();
        controller.abort();
      };
      const result = await bash(forkTree, { signal: controller.signal, onOutput });
      await ended;
      expect(performance.now() - abortedAt).toBeLessThan(1000);
      expect(result).toMatchObject({ exit_code: null, signal: 'SIGKILL', ended_by: 'stopped' });
    });

    it('kills what a command leaves behind when it ends', async () => {
      const lifeline = makeLifeline();
      let ended: Promise<unknown> | undefined;
      const onOutput = (): void => {
        ended = lifeline.ended();
      };
      const result = await bash(
        forkTree
          .replace('sleep 1000', 'read -t 0.3 <&9; exit 5')
          .replace(/^echo ready; .*$/m, 'echo ready; sleep 0.2; exit 5'),
        { onOutput },
      );
      expect(result).toMatchObject({ exit_code: 5, ended_by: 'exit' });
      await ended;
      expect(ended).toBeDefined();
    });

    it.each([0, 1, 2, 3, 5, 8])('stops a command that is given up %i ms after its start', async delay => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), delay);
      const result = await bash('sleep 0.3; touch survived', { signal: controller.signal });
      expect(result.ended_by).toBe('stopped');
      await bash('sleep 0.4');
      expect(readdirSync(workspace)).toEqual([]);
    });

    it('starts nothing for a caller that has given up already', async () => {
      const result = await bash('touch file', { signal: AbortSignal.abort() });
      expect(result).toMatchObject({ exit_code: null, ended_by: 'stopped', output: '' });
      expect(readdirSync(workspace)).toEqual([]);
    });

    it('leaves no process when the service is killed', async () => {
      const lifeline = makeLifeline();
      const service = startService(forkTree);
      await said(service, 'ready');
      const ended = lifeline.ended();
      await killed(service);
      await ended;
    });

    it.each([0, 2, 4, 6, 8])(
      'lets no command run on whose service is killed %i ms after its start',
      async delay => {
        const service = startService('sleep 0.3; touch survived');
        await said(service, 'starting');
        await new Promise(resolve => setTimeout(resolve, delay));
        await killed(service);
        await bash('sleep 0.5');
        expect(readdirSync(workspace)).toEqual(['service']);
      },
    );

    interface Service extends ChildProcess {
      stdout: Readable;
    }

    /** A process of its own with the compiled sandbox, which runs one command and passes on its output. */
    function startService(script: string): Service {
      const folder = join(workspace, 'service');
      mkdirSync(folder);
      for (const name of readdirSync(import.meta.dirname)) {
        if (!name.endsWith('.ts') || name.endsWith('.spec.ts')) continue;
        const { code } = transformFileSync(join(import.meta.dirname, name), {
          jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
          module: { type: 'es6' },
        });
        writeFileSync(join(folder, name.replace('.ts', '.js')), code);
      }
      const request = { workspace, owner, argv: ['bash', '-c', script] };
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
      writeFileSync(
        join(folder, 'main.js'),
        `import { createSandbox } from './index.js';
        const sandbox = createSandbox('bubblewrap');
        const request = ${JSON.stringify(request)};
        await sandbox.run({ ...request, argv: ['true'] });
        process.stdout.write('starting');
        await sandbox.run({ ...request, onOutput: ({ text }) => process.stdout.write(text) });`,
      );
      const main = join(folder, 'main.js');
      return spawn(process.execPath, [main], { stdio: ['ignore', 'pipe', 'inherit'] }) as Service;
    }

    async function said(service: Service, word: string): Promise<void> {
      let text = '';
      while (!text.includes(word)) text += (await once(service.stdout, 'data'))[0];
    }

    async function killed(service: Service): Promise<void> {
      const closed = once(service, 'close');
      service.kill('SIGKILL');
      await closed;
    }
  });

  describe('limits', () => {
    it('ends a command that takes too much memory', async () => {
      const hog = 'perl -e \'my @a; push @a, "x" x 1048576 while 1\'';
      const result = await bash(hog, { limits: { memoryBytes: 128 * MiB, wallMs: 30_000 } });
      expect(result.ended_by).toBe('memory');
      expect((await bash('echo fine')).stdout).toBe('fine\n');
    });

    it('contains a fork bomb', async () => {
      const bomb = 'bomb() { bomb | bomb & }; bomb; sleep 1; echo survived';
      const started = performance.now();
      const result = await bash(bomb, { limits: { processes: 32, wallMs: 20_000 } });
      expect(result.stderr).toMatch(/fork|Resource temporarily unavailable/);
      expect(performance.now() - started).toBeLessThan(25_000);
      expect((await bash('echo fine')).stdout).toBe('fine\n');
    });

    it('cuts output off at its limit without blocking the command', async () => {
      const result = await bash('head -c 50000 /dev/zero | tr "\\0" x; touch done', {
        limits: { outputBytes: 1000 },
      });
      expect(result).toMatchObject({ exit_code: 0, ended_by: 'exit', truncated: true });
      expect(result.stdout).toBe('x'.repeat(1000));
      expect(readdirSync(workspace)).toEqual(['done']);
    });

    it('ends a command that floods its output', async () => {
      const result = await run({ argv: ['yes'], limits: { outputBytes: 1000 } });
      expect(result).toMatchObject({ exit_code: null, ended_by: 'output', truncated: true });
      expect(result.output).toHaveLength(1000);
    });

    it('limits the size of files, of /tmp and of shared memory', async () => {
      const limits = { fileBytes: 2 * MiB, tmpBytes: MiB };
      const result = await bash('head -c 3M /dev/zero >file; wc -c <file', { limits });
      expect(result.stdout).toBe(`${2 * MiB}\n`);
      expect((await bash('head -c 2M /dev/zero >/tmp/file; wc -c </tmp/file', { limits })).stdout).toBe(
        `${MiB}\n`,
      );
      const shared = await bash('head -c 100M /dev/zero >/dev/shm/file; wc -c </dev/shm/file');
      expect(shared.stdout).toBe(`${64 * MiB}\n`);
    });

    it('ends a process that uses up its CPU time', async () => {
      const result = await run({ argv: ['bash', '-c', 'while :; do :; done'], limits: { cpuSeconds: 1 } });
      expect(result).toMatchObject({ ended_by: 'timeout', signal: 'SIGXCPU' });
    });
  });

  it('says what to install where bubblewrap is missing, and looks again the next time', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'programs-'));
    chmodSync(folder, 0o755);
    const incomplete = createSandbox('bubblewrap', { programFolders: [folder] });
    expect(await incomplete.check()).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/apt-get install bubblewrap/),
    });
    await expect(incomplete.run({ workspace, owner, argv: ['true'] })).rejects.toThrow(
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
      'cannot reach the workspace',
    );
    rmSync(closed, { recursive: true });
  });
});
