import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { isOutage } from '#libs/resilient-postgres/index.js';
import type { SandboxResult } from '#libs/sandbox/index.js';
import { Log } from '../../../platform/log/index.js';
import { unreachedHost, WORKSPACE_EGRESS } from '../../../workspaces/egress/index.js';
import { ServerLogs } from '../logs/server-logs.js';
import {
  type EndState,
  type InstanceAddress,
  type InstanceRow,
  InstancesStore,
} from '../records/instances.store.js';
import { isUp } from '../records/server-states.js';
import { type ServerRow, ServersStore } from '../records/servers.store.js';
import { CRASH_LOOP, decideEndState, describeExit } from './end-state.js';
import { checked, NotReady, readyPort } from './readiness.js';
import { ServerDependencies } from './server-dependencies.js';
import { ServerLinks } from './server-links.js';
import { type RunningProgram, ServerPrograms } from './server-programs.js';

const CHECK_EVERY_MS = 15_000;
/** Failed checks in a row after which the program is ended. */
const MAX_FAILURES = 3;
const TAIL_LINES = 20;
const TAIL_CHARACTERS = 4096;
/** How long connections may continue after a successor took over. */
const DRAIN_MS = 30_000;
const LOST_MS = 2_000;
const RETRY_WRITE_MS = 1_000;

@Injectable()
export class InstanceTools {
  constructor(
    readonly log: Log,
    readonly servers: ServersStore,
    readonly instances: InstancesStore,
    readonly dependencies: ServerDependencies,
    readonly programs: ServerPrograms,
    readonly logs: ServerLogs,
    readonly links: ServerLinks,
  ) {}
}

/** Runs one process of a server: starts it, checks it, and records its end. */
export class Instance {
  program: RunningProgram | undefined;
  /** Port on which it answers; undefined until it is ready. */
  port: number | undefined;
  private lastOutput = '';
  /** The server as it was when the program started. */
  private server: ServerRow | undefined;
  private readonly over = new AbortController();
  /** Aborted if the instance must end before its program has started. */
  private readonly preparing = new AbortController();
  private readonly startedAt = performance.now();
  /** Why the service ended the program. */
  private fault: string | undefined;
  private asked: EndState | 'unwanted' | undefined;
  private isReady = false;
  private draining: Promise<void> | undefined;
  private checking: Promise<void> | undefined;

  constructor(
    readonly row: InstanceRow,
    private readonly tools: InstanceTools,
  ) {}

  /** Resolves when the instance has ended and that is recorded. */
  async run(): Promise<void> {
    const { servers, instances } = this.tools;
    const server = await servers.find(this.row.server_id);
    if (!server) return;
    const writer = this.tools.logs.writer(server.id, this.row.id);
    const unsubscribe = instances.watch(server.id, () => void this.look());
    let result: SandboxResult | { error: unknown };
    try {
      await this.prepare(server, writer);
      this.program = await this.tools.programs.start(server, this.row.id, ({ stream, text }) => {
        this.lastOutput = (this.lastOutput + text).slice(-TAIL_CHARACTERS);
        writer.write(stream, text);
      });
      // It may have been stopped since the claim.
      await this.look();
      if (this.asked) this.program.stop();
      void this.attend(this.program, server);
      result = await this.program.ended;
    } catch (error) {
      result = { error };
    } finally {
      unsubscribe();
      this.over.abort();
    }
    await writer.end();
    await this.settle(server, result);
  }

  /** `after`: state of the server afterwards; `unwanted`: it is set already. */
  stop(after: EndState | 'unwanted'): void {
    this.asked ??= after;
    this.preparing.abort();
    this.program?.stop();
  }

  /** Checks at once, for a caller that could not connect. */
  check(): Promise<void> {
    this.checking ??= this.checkNow().finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  private async prepare(server: ServerRow, writer: ReturnType<ServerLogs['writer']>): Promise<void> {
    const tell = () => this.tools.instances.tell(this.row, 'Its dependencies are being installed.');
    await this.tools.dependencies.provide(server, {
      onInstall: () => void this.unlessAway(undefined, tell),
      onOutput: ({ stream, text }) => writer.write(stream, text),
      signal: this.preparing.signal,
    });
  }

  private async look(): Promise<void> {
    const { servers, instances, log } = this.tools;
    try {
      const server = await servers.find(this.row.server_id);
      // Where this process was taken for lost, its instance has ended, and another one may run.
      const isLost = (await instances.find(this.row.id))?.state === 'ended';
      if (!server || !isUp(server.state) || isLost) this.stop('unwanted');
      else if (server.generation !== this.row.generation) this.giveWay(server);
    } catch (error) {
      // The next publication, as after a lost connection, looks again.
      log.warn({ err: error, server_id: this.row.server_id }, 'a server could not be looked at');
    }
  }

  /** Stops at once, or after its successor is ready and connections have drained. */
  private giveWay({ overlap, state }: ServerRow): void {
    if (!overlap || !this.isReady) this.stop('unwanted');
    else if (state === 'running') this.draining ??= this.drain().then(() => this.stop('unwanted'));
  }

  private async drain(): Promise<void> {
    const until = performance.now() + DRAIN_MS;
    const { signal } = this.over;
    while (performance.now() < until && (this.program?.door.connections ?? 0) > 0)
      await sleep(200, undefined, { signal }).catch(() => undefined);
  }

  private async attend(program: RunningProgram, server: ServerRow): Promise<void> {
    const { signal } = this.over;
    try {
      await this.reachable(program, signal);
      const address = await this.tools.links.address();
      this.port = await readyPort(program, server, {
        signal,
        unreached: () => this.unreached(),
        tell: reason => this.unlessAway(undefined, () => this.tools.instances.tell(this.row, reason)),
      });
      const isWanted = await this.becomeReady({ address, port: this.port }, signal);
      if (!isWanted) return this.stop('unwanted');
      this.isReady = true;
      // It may have been restarted since.
      await this.look();
      await this.watch(program, server, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof NotReady))
        this.tools.log.warn({ err: error, server_id: server.id }, 'a server could not be started');
      this.end(error instanceof NotReady ? error.message : 'The service could not start it.');
    }
  }

  private reachable({ door }: RunningProgram, signal: AbortSignal): Promise<void> {
    // It is lost, too, where all of the sandbox ends.
    door.once('lost', () => {
      const timer = setTimeout(() => this.end('The helper by which it is reached was ended.'), LOST_MS);
      signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
    });
    if (door.isOpen) return Promise.resolve();
    return new Promise((resolve, reject) => {
      door.once('open', () => resolve());
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }

  /** Retries while the database is away. */
  private async becomeReady(at: { address: InstanceAddress; port: number }, signal: AbortSignal) {
    for (;;) {
      const isWanted = await this.unlessAway(undefined, () => this.tools.instances.ready(this.row, at));
      if (isWanted !== undefined) return isWanted;
      await sleep(RETRY_WRITE_MS, undefined, { signal });
    }
  }

  private async watch(program: RunningProgram, server: ServerRow, signal: AbortSignal): Promise<void> {
    this.server = server;
    for (;;) {
      const toSleep = await this.msToSleep();
      await sleep(Math.min(CHECK_EVERY_MS, Math.max(0, toSleep) + 100), undefined, { signal });
      await this.check();
      await this.reportUsage(program);
      if (program.door.connections === 0 && (await this.msToSleep()) <= 0)
        this.stop({
          state: 'sleeping',
          reason: 'It had no requests for a while; the next one starts it.',
          restarts: 0,
        });
    }
  }

  private reportUsage({ usage }: RunningProgram): Promise<void> {
    return this.unlessAway(undefined, async () => {
      const now = usage?.();
      if (!now) return;
      const { memory_bytes: memoryBytes, cpu_ms: cpuMs } = now;
      await this.tools.instances.report(this.row.id, { memoryBytes, cpuMs });
    });
  }

  private async checkNow(): Promise<void> {
    const { program, port, server } = this;
    if (!program || port === undefined || !server) return;
    for (let failures = 1; failures <= MAX_FAILURES; failures++) {
      const problem = await checked(program, port, server);
      if (problem === undefined || this.over.signal.aborted) return;
      if (failures === MAX_FAILURES)
        this.end(`It was restarted: it did not answer ${MAX_FAILURES} times. ${problem}`);
      else await sleep(1000 * failures);
    }
  }

  private async msToSleep(): Promise<number> {
    const { instances } = this.tools;
    // While the database is away, nobody knows of requests that other processes sent.
    const seconds = await this.unlessAway(undefined, () => instances.secondsToSleep(this.row));
    return seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1000;
  }

  /** Returns `otherwise` while the database is away: the program continues. */
  private async unlessAway<T>(otherwise: T, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isOutage(error)) throw error;
      this.tools.log.debug({ err: error, server_id: this.row.server_id }, 'server supervision paused');
      return otherwise;
    }
  }

  /** What the program could not reach, according to the proxy or its output. */
  private unreached(): string {
    const refused = this.program?.refused;
    const host = refused === undefined ? unreachedHost(this.lastOutput) : undefined;
    if (host !== undefined) return `${host} cannot be reached from here. ${WORKSPACE_EGRESS.advice}`;
    return refused ?? '';
  }

  private end(fault: string): void {
    this.fault ??= fault;
    this.program?.stop();
  }

  private async settle(server: ServerRow, result: SandboxResult | { error: unknown }): Promise<void> {
    const memoryBytes = this.tools.programs.memoryLimit(server);
    const failed = 'error' in result;
    const ended = failed ? { exit_code: null, signal: null, ended_by: 'stopped' as const } : result;
    if (failed) this.fault ??= `It could not be started: ${(result.error as Error).message}.`;
    const tail = this.asked ? '' : await this.tools.logs.lastLines(server.id, TAIL_LINES).catch(() => '');
    const exit = describeExit(ended, { memoryBytes, fault: this.fault, tail, unreached: this.unreached() });
    const ranMs = performance.now() - this.startedAt;
    for (;;) {
      try {
        return await this.write(server, this.asked ? null : exit, ranMs);
      } catch (error) {
        // Until the rows say it, nobody else may begin: the database may be away.
        this.tools.log.warn(
          { err: error, server_id: server.id },
          'the end of a server could not be stored; trying again',
        );
        await sleep(RETRY_WRITE_MS);
      }
    }
  }

  private async write(
    server: ServerRow,
    exit: ReturnType<typeof describeExit> | null,
    ranMs: number,
  ): Promise<void> {
    const { instances } = this.tools;
    if (!exit) {
      await instances.end(this.row, null, this.asked === 'unwanted' ? undefined : this.asked);
      return;
    }
    const crashes = 1 + (await instances.crashesSince(server.id, CRASH_LOOP.seconds));
    await instances.end(
      this.row,
      exit,
      decideEndState({ server, exit, ranMs, crashes, random: Math.random() }),
    );
  }
}
