import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { escapeHtml } from '#libs/html/index.js';
import type { Actor } from '../../platform/access/index.js';
import { type FormPlace, type HtmlPage, sendOn, sendPage, signInForm } from '../../platform/pages/index.js';
import type { OpenPage, PageSessions } from './page-sessions.js';

/** Who looks at the page of what, and where the answer goes. */
export interface PersonAtPage {
  readonly opened: OpenPage;
  readonly person: Actor;
  /** As the address has it: anything may be there. */
  readonly id: string;
}

/**
 * Pages at which a person signs in, looks at one thing and answers, for a controller at `path`: forms, no scripts. Opening
 * one changes nothing.
 */
export abstract class PersonPages {
  protected constructor(
    private readonly path: string,
    /** What they sign in for. */
    private readonly reason: string,
    private readonly sessions: PageSessions,
  ) {}

  /** Shows the thing as it stands for this person. */
  protected abstract tell(at: PersonAtPage): Promise<void>;

  @Get(':id')
  show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.show(request, reply, this.addressOf(request), async opened => {
      const { person } = opened;
      if (person) await this.tell({ opened, person, id: idOf(request) });
      else sendPage(reply, this.signInPage(opened, ''));
    });
  }

  @Post(':id/sign-in')
  signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, this.addressOf(request), (opened, fields) =>
      this.sessions.signIn(opened, fields, (email, problem) => this.signInPage(opened, email, problem)),
    );
  }

  @Post(':id/sign-out')
  signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, this.addressOf(request), opened =>
      this.sessions.signOut(opened),
    );
  }

  /** Takes a form of the page; of who is not signed in any more it takes nothing, and shows the page again. */
  protected take(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (at: PersonAtPage, fields: URLSearchParams) => Promise<void>,
  ): Promise<void> {
    return this.sessions.submit(request, reply, this.addressOf(request), async (opened, fields) => {
      const { person } = opened;
      if (person) await work({ opened, person, id: idOf(request) }, fields);
      else sendOn(reply, opened.address);
    });
  }

  private addressOf(request: FastifyRequest): string {
    return `${this.path}/${encodeURIComponent(idOf(request))}`;
  }

  private signInPage({ address, csrf }: FormPlace, email: string, problem?: string): HtmlPage {
    return {
      title: 'Sign in',
      body: `<p>${escapeHtml(this.reason)}</p>
${signInForm(`${address}/sign-in`, csrf, email, problem)}`,
    };
  }
}

const idOf = ({ params }: FastifyRequest): string => (params as { id?: string }).id ?? '';
