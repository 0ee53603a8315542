import { Injectable } from '@nestjs/common';
import { AccessControl, type Refusal } from './access/access-control.js';
import { LINK_PARAMETER } from './access/access-views.js';
import { isBot, isNavigation } from './access/fetch-site.js';
import { Visits } from './access/visits.js';
import { sendHtml, sendJson, sendProblem, sendTo } from './answers.js';
import { HostedContents } from './hosted-contents.js';
import type { HostedRequest, ReservedRequest } from './hosted-request.js';
import { OwnCredentials, refusalOfKey } from './own-credentials.js';
import * as pages from './pages.js';
import { RESERVED, ReservedPaths } from './reserved-paths.js';

/** Serves requests that are admitted, and tells others how to get in. */
@Injectable()
export class HostedRequests {
  constructor(
    private readonly contents: HostedContents,
    private readonly control: AccessControl,
    private readonly visits: Visits,
    private readonly reserved: ReservedPaths,
    private readonly credentials: OwnCredentials,
  ) {}

  async open(asked: HostedRequest): Promise<boolean> {
    const { host, request, response } = asked;
    const { target } = host;
    if (request.url?.startsWith(RESERVED)) {
      await this.reserved.answer(withUrl(asked));
      return true;
    }
    if (this.credentials.areIn(request)) {
      sendJson(response, 401, { detail: refusalOfKey(target) });
      return false;
    }
    if (request.url?.includes(LINK_PARAMETER) && (await this.openedByLink(withUrl(asked)))) return true;
    const decision = this.control.admit(host, request, { wantsViewer: target.kind === 'server' });
    const admission = decision instanceof Promise ? await decision : decision;
    if ('refused' in admission) {
      this.refuse(asked, admission.refused);
      return false;
    }
    await this.contents.find(target.kind)?.serve(host, admission.admitted, request, response);
    return true;
  }

  /** Trades the secret of a link for a cookie, and removes it from the address. */
  private async openedByLink({ host, url, request, response }: ReservedRequest): Promise<boolean> {
    if (request.method !== 'GET' || !url.searchParams.has(LINK_PARAMETER)) return false;
    const cookie = await this.control.openByLink(host, url.searchParams.get(LINK_PARAMETER) ?? '');
    if (!cookie) return false;
    url.searchParams.delete(LINK_PARAMETER);
    sendTo(response, `${host.origin}${url.pathname}${url.search}`, [cookie], 302);
    return true;
  }

  private refuse(asked: HostedRequest, { why, policy, email = '' }: Refusal): void {
    const { request, response } = asked;
    const next = request.url ?? '/';
    if (why === 'bad_token')
      sendJson(response, 401, {
        detail: 'This access token does not open this: unknown, revoked or expired',
      });
    else if (why === 'not_allowed') sendProblem(request, response, 403, pages.notAllowed(email, next));
    else if (isBot(request)) sendHtml(response, 401, pages.signInFirst(next, policy.public_preview));
    else if (!isNavigation(request)) sendJson(response, 401, pages.PROGRAM_REFUSED);
    else if (why === 'password') sendHtml(response, 401, pages.passwordPage(next));
    else if (why === 'link') sendHtml(response, 401, pages.linkOnly(next));
    else this.sendRound(asked, next);
  }

  /** A browser that just came back from the sign-in page gets a page, or it would loop. */
  private sendRound(asked: HostedRequest, next: string): void {
    const { request, response } = asked;
    const { cookies } = this.visits;
    if (cookies.read(request.headers, 'round').length === 0) this.reserved.beginRound(asked, next);
    else sendHtml(response, 401, pages.roundFailed(next), { 'set-cookie': cookies.clear('round') });
  }
}

const withUrl = (asked: HostedRequest): ReservedRequest => ({
  ...asked,
  url: new URL(`http://host${asked.request.url}`),
});
