import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Owner,
  type SandboxDriver,
  type SandboxSession,
  type SessionCommand,
  type SessionRequest,
  type SessionResult,
} from './index.js';

const MiB = 1024 * 1024;

/** What tells drivers apart. */
interface SessionTraits {
  owner: Owner | undefined;
  isolated: boolean;
  /** Where the folders of sessions are. */
  folders: string;
}

/** Resolves when a file has been made in a folder. */
async function fileMade(folder: string, name: string): Promise<void> {
  for await (const _ of watch(folder)) if (existsSync(join(folder, name))) return;
}

/** What every driver does with a session. */
export function itRunsSessions(
  sandbox: () => SandboxDriver,
  { owner, isolated, folders: parent }: SessionTraits,
): void {
  let workspace: string;
  let home: string;
  let sessions: SandboxSession[];

  async function open(request: Partial<SessionRequest> = {}): Promise<SandboxSession> {
    const session = await sandbox().openSession({ workspace, owner, ...request });
    sessions.push(session);
    return session;
  }

  function runner(session: SandboxSession) {
    return (script: string, more: Partial<SessionCommand> = {}): Promise<SessionResult> =>
      session.run({ script, ...more });
  }

  beforeEach(() => {
    workspace = mkdtempSync(join(tmpdir(), 'session-spec-'));
    if (owner) chownSync(workspace, owner.uid, owner.gid);
    home = isolated ? '/workspace' : workspace;
    sessions = [];
  });
  afterEach(async () => {
    for (const session of sessions) await session.end();
    rmSync(workspace, { recursive: true, force: true });
  });

  it('keeps folder, variables and functions between scripts', async () => {
    const bash = runner(await open({ env: { GIVEN: "it's\n€" } }));
    expect(await bash('pwd; echo "$GIVEN"; mkdir a; cd a')).toMatchObject({
      stdout: `${home}\nit's\n€\n`,
      exit_code: 0,
      ended_by: 'exit',
      session_ended: null,
      limit: null,
    });
    await bash('export E="x y" ; plain=5; list=(1 "2 3"); declare -A map=([k]=v); greet() { echo "hi $1"; }');
    expect((await bash('pwd; printenv E plain; declare -p plain list map; greet you')).stdout).toBe(
      `${home}/a\nx y\ndeclare -- plain="5"\ndeclare -a list=([0]="1" [1]="2 3")\ndeclare -A map=([k]="v" )\nhi you\n`,
    );
    await bash('unset GIVEN E');
    expect((await bash('echo [$GIVEN$E]; cd ..; cd - >/dev/null; pwd')).stdout).toBe(`[]\n${home}/a\n`);
  });

  it('starts where the request says', async () => {
    mkdirSync(join(workspace, 'deep'));
    expect((await runner(await open({ cwd: 'deep' }))('pwd')).stdout).toBe(`${home}/deep\n`);
    await expect(open({ cwd: 'missing' })).rejects.toThrow('does not exist');
  });

  it('survives scripts that exit, fail, replace themselves, or are no bash', async () => {
    const bash = runner(await open());
    expect(await bash('export A=1; cd /tmp; exit 3')).toMatchObject({ exit_code: 3, session_ended: null });
    expect(await bash('set -eu; export B=2; false; echo no')).toMatchObject({ exit_code: 1, stdout: '' });
    expect(await bash('pwd; echo $A$B; false; echo on')).toMatchObject({ stdout: '/tmp\n12\non\n' });
    expect(await bash('exec echo replaced')).toMatchObject({ exit_code: 0, stdout: 'replaced\n' });
    const unbalanced = await bash('echo one\necho "two');
    expect(unbalanced).toMatchObject({ exit_code: 2, stdout: 'one\n' });
    expect(unbalanced.stderr).toMatch(/unexpected EOF/);
    expect(await bash('cat <<END\nno end')).toMatchObject({ stdout: 'no end\n' });
    expect(await bash('kill -KILL $$')).toMatchObject({ exit_code: 137, signal: 'SIGKILL' });
    expect(await bash('trap "echo bye" EXIT; exit 4')).toMatchObject({ exit_code: 4, stdout: 'bye\n' });
    expect((await bash('echo $A$B')).stdout).toBe('12\n');
  });

  it('gives each script its own input, and none of what its program is told', async () => {
    const bash = runner(await open());
    expect((await bash('cat; cat', { stdin: Buffer.from('a\0b\n') })).stdout).toBe('a\0b\n');
    expect((await bash('cat; read x || echo end')).stdout).toBe('end\n');
    const open3 = await bash('for fd in /proc/$$/fd/*; do readlink $fd; done | grep -c socket');
    expect(open3.stdout).toBe('0\n');
    expect((await bash('echo "over 5 0" >&3; echo "over 5 0" >&7; echo real')).stdout).toBe('real\n');
    expect((await bash('echo fine')).stdout).toBe('fine\n');
  });

  it('does not take output for an end', async () => {
    const bash = runner(await open());
    const forged = 'over 1 0\n0m0.000s 0m0.000s\n0m0.000s 0m0.000s\n';
    expect(await bash(`printf '${forged}'; exit 5`)).toMatchObject({ exit_code: 5, stdout: forged });
  });

  it('passes on output as it comes, whatever bytes it is made of', async () => {
    const bash = runner(await open());
    const texts: string[] = [];
    const controller = new AbortController();
    const onOutput = ({ text }: { text: string }): void => {
      texts.push(text);
      controller.abort();
    };
    expect(await bash('echo first; sleep 1000', { onOutput, signal: controller.signal })).toMatchObject({
      ended_by: 'stopped',
      exit_code: null,
      session_ended: null,
    });
    expect(texts).toEqual(['first\n']);
    expect((await bash("printf 'a\\0b\\xff'; echo err >&2")).output).toBe('a\0b\ufffderr\n');
    const much = await bash('head -c 3000000 /dev/zero | tr "\\0" x; echo; exit 6');
    expect(much).toMatchObject({ exit_code: 6, truncated: true, limit: 'outputBytes' });
    expect(much.stdout).toHaveLength(MiB);
  });

  it('keeps background processes, their output and what they read', async () => {
    const bash = runner(await open());
    const server = 'mkfifo pipe; while read -r line; do echo "got $line"; touch got; done <>pipe & echo $!';
    const until = (file: string) => `until [ -e ${file} ]; do sleep 0.02; done`;
    const started = await bash(server);
    expect(started).toMatchObject({ exit_code: 0, session_ended: null, stderr: '' });
    const pid = started.stdout.trim();
    const said = await bash(`echo one >pipe; ${until('got')}; kill -0 ${pid} && echo alive`);
    expect(said.stdout).toBe('got one\nalive\n');
    await bash(`(${until('go')}; echo later; touch told) &`);
    expect((await bash(`touch go; ${until('told')}; echo now`)).stdout).toBe('later\nnow\n');
    expect((await bash(`kill -9 ${pid} && echo killed`)).stdout).toBe('killed\n');
  });

  it('tells whether anything goes on while no script runs', async () => {
    const session = await open();
    const pid = (await session.run({ script: 'sleep 1000 & echo $!' })).stdout.trim();
    expect(session.runsOn()).toBe(true);
    if (sandbox().name === 'bubblewrap') {
      await session.run({ script: `kill ${pid}; while kill -0 ${pid}; do sleep 0.01; done` });
      expect(session.runsOn()).toBe(false);
    }
    await session.end();
    expect(session.runsOn()).toBe(false);
  });

  it('says when the folder of the script before is gone', async () => {
    const bash = runner(await open());
    await bash('mkdir gone; cd gone; rmdir ../gone');
    expect(await bash('pwd')).toMatchObject({
      stdout: `${home}\n`,
      stderr: `The folder ${home}/gone is no longer there; this runs in ${home}\n`,
    });
  });

  it('runs scripts one after another in the order of their calls', async () => {
    const bash = runner(await open());
    const results = await Promise.all(
      [3, 1, 2].map(number => bash(`echo ${number} >>order; sleep 0.0${number}; cat order | xargs`)),
    );
    expect(results.map(({ stdout }) => stdout)).toEqual(['3\n', '3 1\n', '3 1 2\n']);
  });

  it('kills a script at its deadline with all that it started, and nothing else', async () => {
    const bash = runner(await open());
    const before = (await bash('sleep 1000 & echo $!')).stdout.trim();
    const daemon = isolated ? '(setsid sleep 1002 &)' : ':';
    const late = await bash(`sleep 1001 & ${daemon}; export LOST=1; echo begun; sleep 1003`, {
      // Long enough for all of them to be there, on a busy machine too.
      wallMs: 6_000,
    });
    expect(late).toMatchObject({
      ended_by: 'timeout',
      limit: 'wallMs',
      exit_code: null,
      signal: 'SIGKILL',
      stdout: 'begun\n',
      session_ended: null,
    });
    const left = await bash('ps -eo args= | grep "^sleep 100[0-9]"; echo [$LOST]');
    if (isolated) expect(left.stdout).toBe('sleep 1000\n[]\n');
    expect((await bash(`kill ${before} && echo was alive`)).stdout).toBe('was alive\n');
  });

  it('interrupts what runs in the foreground', async () => {
    const session = await open();
    let again: NodeJS.Timeout | undefined;
    const running = session.run({
      script: 'export KEPT=1; echo begun; sleep 1000; echo after',
      onOutput: () => {
        again ??= setInterval(() => session.interrupt(), 100);
      },
    });
    expect(await running).toMatchObject({ exit_code: 130, signal: 'SIGINT', session_ended: null });
    clearInterval(again);
    expect(session.interrupt()).toBe(false);
    expect((await session.run({ script: 'echo $KEPT' })).stdout).toBe('1\n');
  });

  it('refuses scripts that it cannot run, and goes on', async () => {
    const session = await open();
    await expect(session.run({ script: 'echo \0' })).rejects.toThrow('NUL');
    expect((await session.run({ script: 'echo fine' })).stdout).toBe('fine\n');
    const aborted = await session.run({ script: 'touch made', signal: AbortSignal.abort() });
    expect(aborted).toMatchObject({ ended_by: 'stopped', session_ended: null });
    expect(readdirSync(workspace)).toEqual([]);
    const failing = session.run({
      script: 'echo x; sleep 1000',
      onOutput: () => {
        throw new Error('full');
      },
    });
    await expect(failing).rejects.toThrow('full');
    expect((await session.run({ script: 'echo fine' })).stdout).toBe('fine\n');
  });

  it('tells what it uses', async () => {
    const session = await open();
    const { cpu_ms } = await session.run({
      script: 'for ((i = 0; i < 200000; i++)); do :; done; sleep 100 &',
    });
    expect(cpu_ms).toBeGreaterThan(20);
    const usage = session.usage();
    expect(usage.processes).toBeGreaterThanOrEqual(isolated ? 2 : 1);
    expect(usage.memory_bytes).toBeGreaterThan(100_000);
    expect(usage.cpu_ms).toBeGreaterThan(20);
  });

  it('ends with all that runs there', async () => {
    const folders = () => readdirSync(parent).filter(name => name.startsWith('sandbox-session-'));
    const before = folders();
    const session = await open();
    const [folder, ...others] = folders().filter(name => !before.includes(name));
    expect([folder, others]).toEqual([expect.any(String), []]);
    let begun: () => void = () => undefined;
    const output = new Promise<void>(resolve => {
      begun = resolve;
    });
    const running = session.run({ script: 'echo begun; sleep 1000', onOutput: () => begun() });
    await output;
    await session.end();
    expect(await running).toMatchObject({ ended_by: 'stopped', session_ended: 'ended', exit_code: null });
    expect(await session.ended).toBe('ended');
    await expect(session.run({ script: 'true' })).rejects.toThrow('over');
    expect(folders()).not.toContain(folder);
    const controller = new AbortController();
    const other = await open({ signal: controller.signal });
    controller.abort();
    expect(await other.ended).toBe('ended');
  });

  it('ends when its output floods', async () => {
    const bash = runner(await open({ limits: { outputBytes: 1000 } }));
    expect(await bash('yes')).toMatchObject({
      ended_by: 'output',
      limit: 'outputBytes',
      truncated: true,
      session_ended: 'output',
    });
  });

  if (!isolated) return;

  it('spares what scripts before left, also what they started after their end', async () => {
    const bash = runner(await open());
    const made = fileMade(workspace, 'started');
    await bash('(sleep 0.2; (setsid sleep 1005 &); sleep 0.1; touch started) &');
    await made;
    expect(await bash('(setsid sleep 1006 &); sleep 1007', { wallMs: 300 })).toMatchObject({
      ended_by: 'timeout',
    });
    expect((await bash('ps -eo args= | grep "^sleep 100[0-9]"')).stdout).toBe('sleep 1005\n');
  });

  it('runs the next script although the shell that waited for it was killed', async () => {
    const bash = runner(await open());
    const made = fileMade(workspace, 'killed');
    // A signal takes effect when a process runs next: the file is made when all that it was for are gone.
    const others = 'ps --ppid $PPID -o pid=,stat= | grep -v Z | grep -vw $me';
    const untilGone = `me=$BASHPID; while [ -n "$(${others})" ]; do sleep 0.05; done`;
    await bash(
      `export A=1; (trap "" TERM; sleep 0.2; kill -TERM -1; sleep 0.1; ${untilGone}; touch killed) &`,
    );
    await made;
    expect(await bash('cat; echo $A', { stdin: 'given\n' })).toMatchObject({
      exit_code: 0,
      stdout: 'given\n1\n',
    });
  });

  it('tells that its program was killed from within', async () => {
    const session = await open();
    const killed = await session.run({ script: 'echo here; kill -KILL -1; sleep 10' });
    expect(killed).toMatchObject({ session_ended: 'killed', exit_code: null });
    expect(await session.ended).toBe('killed');
    const other = await open();
    expect(await other.run({ script: 'kill -TERM -1; echo alive' })).toMatchObject({
      session_ended: null,
      stdout: 'alive\n',
    });
    expect((await other.run({ script: 'echo still' })).stdout).toBe('still\n');
  });

  it('tells that memory ran out', async () => {
    const hog = 'perl -e \'my @a; push @a, "x" x 1048576 while 1\'';
    const session = await open({ limits: { memoryBytes: 128 * MiB } });
    const result = await session.run({ script: hog });
    expect(result).toMatchObject({ ended_by: 'memory', limit: 'memoryBytes' });
  });

  it('shows nothing that a script could write of its own running', async () => {
    const bash = runner(await open());
    const touched = await bash('touch /run/session/x; echo x >/run/session/state; ls /run/session');
    expect(touched.stderr).toMatch(/Read-only file system.*Read-only file system/s);
    expect((await bash('cat /proc/*/environ | tr "\\0" "\\n"', {})).stdout).not.toContain('SECRET');
  });
}
