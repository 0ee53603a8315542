import { setTimeout as sleep } from 'node:timers/promises';
import { statusOf } from '#libs/reverse-proxy/index.js';
import { PortRefused } from '#libs/sandbox-door/index.js';
import type { ServerRow } from '../records/servers.store.js';
import type { RunningProgram } from './server-programs.js';

const START_MS = 60_000;
const CHECK_MS = 10_000;
/** Pause between two checks, by time since the start. */
const PAUSES = [
  { before: 300, ms: 10 },
  { before: 1_000, ms: 50 },
  { before: 3_000, ms: 250 },
];
const LAST_PAUSE_MS = 500;

type Health = Pick<ServerRow, 'port' | 'health_path'>;

export class NotReady extends Error {}

/** Reasons are reported after this time. */
const PATIENCE_MS = 2_000;

/** Resolves with the port of a ready program. Rejects with {@link NotReady} after a minute, or with the abort reason. */
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
    unreached: () => string;
  },
): Promise<number> {
  const begun = performance.now();
  let reported = '';
  for (;;) {
    signal.throwIfAborted();
    const port = await findPort(program, server);
    const problem = port === undefined ? 'It listens on no port.' : await checked(program, port, server);
    if (port !== undefined && problem === undefined) return port;
    const elapsed = performance.now() - begun;
    if (elapsed > PATIENCE_MS) {
      const missing = [problem, await advice(program, server), unreached()].filter(Boolean).join(' ');
      if (elapsed > START_MS)
        throw new NotReady(`The program was not ready within ${START_MS / 1000} seconds. ${missing}`);
      if (missing !== reported) await tell(missing);
      reported = missing;
    }
    const { ms } = PAUSES.find(({ before }) => elapsed < before) ?? { ms: LAST_PAUSE_MS };
    await sleep(ms, undefined, { signal });
  }
}

/** The problem, in a sentence; undefined if the program is healthy. */
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

/** The configured port, else $PORT, else the only other open one. */
async function findPort(program: RunningProgram, { port }: Health): Promise<number | undefined> {
  if (port !== null || !program.hasOwnPorts) return program.port;
  const open = await program.door.ports().catch((): number[] => []);
  if (open.includes(program.port)) return program.port;
  const others = open.filter(other => other !== RELAY_PORT);
  return others.length === 1 ? others[0] : undefined;
}

/** Advice based on the open ports. */
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

/** Port of the egress relay. */
const RELAY_PORT = 3128;
