import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { EmailVerificationService } from '../../../identity/auth/index.js';
import { type OpenPage, PageSessions } from '../../../identity/page-sessions/index.js';
import { type Actor, Public } from '../../../platform/access/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { sendOn, sendPage } from '../../../platform/pages/index.js';
import { type HostedHost, HostTable } from '../hosts/host-table.js';
import { normalizeHost } from '../hosts/hosting-domain.js';
import { AccessPolicies } from './access-policies.js';
import { effectiveMode, mayOpen } from './access-policy.js';
import { linkSentPage, notAllowedPage, signInPage } from './enter-pages.js';
import { ViewerKeys } from './viewer-keys.js';
import { Visits } from './visits.js';
import { VisitsStore } from './visits.store.js';

const PAGE = '/hosting/enter';
const STATE = /^[\w-]{43}$/;
const MAX_PATH = 2_000;

/** Where a browser wants to go. `state` is the hash of the nonce in its cookie. */
interface Destination {
  readonly host: HostedHost;
  readonly path: string;
  readonly state: string;
}

/**
 * Sign-in for sites, on the service's own origin. Hands over a ticket: valid once, for a minute, on one host, for one browser.
 */
@Public()
@ApiExcludeController()
@Controller()
export class EnterController {
  constructor(
    private readonly sessions: PageSessions,
    private readonly hosts: HostTable,
    private readonly policies: AccessPolicies,
    private readonly visits: Visits,
    private readonly store: VisitsStore,
    private readonly keys: ViewerKeys,
    private readonly verification: EmailVerificationService,
  ) {}

  @Get(PAGE)
  show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.show(request, reply, pageAddress(request), async opened => {
      const destination = await this.readDestination(request);
      if (opened.person) await this.enter(opened, opened.person, destination);
      else sendPage(reply, signInPage(opened, destination.host, ''));
    });
  }

  @Post(`${PAGE}/sign-in`)
  signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, pageAddress(request), async (opened, fields) => {
      const { host } = await this.readDestination(request);
      await this.sessions.signIn(opened, fields, (email, problem) =>
        signInPage(opened, host, email, problem),
      );
    });
  }

  @Post(`${PAGE}/sign-out`)
  signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, pageAddress(request), opened =>
      this.sessions.signOut(opened),
    );
  }

  @Post(`${PAGE}/confirm-address`)
  confirmAddress(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, pageAddress(request), async opened => {
      const { host } = await this.readDestination(request);
      const { person } = opened;
      if (!person) return sendOn(reply, opened.address);
      await this.verification.sendAgain(person);
      sendPage(reply, linkSentPage(opened, host, person.email ?? person.name));
    });
  }

  /** Public keys that verify viewer tokens. */
  @Get('/hosting/jwks.json')
  async jwks(@Res() reply: FastifyReply): Promise<void> {
    void reply.header('cache-control', 'public, max-age=300').send(await this.keys.jwks());
  }

  private async enter(opened: OpenPage, person: Actor, destination: Destination): Promise<void> {
    const { host, path, state } = destination;
    const policy = await this.policies.find(host.target);
    const onlooker = await this.store.onlooker(person.id, host.target);
    const mode = effectiveMode(policy, host.version);
    if (!onlooker || !mayOpen(policy, mode, host.target, onlooker)) {
      const isConfirmed = onlooker?.email_verified !== false;
      sendPage(opened.reply, notAllowedPage(opened, host, person.email ?? person.name, isConfirmed), 403);
      return;
    }
    const sessionId = person.credential.id;
    const ticket = await this.visits.ticketFor(host, { userId: person.id, sessionId, state, path });
    sendOn(opened.reply, `${host.origin}/_atelier/enter?ticket=${ticket}`);
  }

  /** 404 for hosts that are not ours. */
  private async readDestination({ query }: FastifyRequest): Promise<Destination> {
    const { to, state } = query as Record<string, unknown>;
    const url = typeof to === 'string' ? URL.parse(to) : null;
    const host = url && (await this.hosts.find(normalizeHost(url.host)));
    if (!url || !host || url.origin !== host.origin || typeof state !== 'string' || !STATE.test(state))
      throw new NotFound('This address leads to no site; open the site again');
    const path = url.pathname + url.search;
    return { host, path: path.length > MAX_PATH ? '/' : path, state };
  }
}

/** Includes the destination, so that forms keep it. */
function pageAddress({ query }: FastifyRequest): string {
  const { to = '', state = '' } = query as Record<string, unknown>;
  return `${PAGE}?${new URLSearchParams({ to: String(to), state: String(state) })}`;
}
