import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../../platform/access/index.js';
import { Conflict, problemOf } from '../../platform/errors/index.js';
import { type HtmlPage, sendOn, sendPage } from '../../platform/pages/index.js';
import { InvitedAccounts, problemOfNewcomer } from '../auth/index.js';
import type { OpenPage, PageSessions } from '../page-sessions/index.js';
import { type NoticeOf, noticePage } from './notices.js';
import { type Offer, offerPage, otherAccountHtml, signInToGoOn, type Tried } from './offer-page.js';

const MAX_CHARACTERS = 257;

type Page = HtmlPage & { status?: number };

/** What the pages need to know of an invitation, of whatever kind. */
export interface Invited {
  /** pending, accepted, or what there is a notice of. */
  readonly status: string;
  readonly email: string;
  readonly accepted_by: string | null;
  readonly invited_by_name: string | null;
}

/** What a person reads who has accepted, by where they are. */
interface Accepted {
  /** For visitors who are not signed in as the one who accepted. */
  readonly title: string;
  /** Why to sign in. */
  readonly text: string;
  pageOf(person: Actor): Promise<Page>;
}

/**
 * The page of an invitation, for a controller at `<kind>/:token`: asks the invited to accept, with their account or with one
 * made of the form. Forms, no scripts; opening the page changes nothing, as programs that look through mail open it too.
 */
export abstract class InvitationPages<I extends Invited> {
  protected constructor(
    private readonly kind: 'invitations' | 'file-invitations',
    protected readonly sessions: PageSessions,
    private readonly accounts: InvitedAccounts,
  ) {}

  protected abstract find(token: string): Promise<I | undefined>;
  protected abstract offerOf(invitation: I): Pick<Offer, 'title' | 'says'>;
  protected abstract acceptedBy(opened: OpenPage, invitation: I): Accepted;
  /** Without a person: with a new account. */
  protected abstract take(
    person: Actor | null,
    newcomer: { token: string; name: string; password: string },
  ): Promise<unknown>;
  protected abstract refuse(token: string): Promise<unknown>;

  @Get()
  show(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.sessions.show(request, reply, this.addressOf(token), async opened => {
      const page = await this.pageOf(opened, token);
      sendPage(reply, page, page.status);
    });
  }

  @Post('accept')
  accept(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.sessions.submit(request, reply, this.addressOf(token), (opened, fields) =>
      this.acceptForm(opened, token, fields),
    );
  }

  @Post('decline')
  decline(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.sessions.submit(request, reply, this.addressOf(token), async opened => {
      await this.refuse(token);
      if (await this.find(token)) sendOn(reply, opened.address);
      else sendPage(reply, noticePage('declined'));
    });
  }

  @Post('sign-in')
  signIn(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.sessions.submit(request, reply, this.addressOf(token), (opened, fields) =>
      this.sessions.signIn(opened, fields, (email, problem) =>
        this.pageOf(opened, token, { email, problem }),
      ),
    );
  }

  @Post('sign-out')
  signOut(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.sessions.submit(request, reply, this.addressOf(token), opened =>
      this.sessions.signOut(opened),
    );
  }

  protected addressOf(token: string): string {
    return `/${this.kind}/${encodeURIComponent(token)}`;
  }

  private async pageOf(opened: OpenPage, token: string, tried?: Tried): Promise<Page> {
    const invitation = await this.find(token);
    if (!invitation) return noticePage('unknown');
    const { status, email, invited_by_name } = invitation;
    if (status === 'accepted') return this.acceptedPage(opened, invitation, tried);
    if (status !== 'pending') return noticePage(status as NoticeOf, invited_by_name);
    const account = await this.accounts.standingOf(email);
    return offerPage(opened, { ...this.offerOf(invitation), email, account }, tried);
  }

  private async acceptedPage(opened: OpenPage, invitation: I, tried?: Tried): Promise<Page> {
    const { email, accepted_by } = invitation;
    const { person } = opened;
    const { title, text, pageOf } = this.acceptedBy(opened, invitation);
    if (!person) return signInToGoOn(opened, { title, text, email, tried });
    if (person.id === accepted_by) return pageOf(person);
    return { title, body: otherAccountHtml(opened, person.email ?? person.name, email) };
  }

  /** A new account is signed in at once. A form that is sent twice leads to the same end the second time. */
  private async acceptForm(opened: OpenPage, token: string, fields: URLSearchParams): Promise<void> {
    const { person, reply, address } = opened;
    const name = (fields.get('name') ?? '').slice(0, MAX_CHARACTERS);
    const password = (fields.get('password') ?? '').slice(0, MAX_CHARACTERS);
    const problem = person ? undefined : problemOfNewcomer(name, password);
    if (problem) return sendPage(reply, await this.pageOf(opened, token, { name, problem }), 422);
    try {
      await this.take(person ?? null, { token, name, password });
    } catch (error) {
      // It was accepted before, perhaps by the same form: the page shows how it stands.
      const isDone = problemOf(error) instanceof Conflict && (await this.find(token))?.status === 'accepted';
      if (!isDone) throw error;
    }
    if (person) return sendOn(reply, address);
    const email = (await this.find(token))?.email ?? '';
    await this.sessions.enter(opened, { email, password });
  }
}
