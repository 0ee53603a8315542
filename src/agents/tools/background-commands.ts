import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type SandboxSession, SessionOver } from '#libs/sandbox/index.js';
import { newId } from '../../platform/database/index.js';
import { Conflict, NotFound } from '../../platform/errors/index.js';
import type { ScriptResult, Shell } from '../../workspaces/sandboxes/index.js';
import {
  type BackgroundPlace,
  type BackgroundProcess,
  type BackgroundStanding,
  killScript,
  readScript,
  standingIn,
  startedIn,
  startScript,
} from './background-scripts.js';
import { OUTPUTS } from './long-outputs.js';

/** So many commands of one shell may run in the background at once. */
const MAX_AT_ONCE = 8;

/** A command that runs in the background, or did. */
export interface BackgroundCommand extends BackgroundPlace {
  readonly id: string;
  readonly startedAt: number;
  /** How long it took, once it has ended. */
  readonly tookSeconds: number | null;
}

interface Known extends BackgroundPlace {
  readonly id: string;
  readonly startedAt: number;
  readonly process: BackgroundProcess;
  readonly session: SandboxSession;
  /** Bytes of its output that were given already. */
  read: number;
  hasEnded: boolean;
}

/** How a command stands, and what is new of its output. */
export interface BackgroundReading extends Omit<BackgroundStanding, 'state' | 'endedAt' | 'read'> {
  readonly command: BackgroundCommand;
  /** `gone`: its sandbox has ended, and it with that. */
  readonly state: BackgroundStanding['state'] | 'gone';
}

const GONE =
  'ended with the sandbox of this run when the run was interrupted or waited for a person; what it had written until then is in its file';

/** The commands of one shell that run in the background. */
class ShellCommands {
  private readonly known = new Map<string, Known>();
  /** Those of the shells before this one. */
  private readonly lost = new Map<string, string>();
  private count = 0;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly shell: Shell,
    private readonly folder: string,
  ) {}

  /** Commands of an earlier shell of the same run. */
  resume(ids: readonly string[]): void {
    for (const id of ids) {
      this.lost.set(id, fileOf(this.folder, id));
      this.count = Math.max(this.count, Number(id.slice(1)));
    }
  }

  /** The script that starts one, and what reads its output; 409 where as many run as may. */
  async prepare(command: string) {
    const running = [...this.known.values()].filter(one => !one.hasEnded);
    if (running.length >= MAX_AT_ONCE) for (const one of running) await this.read(one.id, undefined, true);
    const left = [...this.known.values()].filter(one => !one.hasEnded).map(({ id }) => id);
    if (left.length >= MAX_AT_ONCE)
      throw new Conflict(
        `${left.length} commands run in the background already (${left.join(', ')}); end one with bash_kill`,
      );
    this.count += 1;
    const id = `c${this.count}`;
    const place = { folder: this.folder, file: fileOf(this.folder, id) };
    const mark = newMark();
    const startedAt = Date.now();
    const started = (result: ScriptResult): (BackgroundCommand & { line: string }) | undefined => {
      const found = startedIn(result.stdout, mark);
      const { session } = this.shell;
      if (!found || !session) return undefined;
      const { line, ...process } = found;
      const known = { ...place, id, startedAt, process, session, read: 0, hasEnded: false };
      this.known.set(id, known);
      return { ...place, id, startedAt, tookSeconds: null, line };
    };
    return { script: startScript(command, place, mark), started };
  }

  /** What is new of it, by lines that match `filter`; with `peek`, it is new the next time, too. 404 where it is not known. */
  read(id: string, filter: string | undefined, peek = false): Promise<BackgroundReading> {
    // Two at once would be given the same.
    const reading = this.turn.then(() => this.readNow(id, filter, peek));
    this.turn = reading.catch(() => undefined);
    return reading;
  }

  private async readNow(id: string, filter: string | undefined, peek: boolean): Promise<BackgroundReading> {
    const known = this.require(id);
    const mark = newMark();
    const script = readScript(known.process, known, { from: known.read, filter }, mark);
    const output = await this.inSession(known, script);
    const standing = output === undefined ? undefined : standingIn(output, mark);
    const { id: _, startedAt, folder, file } = known;
    const command = { id, startedAt, folder, file, tookSeconds: null };
    if (!standing) {
      known.hasEnded = true;
      return { command, state: 'gone', exitCode: null, bytes: 0, text: '' };
    }
    const { endedAt, read, state, ...rest } = standing;
    known.hasEnded = state === 'ended' || state === 'killed';
    if (!peek && state !== 'bad_filter') known.read = read;
    const tookSeconds = endedAt === null ? null : Math.max(0, endedAt - Math.floor(startedAt / 1000));
    return { command: { ...command, tookSeconds }, state, ...rest };
  }

  /** Ends it with all of its process group, and gives what is new of its output. */
  async kill(id: string): Promise<BackgroundReading> {
    const known = this.require(id);
    await this.inSession(known, killScript(known.process));
    return this.read(id, undefined);
  }

  /** Undefined where the session has ended. */
  private async inSession({ session }: Known, script: string): Promise<string | undefined> {
    try {
      const result = await session.run({ script });
      return result.session_ended === null ? result.stdout : undefined;
    } catch (error) {
      if (error instanceof SessionOver) return undefined;
      throw error;
    }
  }

  private require(id: string): Known {
    const known = this.known.get(id);
    if (known) return known;
    const file = this.lost.get(id);
    if (file !== undefined)
      throw new NotFound(`The command ${id} ${GONE}: ${file}. Start it again if it is still wanted`);
    const ids = [...this.known.keys()].join(', ');
    throw new NotFound(
      `No command ${id.slice(0, 64)} was started here; ${ids ? `there are ${ids}` : 'bash with run_in_background gives the id of one'}`,
    );
  }
}

/** Finds the commands in the background of each shell. They end with its sandbox. */
@Injectable()
export class BackgroundCommands {
  private readonly shells = new WeakMap<Shell, ShellCommands>();

  /** `runId`: of the run whose shell it is. */
  of(shell: Shell, runId?: string): ShellCommands {
    let commands = this.shells.get(shell);
    // Ids of runs sort by time, and so do these.
    commands ??= new ShellCommands(shell, `${OUTPUTS}/${runId ?? newId()}`);
    this.shells.set(shell, commands);
    return commands;
  }
}

const fileOf = (folder: string, id: string): string => `${folder}/bash-${id}.txt`;

/** What no command can write by chance. */
const newMark = (): string => `@${randomBytes(12).toString('hex')}`;
