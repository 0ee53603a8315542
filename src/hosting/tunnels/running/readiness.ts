import { setTimeout as sleep } from 'node:timers/promises';
import { statusOf } from '#libs/reverse-proxy/index.js';
import { PortRefused } from '#libs/sandbox-door/index.js';
import type { ServerRow } from '../records/servers.store.js';
import type { RunningProgram } from './server-programs.js';

const START_MS = 60_000;
const CHECK_MS = 10_000;
/** Between two looks at a program that starts, by how long it has been starting. */
const PAUSES = [
  { before: 300, ms: 10 },
  { before: 1_000, ms: 50 },
  { before: 3_000, ms: 250 },
];
const LAST_PAUSE_MS = 500;

type Health = Pick<ServerRow, 'port' | 'health_path'>;

/** Why a program does not answer, in a sentence. */
export class NotReady extends Error {}

/** After so long it is said what is missing. */
const PATIENCE_MS = 2_000;

/** Resolves with the port on which a program answers; tells meanwhile why it does not. Rejects with {@link NotReady} after a minute, or the signal's reason. */
export async function readyPort(
  program: RunningProgram,
  server: Health,
  {
    signal,
    tell,
    unreached,
  }: {
    signal: AbortSignal;
    tell: (reason: string) => Promise<void>;
    /** What the program could not reach, in sentences; empty where that is not known. */
    unreached: () => string;
  },
): Promise<number> {
  const begun = performance.now();
  let told = '';
  for (;;) {
    signal.throwIfAborted();
    const port = await portOf(program, server);
    const problem = port === undefined ? 'It listens on no port.' : await checked(program, port, server);
    if (port !== undefined && problem === undefined) return port;
    const elapsed = performance.now() - begun;
    if (elapsed > PATIENCE_MS) {
      const missing = [problem, await advice(program, server), unreached()].filter(Boolean).join(' ');
      if (elapsed > START_MS)
        throw new NotReady(`The program was not ready within ${START_MS / 1000} seconds. ${missing}`);
      if (missing !== told) await tell(missing);
      told = missing;
    }
    const { ms } = PAUSES.find(({ before }) => elapsed < before) ?? { ms: LAST_PAUSE_MS };
    await sleep(ms, undefined, { signal });
  }
}

/** A sentence where a program does not answer as it should; undefined where it does. */
export async function checked(
  { door }: RunningProgram,
  port: number,
  { health_path }: Health,
): Promise<string | undefined> {
  const limit = AbortSignal.timeout(CHECK_MS);
  try {
    const socket = await door.connect(port, limit);
    if (health_path === null) {
      socket.destroy();
      return undefined;
    }
    const status = await statusOf(socket, {
      path: health_path,
      host: `localhost:${port}`,
      signal: limit,
    });
    return status >= 200 && status < 400 ? undefined : `${health_path} answers ${status}.`;
  } catch (error) {
    if (error instanceof PortRefused) return `It accepts no connections on port ${port}.`;
    if (limit.aborted) return `It does not answer within ${CHECK_MS / 1000} seconds.`;
    return `It does not answer: ${(error as Error).message}.`;
  }
}

/** The port that was named, or $PORT, or else the only other one that is open. */
async function portOf(program: RunningProgram, { port }: Health): Promise<number | undefined> {
  if (port !== null || !program.hasOwnPorts) return program.port;
  const open = await program.door.ports().catch((): number[] => []);
  if (open.includes(program.port)) return program.port;
  const others = open.filter(other => other !== RELAY_PORT);
  return others.length === 1 ? others[0] : undefined;
}

/** What to do about it, as far as the ports tell. */
async function advice(program: RunningProgram, { port }: Health): Promise<string> {
  if (!program.hasOwnPorts) return '';
  const open = (await program.door.ports().catch((): number[] => [])).filter(other => other !== RELAY_PORT);
  if (open.includes(program.port)) return '';
  if (open.length === 0) return `It must listen on port ${program.port}, which the variable PORT says.`;
  const named = open.join(', ');
  return port === null
    ? `It listens on several ports (${named}), and not on the one that PORT says (${program.port}): set port to the one that is meant.`
    : `It listens on port ${named} instead of ${port}: set port to that, or let it listen on $PORT.`;
}

/** Of the way out of the sandbox. */
const RELAY_PORT = 3128;
