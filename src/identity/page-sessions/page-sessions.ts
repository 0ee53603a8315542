import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../../platform/access/index.js';
import { problemOf } from '../../platform/errors/index.js';
import {
  type FormPlace,
  type HtmlPage,
  problemPage,
  readFields,
  START_WAY,
  sendOn,
  sendPage,
} from '../../platform/pages/index.js';
import type { Login } from '../auth/index.js';
import { type PageVisit, PageVisits } from './page-visits.js';

const MAX_CHARACTERS = 256;

/** One of our pages, as one browser has opened it. */
export interface OpenPage extends FormPlace {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly visit: PageVisit;
  /** Who is signed in at this browser. */
  readonly person: Actor | undefined;
}

/** Pages with forms, at which people sign in and out: no scripts, and opening one changes nothing. */
@Injectable()
export class PageSessions {
  constructor(private readonly visits: PageVisits) {}

  /** The page at `address`; its forms go to addresses below it. */
  async open(request: FastifyRequest, reply: FastifyReply, address: string): Promise<OpenPage> {
    const visit = await this.visits.of(request, reply);
    const person = await this.visits.personOf(visit);
    return { request, reply, address, visit, person, csrf: this.visits.csrf(visit, address) };
  }

  /** Shows a page. A problem is shown as a page, too. */
  async show(
    request: FastifyRequest,
    reply: FastifyReply,
    address: string,
    work: (opened: OpenPage) => Promise<void>,
  ): Promise<void> {
    await showProblems(await this.open(request, reply, address), work);
  }

  /** Takes a form, which counts only if it comes from the page that this browser was shown. */
  async submit(
    request: FastifyRequest,
    reply: FastifyReply,
    address: string,
    work: (opened: OpenPage, fields: URLSearchParams) => Promise<void>,
  ): Promise<void> {
    await showProblems(await this.open(request, reply, address), async opened => {
      const fields = await readFields(request);
      this.visits.requireOwnForm(request, opened.visit, address, fields.get('csrf'));
      await work(opened, fields);
    });
  }

  /** Signs in with what the form holds and shows the page again; or asks once more, by `ask`, and says what was wrong. */
  async signIn(
    opened: OpenPage,
    fields: URLSearchParams,
    ask: (email: string, problem: string) => HtmlPage | Promise<HtmlPage>,
  ): Promise<void> {
    const email = (fields.get('email') ?? '').slice(0, MAX_CHARACTERS);
    const password = (fields.get('password') ?? '').slice(0, MAX_CHARACTERS + 1);
    try {
      await this.visits.signIn(opened.request, opened.reply, { email, password });
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      const status = problem.status === 401 ? 422 : problem.status;
      sendPage(opened.reply, await ask(email, `${problem.detail}.`), status);
      return;
    }
    sendOn(opened.reply, opened.address);
  }

  /** Signs in with a password that was set just now. Where it is not the right one, the page asks for it. */
  async enter({ request, reply, address }: OpenPage, login: Login): Promise<void> {
    try {
      await this.visits.signIn(request, reply, login);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
    }
    sendOn(reply, address);
  }

  async signOut({ visit, reply, address }: OpenPage): Promise<void> {
    await this.visits.signOut(visit, reply);
    sendOn(reply, address);
  }
}

async function showProblems(opened: OpenPage, work: (opened: OpenPage) => Promise<void>): Promise<void> {
  try {
    await work(opened);
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
    const isForm = opened.request.method === 'POST';
    const way = isForm ? { href: opened.address, label: 'Start again' } : START_WAY;
    sendPage(opened.reply, problemPage(problem.detail, way), problem.status, problem.headers);
  }
}
