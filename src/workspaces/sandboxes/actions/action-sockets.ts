import { once } from 'node:events';
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { parseJson } from '#libs/exact-json/index.js';
import { scratchFolder } from '#libs/sandbox/index.js';
import { EFFECTS } from '../../../platform/access/index.js';
import {
  type ActionCall,
  type ActionCaller,
  ActionCatalog,
  ActionListing,
  ActionRunner,
  declarationFor,
} from '../../../platform/actions/index.js';
import { Config } from '../../../platform/config/index.js';
import { checked, decodeCursor, Field, pageOf } from '../../../platform/dto/index.js';
import {
  BadRequest,
  NotFound,
  problemOf,
  TooLarge,
  TooManyRequests,
} from '../../../platform/errors/index.js';
import { MAX_BODY_BYTES } from '../../../platform/http/index.js';
import { Log } from '../../../platform/log/index.js';

const MAX_CONNECTIONS = 32;
/** How long the head of a request is waited for, from the connection on. */
const HEAD_MS = 10_000;
/** Concurrent calls of one command. */
const MAX_CONCURRENT = 8;
const MAX_LISTED = 200;
/** Invalid calls of one command that go into the ledger; more are refused. */
const MAX_INVALID = 100;
const PATH = /^\/api\/actions-exec(?:\/([^/]+))?$/;

class RunBody {
  @Field.json('The input', { optional: true }) input?: unknown;
  @Field.boolean('Only check', { optional: true }) dry_run?: boolean;
}

interface Parts {
  readonly catalog: ActionCatalog;
  readonly listing: ActionListing;
  readonly runner: ActionRunner;
  readonly log: Log;
  /** Most bytes of a body. */
  readonly maxBytes: number;
}

/** Whom a socket acts as; what lasts long asks each time. */
export type ActionSource = ActionCaller | (() => Promise<ActionCaller>);

/** HTTP on a unix socket, as `/api/actions-exec`, for one caller without a credential. */
export class ActionSocket {
  private readonly server: Server;
  private underWay = 0;
  private invalid = 0;

  constructor(
    private readonly source: ActionSource,
    private readonly parts: Parts,
  ) {
    this.server = createServer(
      { headersTimeout: HEAD_MS, connectionsCheckingInterval: HEAD_MS / 2 },
      (request, response) => void this.serve(request, response),
    );
    this.server.maxConnections = MAX_CONNECTIONS;
  }

  async listen(address: string): Promise<void> {
    this.server.listen(address);
    await once(this.server, 'listening');
  }

  /** Actions under way end by themselves, and are in the ledger. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.underWay++;
    try {
      if (this.underWay > MAX_CONCURRENT)
        throw new TooManyRequests(`At most ${MAX_CONCURRENT} actions run at once for one command`);
      answer(response, 200, await this.call(request));
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) this.parts.log.error({ err: error }, 'an action called from a sandbox failed');
      answer(response, problem?.status ?? 500, { detail: problem?.detail ?? 'Internal server error' });
    } finally {
      this.underWay--;
    }
  }

  private async call(request: IncomingMessage): Promise<unknown> {
    const { pathname = '', searchParams } = URL.parse(request.url ?? '/', 'http://localhost') ?? {};
    const [matched, encoded] = PATH.exec(pathname) ?? [];
    const name = encoded === undefined ? undefined : decoded(encoded);
    if (matched !== undefined && request.method === 'GET')
      return name === undefined ? this.list(searchParams ?? new URLSearchParams()) : this.describe(name);
    if (name === undefined || request.method !== 'POST') throw new NotFound('Nothing is here');
    const caller = await this.caller();
    return this.parts.runner.run(caller, await this.callOf(caller, name, request));
  }

  /** Records an invalid call in the ledger, as a refused one. */
  private async callOf(caller: ActionCaller, name: string, request: IncomingMessage): Promise<ActionCall> {
    try {
      const given = await this.read(request);
      this.parts.catalog.require(name);
      const body = checked(RunBody, given);
      return { name, input: body.input, dryRun: body.dry_run };
    } catch (error) {
      if (!problemOf(error)) throw error;
      if (++this.invalid > MAX_INVALID)
        throw new TooManyRequests(
          `This command has made ${MAX_INVALID} invalid calls; further ones are refused`,
        );
      throw await this.parts.runner.refuse(caller, { name }, error);
    }
  }

  private async list(query: URLSearchParams): Promise<unknown> {
    const [from = '0'] = decodeCursor(query.get('cursor') ?? undefined, 'number');
    const found = await this.parts.listing.of(await this.caller(), {
      q: query.get('q') ?? undefined,
      effect: EFFECTS.find(effect => effect === query.get('effect')),
    });
    const rows = found.map((action, position) => ({ action, position })).slice(Number(from));
    const view = ({ action }: (typeof rows)[number]) => action.describe();
    return pageOf(rows, MAX_LISTED, view, ({ position }) => [position + 1]);
  }

  private async describe(name: string): Promise<unknown> {
    const action = this.parts.catalog.require(name);
    (await this.caller()).requireMayRun(declarationFor(action.declaration));
    return action.describe();
  }

  private caller(): Promise<ActionCaller> | ActionCaller {
    return typeof this.source === 'function' ? this.source() : this.source;
  }

  private async read(request: IncomingMessage): Promise<unknown> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > this.parts.maxBytes)
        throw new TooLarge(`The body may have at most ${this.parts.maxBytes} bytes`);
      chunks.push(chunk);
    }
    try {
      return parseJson(Buffer.concat(chunks).toString() || '{}');
    } catch {
      throw new BadRequest('The body is not JSON');
    }
  }
}

/** Returns a part that is wrongly encoded as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

/** Where the compiled command is, below the folder of the service's package. */
const COMMAND = 'dist/src/workspaces/sandboxes/actions/actions-command.js';

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** A listening socket, in a host folder with the command that uses it: `actions.sock`, `bin/actions`. */
export interface OpenActionSocket {
  readonly folder: string;
  close(): Promise<void>;
}

/**
 * Sockets for programs in sandboxes. A program that reaches one acts as its caller, so each is mounted for one command and ends
 * with it.
 */
@Injectable()
export class ActionSockets {
  private readonly scratchDir: string;
  private command: Promise<string> | undefined;

  constructor(
    private readonly catalog: ActionCatalog,
    private readonly listing: ActionListing,
    private readonly runner: ActionRunner,
    config: Config,
    private readonly log: Log,
  ) {
    this.scratchDir = config.scratchDir;
  }

  /** `owner`: the account that connects, if it is not the service's own. */
  async open(source: ActionSource, owner: Owner | undefined): Promise<OpenActionSocket> {
    const { scratchDir, catalog, listing, runner, log } = this;
    const folder = await scratchFolder(scratchDir, 'atelier-actions');
    const socket = new ActionSocket(source, { catalog, listing, runner, log, maxBytes: MAX_BODY_BYTES });
    const close = async () => {
      await socket.close();
      await rm(folder, { recursive: true, force: true });
    };
    try {
      await this.fill(folder, socket, owner);
      return { folder, close };
    } catch (error) {
      await close();
      throw error;
    }
  }

  private async fill(folder: string, socket: ActionSocket, owner: Owner | undefined): Promise<void> {
    this.command ??= readFile(commandPath(), 'utf8');
    await mkdir(path.join(folder, 'bin'));
    await writeFile(path.join(folder, 'bin', 'actions'), await this.command, { mode: 0o755 });
    const address = path.join(folder, 'actions.sock');
    await socket.listen(address);
    if (!owner) return;
    await chown(address, owner.uid, owner.gid);
    // Last: from here on only that account reaches what is inside.
    await chown(folder, owner.uid, owner.gid);
  }
}

function commandPath(): string {
  const manifest = findPackageJSON(import.meta.url);
  if (!manifest) throw new Error('The package of the service was not found');
  return path.join(path.dirname(manifest), COMMAND);
}
