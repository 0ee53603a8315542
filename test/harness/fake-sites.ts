import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { UpgradeClient } from '../../libs/reverse-proxy/index.js';
import {
  type Admitted,
  type HostedContent,
  HostedContents,
  type HostedHost,
  type HostedTarget,
  type HostedTargetSource,
  HostedTargets,
  HostNames,
  type OfferedActions,
  slugify,
} from '../../src/hosting/gateway/index.js';

import { Database, newId } from '../../src/platform/database/index.js';
import type { Person, TestService } from './service.js';

/** Sites without versions and builds, for what is decided before a site is asked: each answers with what it was told. */
export class FakeSites {
  private static readonly made = new WeakMap<NestFastifyApplication, FakeSites>();

  /** Those of a service, the same each time. */
  static of({ app }: TestService): FakeSites {
    const sites = FakeSites.made.get(app) ?? new FakeSites(app);
    FakeSites.made.set(app, sites);
    return sites;
  }

  readonly targets = new Map<string, HostedTarget>();
  readonly offered = new Map<string, OfferedActions>();
  /** HTML by slug and path: `docs/index.html`. */
  readonly pages = new Map<string, string>();
  /** Sockets that are open. */
  readonly sockets = new Set<Duplex>();

  private constructor(private readonly app: NestFastifyApplication) {
    // Before the feature that has the real ones, which are still there.
    const sources = mapOf<HostedTargetSource>(app.get(HostedTargets, { strict: false }), 'sources');
    const contents = mapOf<HostedContent>(app.get(HostedContents, { strict: false }), 'contents');
    const [real, realContent] = [sources.get('site'), contents.get('site')];
    const source: HostedTargetSource = {
      kind: 'site',
      find: async id => this.targets.get(id) ?? real?.find(id),
    };
    const content: HostedContent = {
      kind: 'site',
      serve: (host, ...rest) =>
        this.targets.has(host.target.id)
          ? this.serve(host, ...rest)
          : (realContent?.serve(host, ...rest) ?? Promise.resolve()),
      upgrade: this.upgrade,
      actions: async id => this.offered.get(id) ?? realContent?.actions?.(id),
    };
    sources.set('site', source);
    contents.set('site', content);
  }

  async make(
    service: TestService,
    person: Person,
    name: string,
    workspaceId?: string,
  ): Promise<HostedTarget> {
    const target: HostedTarget = {
      kind: 'site',
      id: newId(),
      workspaceId: workspaceId ?? (await service.workspace(person)),
      organizationId: person.organizationId,
      name,
      slug: slugify(name),
      createdBy: person.id,
    };
    await this.claim(target);
    this.targets.set(target.id, target);
    return target;
  }

  async claim({ kind, id: targetId, workspaceId, slug: own }: HostedTarget, slug = own): Promise<void> {
    const names = this.app.get(HostNames, { strict: false });
    await this.unit(unit => names.rename(unit, { kind, targetId, workspaceId, slug }));
  }

  /** Opens a site to everybody, its versions as well. */
  async publish({ id }: HostedTarget, { client }: Person): Promise<void> {
    const { status } = await client.put(`/api/site-access/${id}`, { mode: 'public', versions: 'same' });
    if (status !== 200) throw new Error(`opening a site answered ${status}`);
  }

  async release({ kind, id }: HostedTarget): Promise<void> {
    const names = this.app.get(HostNames, { strict: false });
    this.targets.delete(id);
    await this.unit(unit => names.release(unit, kind, id));
  }

  private unit<T>(work: Parameters<Database['transaction']>[0]): Promise<T> {
    return this.app.get(Database, { strict: false }).transaction(work) as Promise<T>;
  }

  private readonly serve = async (
    { target, version, host }: HostedHost,
    admitted: Admitted,
    { url, method }: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const page = this.pages.get(target.slug + url?.split('?')[0]);
    if (page !== undefined) {
      response
        .writeHead(200, { 'content-type': url?.endsWith('.js') ? 'text/javascript' : 'text/html' })
        .end(page);
      return;
    }
    const body = JSON.stringify({ site: target.slug, version, host, url, method, ...admitted });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };

  /** Opens a WebSocket over which nothing comes. */
  private readonly upgrade = async (
    _host: HostedHost,
    _admitted: Admitted,
    { request: { headers }, socket }: UpgradeClient,
  ): Promise<void> => {
    const accept = createHash('sha1')
      .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
  };
}

/** The map that a registry keeps. */
const mapOf = <T>(registry: object, name: string): Map<string, T> =>
  (registry as Record<string, Map<string, T>>)[name] as Map<string, T>;
