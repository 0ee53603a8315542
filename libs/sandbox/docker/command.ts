import { randomUUID } from 'node:crypto';
import { SandboxFailure, SandboxRefusal } from '../errors.js';
import type { SandboxLimits } from '../limits.js';
import { limitCommands } from '../process-limits.js';
import { callerUid } from '../request.js';
import type { Owner, SandboxRequest } from '../sandbox.js';
import type { Running } from '../supervision.js';
import type { ContainerProcess, ProcessSettings, SandboxContainer } from './container.js';
import { WORKSPACE } from './container-settings.js';
import type { Engine } from './engine.js';

/** The kernel takes no longer argument (MAX_ARG_STRLEN); the engine would only say so late. */
const LONGEST_ARGUMENT = 128 * 1024 - 1;
const HOME = '/tmp/home';
export const environment = { HOME, LANG: 'C.UTF-8', TERM: 'dumb' };
/** Exit code of a command whose folder is missing; its output then is a word that no command knows. */
export const NO_FOLDER = 125;
const UNREACHABLE = 'The owner of the command cannot reach the workspace folder';

export interface CommandPlan {
  request: SandboxRequest;
  /** Relative to the workspace. */
  cwd: string;
  limits: SandboxLimits;
  owner: Owner | undefined;
}

/** One command in a container of its own, which ends with it. */
export class DockerCommand implements Running {
  readonly stdout: Running['stdout'];
  readonly stderr: Running['stderr'];
  /** Known when the command has ended. */
  ranOutOfMemory = false;
  refusedProcesses = false;

  private constructor(
    private readonly container: SandboxContainer,
    private readonly process: ContainerProcess,
    private readonly word: string,
  ) {
    this.stdout = process.output.stdout;
    this.stderr = process.output.stderr;
  }

  static async start(container: SandboxContainer, engine: Engine, plan: CommandPlan): Promise<DockerCommand> {
    const word = randomUUID();
    const process = await container.start(settings(engine, plan, word));
    if (plan.request.stdin !== undefined) process.input.end(plan.request.stdin);
    return new DockerCommand(container, process, word);
  }

  kill(): void {
    void this.container.kill();
  }

  async exited(): Promise<[number | null, NodeJS.Signals | null]> {
    const code = await this.process.exit;
    this.ranOutOfMemory = await this.container.ranOutOfMemory();
    this.refusedProcesses = this.container.keeper.latest.refusedProcesses > 0;
    await this.container.kill(); // and with it what the command left, which may hold its output open
    return code === null ? [null, 'SIGKILL'] : [code, null];
  }

  /** @throws SandboxRefusal or SandboxFailure if the command never ran */
  checkStarted(code: number | null, output: string): void {
    if (code !== NO_FOLDER || !output.startsWith(this.word)) return;
    if (output.includes('closed')) throw new SandboxFailure(UNREACHABLE);
    throw new SandboxRefusal('The folder to start in does not exist');
  }
}

function settings(engine: Engine, plan: CommandPlan, word: string): ProcessSettings {
  const { argv, env, stdin } = plan.request;
  if (argv.some(argument => Buffer.byteLength(argument) > LONGEST_ARGUMENT)) {
    throw new SandboxRefusal(
      'The command line is too long (128 KiB at most per argument): use standard input',
    );
  }
  return {
    Cmd: ['/bin/sh', '-c', starter(plan.limits), 'sh', word, plan.cwd, ...argv],
    Env: Object.entries({ ...environment, ...env }).map(([name, value]) => `${name}=${value}`),
    User: userOf(engine, plan.owner),
    WorkingDir: WORKSPACE,
    AttachStdin: stdin !== undefined,
  };
}

/**
 * A shell that confines itself, goes where the command starts, runs it and kills what it leaves: the engine would wait
 * for every process that still holds the output. What the shell itself would say of a command's end, no one shall read.
 */
function starter(limits: SandboxLimits): string {
  return [
    ...confining(limits),
    `cd . 2>/dev/null && [ -x . ] || { echo "$1 closed"; exit ${NO_FOLDER}; }`,
    `cd -- "$2" 2>/dev/null || { echo "$1"; exit ${NO_FOLDER}; }`,
    'shift 2',
    'exec 3>&2 2>/dev/null',
    '(exec "$@" 2>&3 3>&-)',
    'status=$?',
    'kill -9 -1',
    'exit $status',
  ].join('\n');
}

/** What a shell does first that a command comes out of. */
export function confining(limits: SandboxLimits): string[] {
  return [limitCommands(limits, undefined), `mkdir -p -m 700 ${HOME}`];
}

/** Without root, inside is who the service is; where the engine is no root either, that is its root. */
export function userOf({ isRootless }: Engine, owner: Owner | undefined): string {
  if (isRootless) return '0:0';
  const { uid, gid } = owner ?? { uid: callerUid(), gid: process.getgid?.() ?? -1 };
  if (uid === 0) throw new SandboxFailure('A command may not be root of the host');
  return `${uid}:${gid}`;
}
