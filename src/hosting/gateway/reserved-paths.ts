import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { TrustedProxies } from '../../platform/http/index.js';
import { AccessControl } from './access/access-control.js';
import { AccessPolicies } from './access/access-policies.js';
import { isSameOrigin } from './access/fetch-site.js';
import { ViewerTokens } from './access/viewer-tokens.js';
import { Visits } from './access/visits.js';
import { readBody, sendHtml, sendJson, sendTo } from './answers.js';
import type { HostedRequest, ReservedRequest } from './hosted-request.js';
import { NO_SUCH_PATH, passwordPage, roundFailed } from './pages.js';
import { SiteActions } from './site-actions.js';

/** Path prefix of the gateway on every host. */
export const RESERVED = '/_atelier/';

const ACTION = /^\/_atelier\/actions\/([a-z][a-z0-9_]{2,63})$/;

/** Sign-in, sign-out, passwords, viewer and actions, on every host. */
@Injectable()
export class ReservedPaths {
  constructor(
    private readonly config: Config,
    private readonly visits: Visits,
    private readonly policies: AccessPolicies,
    private readonly control: AccessControl,
    private readonly viewers: ViewerTokens,
    private readonly actions: SiteActions,
    private readonly proxies: TrustedProxies,
  ) {}

  async answer(asked: ReservedRequest): Promise<void> {
    const { url, request, response } = asked;
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    switch (`${method} ${url.pathname}`) {
      case 'GET /_atelier/sign-in':
        return this.beginRound(asked, nextOf(url.searchParams.get('next')));
      case 'GET /_atelier/enter':
        return this.enter(asked);
      case 'GET /_atelier/unlock':
        return sendHtml(response, 200, passwordPage(nextOf(url.searchParams.get('next'))));
      case 'POST /_atelier/unlock':
        return this.unlock(asked);
      case 'POST /_atelier/sign-out':
        return this.signOut(asked);
      case 'GET /_atelier/viewer':
        return this.tellViewer(asked);
    }
    const [, action] = ACTION.exec(url.pathname) ?? [];
    if (action && method === 'POST') return this.actions.run(asked, action);
    return sendJson(response, 404, NO_SUCH_PATH);
  }

  beginRound({ host, request, response }: HostedRequest, next: string): void {
    const { cookie, state } = this.visits.startRound(request);
    const query = new URLSearchParams({ to: `${host.origin}${next}`, state });
    sendTo(response, `${this.config.baseUrl}/hosting/enter?${query}`, [cookie], 302);
  }

  private async enter({ host, url, request, response }: ReservedRequest): Promise<void> {
    const { cookies } = this.visits;
    // Programs that only look at an address spend nothing.
    const ticket = request.method === 'GET' ? (url.searchParams.get('ticket') ?? '') : '';
    const { policy_version } = await this.policies.find(host.target);
    const entered = await this.visits.enter(request, host, ticket, policy_version);
    if (!entered) {
      const cleared = [cookies.clear('round'), cookies.clear('start')];
      sendHtml(response, 400, roundFailed('/'), { 'set-cookie': cleared });
      return;
    }
    // One round is enough: where the browser is not let in after it, it sees why.
    sendTo(response, `${host.origin}${entered.path}`, [
      entered.cookie,
      cookies.clear('start'),
      cookies.set('round', '1'),
    ]);
  }

  private async unlock({ host, request, response }: ReservedRequest): Promise<void> {
    if (!isSameOrigin(request, host.origin)) {
      sendJson(response, 403, { detail: 'This form does not come from the page that you were shown' });
      return;
    }
    const body = await readBody(request);
    if (!body) {
      sendJson(response, 413, { detail: 'The form is too large' }, { connection: 'close' });
      return;
    }
    const fields = new URLSearchParams(body.toString());
    const next = nextOf(fields.get('next'));
    const password = (fields.get('password') ?? '').slice(0, 257);
    try {
      const cookie = await this.control.openByPassword(host, password, this.proxies.clientOf(request));
      if (cookie) sendTo(response, `${host.origin}${next}`, [cookie]);
      else sendHtml(response, 422, passwordPage(next, 'This is not the password.'));
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      sendHtml(response, problem.status, passwordPage(next, `${problem.detail}.`), problem.headers);
    }
  }

  private async signOut({ host, request, response }: ReservedRequest): Promise<void> {
    if (!isSameOrigin(request, host.origin)) {
      sendJson(response, 403, { detail: 'Only a page of this host can sign out here' });
      return;
    }
    await this.visits.end(request, host.target);
    sendJson(response, 200, { signed_out: true }, { 'set-cookie': this.visits.cookies.clear('visit') });
  }

  private async tellViewer({ host, request, response }: ReservedRequest): Promise<void> {
    const admission = await this.control.admit(host, request, { wantsViewer: true });
    if ('refused' in admission) {
      sendJson(response, 401, { detail: 'Sign in to open this' });
      return;
    }
    const { viewer } = admission.admitted;
    if (viewer && !isSameOrigin(request, host.origin)) {
      sendJson(response, 403, { detail: 'Only a page of this host is told who looks at it' });
      return;
    }
    const told = viewer && (await this.viewers.describe(host, viewer));
    const token = viewer ? await this.viewers.sign(host, viewer) : null;
    sendJson(response, 200, { signed_in: viewer !== undefined, viewer: told ?? null, token });
  }
}

/** Path to continue at, on the same host; anything else becomes /. */
const nextOf = (next: string | null): string =>
  next && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) && next.length <= 2_000 ? next : '/';
