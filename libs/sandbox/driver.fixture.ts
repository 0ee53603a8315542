import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OutputChunk, Owner, SandboxDriver, SandboxRequest, SandboxResult } from './index.js';

const MiB = 1024 * 1024;

/** What tells drivers that isolate apart. */
interface DriverTraits {
  owner: Owner | undefined;
  /** User and group of a command, as it sees them. */
  inside: Owner;
  /** Commands to start at one time. */
  atOnce: number;
  /** Milliseconds after their start at which commands are given up. */
  givenUpAfter: number[];
}

/** A workspace of a test's own, and commands in it. */
export class TestWorkspace {
  readonly path: string;

  constructor(
    private readonly sandbox: () => SandboxDriver,
    readonly owner: Owner | undefined,
  ) {
    this.path = this.own(mkdtempSync(join(tmpdir(), 'sandbox-spec-')));
  }

  own(path: string): string {
    if (this.owner) chownSync(path, this.owner.uid, this.owner.gid);
    return path;
  }

  run(request: Partial<SandboxRequest> & { argv: string[] }): Promise<SandboxResult> {
    return this.sandbox().run({ workspace: this.path, owner: this.owner, ...request });
  }

  bash(script: string, request: Partial<SandboxRequest> = {}): Promise<SandboxResult> {
    return this.run({ argv: ['bash', '-c', script], ...request });
  }

  /** A FIFO; `ended` resolves when the last process that holds it open is dead. */
  lifeline(): { ended: () => Promise<unknown> } {
    const path = join(this.path, 'alive');
    execFileSync('mkfifo', [path]);
    this.own(path);
    const ended = async (): Promise<void> => {
      const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      await once(new Socket({ fd, readable: true, writable: false }).resume(), 'close');
    };
    return { ended };
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** A script that holds the lifeline open and starts daemons that inherit it. */
export const forkTree = [
  'exec 9<>alive',
  'setsid nohup sleep 1000 >/dev/null 2>&1 &',
  '(setsid bash -c "trap \\"\\" TERM HUP; sleep 1000 & sleep 1000" &) >/dev/null 2>&1',
  'echo ready; sleep 1000',
].join('\n');

/** A service of its own process, which runs one command and passes on its output. */
interface Service {
  said(word: string): Promise<void>;
  /** As a crash would. */
  killed(): Promise<void>;
}

/** It uses the built sandbox, and says `starting` when it has run a first command. A `script` is run in a session instead. */
export function startService(
  driver: string,
  options: object,
  request: SandboxRequest & { script?: string },
): Service {
  const built = join(import.meta.dirname, '../../dist/libs/sandbox/index.js');
  const program = `import { createSandbox } from ${JSON.stringify(built)};
    const sandbox = createSandbox(${JSON.stringify(driver)}, ${JSON.stringify(options)});
    const request = ${JSON.stringify(request)};
    await sandbox.run({ ...request, argv: ['true'] });
    process.stdout.write('starting');
    const onOutput = ({ text }) => process.stdout.write(text);
    if (request.script === undefined) await sandbox.run({ ...request, onOutput });
    else await (await sandbox.openSession(request)).run({ script: request.script, onOutput });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  return {
    async said(word) {
      while (!text.includes(word)) text += (await once(child.stdout, 'data'))[0];
    },
    async killed() {
      const closed = once(child, 'close');
      child.kill('SIGKILL');
      await closed;
    },
  };
}

/** What every driver that isolates does with a command. */
export function itRunsCommands(sandbox: () => SandboxDriver, traits: DriverTraits): void {
  const { owner, inside } = traits;
  let workspace: TestWorkspace;
  const run: TestWorkspace['run'] = request => workspace.run(request);
  const bash: TestWorkspace['bash'] = (script, request) => workspace.bash(script, request);

  beforeEach(() => {
    workspace = new TestWorkspace(sandbox, owner);
  });
  afterEach(() => workspace.remove());

  describe('running', () => {
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

    it('starts where the request says', async () => {
      workspace.own(mkdirSync(join(workspace.path, 'a/b'), { recursive: true }) ?? '');
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
      expect(await run({ argv: ['/tmp'] })).toMatchObject({ exit_code: 126, ended_by: 'exit' });
    });

    it('refuses a command line that the kernel could not take', async () => {
      await expect(run({ argv: ['true', 'x'.repeat(200_000)] })).rejects.toThrow('too long');
    });

    it('leaves files that belong to the owner', async () => {
      expect((await bash('id -u; id -g; echo hello >file; mkdir folder')).stdout).toBe(
        `${inside.uid}\n${inside.gid}\n`,
      );
      expect(readFileSync(join(workspace.path, 'file'), 'utf8')).toBe('hello\n');
      const { uid, gid } = statSync(join(workspace.path, 'file'));
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

    it('runs many commands at once', async () => {
      const results = await Promise.all(
        Array.from({ length: traits.atOnce }, (_, index) => bash(`echo ${index}`)),
      );
      expect(results.map(({ stdout }) => stdout.trim())).toEqual(
        Array.from({ length: traits.atOnce }, (_, index) => `${index}`),
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
      const lifeline = workspace.lifeline();
      let ended: Promise<unknown> | undefined;
      const onOutput = (): void => {
        ended = lifeline.ended();
      };
      const result = await bash(forkTree, { limits: { wallMs: 5_000 }, onOutput });
      expect(result).toMatchObject({
        exit_code: null,
        signal: 'SIGKILL',
        ended_by: 'timeout',
        stdout: 'ready\n',
      });
      await ended;
      expect(ended).toBeDefined();
    });

    it('kills the whole tree when the caller gives up', async () => {
      const lifeline = workspace.lifeline();
      const controller = new AbortController();
      let ended: Promise<unknown> | undefined;
      const onOutput = (): void => {
        ended = lifeline.ended();
        controller.abort();
      };
      const result = await bash(forkTree, { signal: controller.signal, onOutput });
      await ended;
      expect(result).toMatchObject({ exit_code: null, signal: 'SIGKILL', ended_by: 'stopped' });
    });

    it('kills what a command leaves behind when it ends', async () => {
      const lifeline = workspace.lifeline();
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

    it.each(traits.givenUpAfter)('stops a command that is given up %i ms after its start', async delay => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), delay);
      const result = await bash('sleep 2; touch survived', { signal: controller.signal });
      expect(result.ended_by).toBe('stopped');
      await bash('sleep 2.1');
      expect(readdirSync(workspace.path)).toEqual([]);
    });

    it('starts nothing for a caller that has given up already', async () => {
      const result = await bash('touch file', { signal: AbortSignal.abort() });
      expect(result).toMatchObject({ exit_code: null, ended_by: 'stopped', output: '' });
      expect(readdirSync(workspace.path)).toEqual([]);
    });
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
      const result = await bash(bomb, { limits: { processes: 32, wallMs: 5_000 } });
      expect(result.stderr).toMatch(/fork|Resource temporarily unavailable/);
      expect(performance.now() - started).toBeLessThan(20_000);
      expect((await bash('echo fine')).stdout).toBe('fine\n');
    });

    it('cuts output off at its limit without blocking the command', async () => {
      const result = await bash('head -c 50000 /dev/zero | tr "\\0" x; touch done', {
        limits: { outputBytes: 1000 },
      });
      expect(result).toMatchObject({ exit_code: 0, ended_by: 'exit', truncated: true });
      expect(result.stdout).toBe('x'.repeat(1000));
      expect(readdirSync(workspace.path)).toEqual(['done']);
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
}
