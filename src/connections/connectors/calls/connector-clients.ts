import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { Unavailable } from '../../../platform/errors/index.js';
import { Circuits } from '../client/circuit.js';
import { ConnectorFault, toFault } from '../client/connector-fault.js';
import { type Authority, RemoteServer } from '../client/remote-server.js';
import { nameOf } from '../tools/pin.js';

/** Where it is, and what it was when it was read: a change makes a connection of its own. */
export interface Target {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly revision: number;
}

const AT_ONCE = 8;
const IDLE_MS = 5 * 60_000;
const MAX_CLIENTS = 500;
/** How long a list of tools is reused. */
const FRESH_MS = 1_000;
export const MAX_TOOLS = 200;

/** A connection, and what its server said of its tools the last time. */
export class OpenConnection {
  private listed: { readonly at: number; readonly tools: Promise<ReadonlyMap<string, unknown>> } | undefined;

  constructor(readonly server: RemoteServer) {}

  /** What the server says now, or a moment ago; calls at once ask once. */
  tools(authority: Authority, { fresh = false } = {}): Promise<ReadonlyMap<string, unknown>> {
    const at = performance.now();
    if (!fresh && this.listed && at - this.listed.at < FRESH_MS) return this.listed.tools;
    const tools = this.server.tools(MAX_TOOLS, authority).then(byName);
    this.listed = { at, tools };
    tools.catch(() => {
      if (this.listed?.tools === tools) this.listed = undefined;
    });
    return tools;
  }
}

interface Held {
  readonly target: Target;
  readonly opening: Promise<OpenConnection>;
  users: number;
  isGone: boolean;
  idle?: NodeJS.Timeout;
}

/** Connections to remote servers: one for each credential of a connector, until it was idle for five minutes. */
@Injectable()
export class ConnectorClients implements OnApplicationShutdown {
  private readonly held = new Map<string, Held>();
  private readonly limit = new ConcurrencyLimit(AT_ONCE, 'calls of this connector run');
  private readonly circuits = new Circuits();

  constructor(private readonly outgoing: GuardedFetch) {}

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.held].map(([key, held]) => this.drop(key, held)));
  }

  /**
   * Works with a connection. Throws LimitReached where too much is under way, Unavailable while the server is left alone,
   * ConnectorFault for what goes wrong there. A session that is gone is begun anew, once.
   */
  use<T>(
    target: Target,
    credentialId: string,
    authority: Authority,
    work: (connection: OpenConnection) => Promise<T>,
  ): Promise<T> {
    const turn = { key: target.id, signal: authority.signal };
    return this.limit.run(async () => {
      const objection = this.circuits.objection(target.id);
      if (objection !== undefined) throw new Unavailable(`${target.name} is not called now. ${objection}`);
      try {
        const result = await this.attempt(target, credentialId, authority, work, true);
        this.circuits.succeeded(target.id);
        return result;
      } catch (error) {
        authority.signal.throwIfAborted();
        if (error instanceof ConnectorFault && error.isTrouble)
          this.circuits.failed(target.id, error.message);
        throw error;
      }
    }, turn);
  }

  private async attempt<T>(
    target: Target,
    credentialId: string,
    authority: Authority,
    work: (connection: OpenConnection) => Promise<T>,
    mayBeginAnew: boolean,
  ): Promise<T> {
    const key = `${target.id} ${credentialId}`;
    const { held, isNew } = this.take(key, target, authority);
    try {
      return await work(await held.opening);
    } catch (error) {
      const fault = error instanceof ConnectorFault ? error : undefined;
      if (fault && fault.kind !== 'refused') await this.drop(key, held);
      if (fault?.kind !== 'session' || isNew || !mayBeginAnew) throw error;
      return this.attempt(target, credentialId, authority, work, false);
    } finally {
      this.release(key, held);
    }
  }

  private take(key: string, target: Target, authority: Authority): { held: Held; isNew: boolean } {
    const known = this.held.get(key);
    const isGood = known?.target.url === target.url && known.target.revision === target.revision;
    if (known && isGood) {
      known.users++;
      clearTimeout(known.idle);
      return { held: known, isNew: false };
    }
    if (known) void this.drop(key, known);
    const opening = RemoteServer.connect(this.outgoing, target.url, authority).then(
      server => new OpenConnection(server),
      (error: unknown) => {
        authority.signal.throwIfAborted();
        throw toFault(error);
      },
    );
    const held: Held = { target, opening, users: 1, isGone: false };
    opening.catch(() => this.forget(key, held));
    this.held.set(key, held);
    this.makeRoom();
    return { held, isNew: true };
  }

  private release(key: string, held: Held): void {
    if (--held.users > 0) return;
    if (held.isGone) void close(held);
    else {
      held.idle = setTimeout(() => void this.drop(key, held), IDLE_MS);
      held.idle.unref();
    }
  }

  /** Forgets a connection; it closes when its last user is done. */
  private async drop(key: string, held: Held): Promise<void> {
    this.forget(key, held);
    if (held.isGone) return;
    held.isGone = true;
    clearTimeout(held.idle);
    if (held.users === 0) await close(held);
  }

  private forget(key: string, held: Held): void {
    if (this.held.get(key) === held) this.held.delete(key);
  }

  /** Closes the oldest connection that nobody uses. */
  private makeRoom(): void {
    if (this.held.size <= MAX_CLIENTS) return;
    const idle = [...this.held].find(([, { users }]) => users === 0);
    if (idle) void this.drop(...idle);
  }
}

async function close({ opening }: Held): Promise<void> {
  const connection = await opening.catch(() => undefined);
  await connection?.server.close();
}

/** Of two tools of one name, the first counts; one without a name goes by its place. */
function byName(tools: readonly unknown[]): ReadonlyMap<string, unknown> {
  const named = tools.map((tool, at): [string, unknown] => [nameOf(tool) ?? `(number ${at + 1})`, tool]);
  return new Map(named.reverse());
}
