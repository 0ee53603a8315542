import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { SandboxFailure, SandboxRefusal } from '../errors.js';
import type { PipeSocket } from '../pipe-socket.js';
import { findProgram } from '../programs.js';
import type { SandboxSession } from '../session.js';
import { makePipe, SessionFolder } from '../session-folder.js';
import { firstState, sessionProgram } from '../session-shell.js';
import { type SessionPlace, ShellSession } from '../shell-session.js';
import { type CommandPlan, confining, environment, NO_FOLDER, userOf } from './command.js';
import { type ContainerProcess, SandboxContainer } from './container.js';
import { WORKSPACE } from './container-settings.js';
import type { Engine } from './engine.js';
import { killScript } from './kill-script.js';

/** Where a session finds its scripts, inside. */
const FOLDER = '/run/session';

/**
 * The program of a session runs beside the keeper. It is controlled through its own input and output; what its scripts
 * write goes through named pipes in the session's folder, which hold nothing back when a script is over, as a connection
 * of the engine does.
 */
export async function openDockerSession(engine: Engine, plan: CommandPlan): Promise<SandboxSession> {
  const opened = await prepare(engine, plan);
  const { folder, outputs, container, program } = opened;
  const user = userOf(engine, plan.owner);
  container.keeper.sample();
  const takeDown = async (): Promise<void> => {
    await container.kill();
    await folder.remove();
  };
  const place: SessionPlace = {
    ...outputs,
    folder,
    control: controlOf(program),
    kill: () => void container.kill(),
    dead: program.exit.then(takeDown, takeDown),
    signal: (pid, signal) =>
      void container.tell(['bash', '-c', `kill -s ${signal.replace('SIG', '')} -- -${pid}`], user),
    killScript: (pid, since) =>
      void container.tell(killScript(pid, Date.now() - (performance.now() - since)), user),
    refusals: async () => {
      const outOfMemory = await container.ranOutOfMemory();
      const { memoryKills, refusedProcesses } = container.keeper.latest;
      return { memory: Math.max(memoryKills, Number(outOfMemory)), processes: refusedProcesses };
    },
    usage: () => container.keeper.usage(),
    // The container's first process counts, and does not tell who they are.
    hasOthers: () => true,
  };
  const session = new ShellSession(place, plan.limits, plan.request.signal);
  const said = await session.opened();
  if (said === undefined) return session;
  if ((await program.exit) === NO_FOLDER) throw new SandboxRefusal('The folder to start in does not exist');
  throw new SandboxFailure(`No session could be opened: ${said}`);
}

interface Opened {
  folder: SessionFolder;
  outputs: { stdout: PipeSocket; stderr: PipeSocket };
  container: SandboxContainer;
  program: ContainerProcess;
}

async function prepare(engine: Engine, plan: CommandPlan): Promise<Opened> {
  const { request, owner, cwd, limits } = plan;
  const mkfifo = findProgram('mkfifo');
  if (!mkfifo) throw new SandboxFailure('A session needs mkfifo (coreutils) where the service runs');
  const { scratchFolder } = engine.options;
  const state = firstState({ ...environment, PATH, ...request.env }, WORKSPACE, join(WORKSPACE, cwd));
  const folder = await SessionFolder.create(mkfifo, owner, state, scratchFolder);
  try {
    const [stdout, stderr] = [
      await makePipe(mkfifo, join(folder.path, 'stdout'), owner),
      await makePipe(mkfifo, join(folder.path, 'stderr'), owner),
    ];
    const readOnlyBinds = [...(request.readOnlyBinds ?? []), { from: folder.path, to: FOLDER }];
    const shown = { workspace: request.workspace, readOnlyBinds, limits };
    const container = await SandboxContainer.open(engine, shown);
    const program = await container.start({
      Cmd: ['/bin/sh', '-c', starter(plan), 'sh', cwd, ...sessionProgram(FOLDER, { hear: 3, tell: 4 })],
      Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      User: userOf(engine, owner),
      WorkingDir: WORKSPACE,
      AttachStdin: true,
    });
    return { folder, outputs: { stdout, stderr }, container, program };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function starter({ limits }: CommandPlan): string {
  return [
    ...confining(limits),
    `cd -- "$1" 2>/dev/null || exit ${NO_FOLDER}`,
    'shift',
    `exec "$@" 3<&0 4>&1 </dev/null >${FOLDER}/stdout 2>${FOLDER}/stderr`,
  ].join('\n');
}

/** To the program's input, and from its output. */
function controlOf({ input, output }: ContainerProcess): Duplex {
  output.stderr.resume();
  const control = Duplex.from({ writable: input, readable: output.stdout });
  return control.on('error', () => undefined); // it shows in the end of the program
}
