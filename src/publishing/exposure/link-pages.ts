import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { WorkspaceFsError, type WorkspaceFsErrorCode } from '#libs/workspace-fs/index.js';
import { Gone, NotFound, type Problem, problemOf } from '../../platform/errors/index.js';
import { readForm } from '../../platform/pages/index.js';
import { LinkAccess, Locked, type Protected } from './link-access.js';
import { passwordPage, sendNotice, sendSharePage, sendWords } from './pages/page.js';
import type { OpenLink } from './public-link.js';

/** Whatever of these it is, the visitor finds nothing. */
const ABSENT: readonly WorkspaceFsErrorCode[] = [
  'not_found',
  'symlink',
  'not_directory',
  'is_directory',
  'not_regular',
  'invalid_path',
  'denied',
];

export const isAbsent = (error: unknown): boolean =>
  error instanceof WorkspaceFsError && ABSENT.includes(error.code);

/** What visitors read of a failure; undefined for a bug of ours. They read the name of a file, not the folders above it. */
export function visitorProblem(error: unknown): Problem | undefined {
  if (!(error instanceof WorkspaceFsError)) return problemOf(error);
  return problemOf(new WorkspaceFsError(error.code, error.path.slice(error.path.lastIndexOf('/') + 1)));
}

type Link = Pick<OpenLink<never>, 'visited'>;

/** What visitors of any link read: its password page, and what went wrong. */
@Injectable()
export class LinkPages {
  constructor(private readonly access: LinkAccess) {}

  async answer(
    { visited }: Link,
    request: FastifyRequest,
    reply: FastifyReply,
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof Locked) {
        const page = passwordPage(homeOf(visited, request), pathOf(request), visited.noun);
        return sendSharePage(reply, { ...page, status: 401 });
      }
      if (error instanceof Gone) return sendNotice(reply, 'expired');
      if (error instanceof NotFound || isAbsent(error)) return sendNotice(reply, 'nowhere');
      const problem = visitorProblem(error);
      if (!problem) throw error;
      sendWords(reply, problem.status, visited.failure, `${problem.detail}.`, problem.headers);
    }
  }

  /** Takes the password, and leads on to what the visitor wanted to see. */
  unlock(
    link: Link,
    request: FastifyRequest,
    reply: FastifyReply,
    find: (token: string) => Promise<Protected>,
  ): Promise<void> {
    const { visited } = link;
    return this.answer(link, request, reply, async () => {
      const { password = '', next = '' } = await readForm(request);
      const home = homeOf(visited, request);
      const attempt = { home, password: password.slice(0, 256), address: request.ip };
      if (await this.access.unlock(reply, await find(tokenOf(request)), attempt))
        return void reply.redirect(next.startsWith(`${home}/path/`) ? next : home, 303);
      const wrong = `That is not the password of this ${visited.noun}.`;
      sendSharePage(reply, { ...passwordPage(home, next, visited.noun, wrong), status: 403 });
    });
  }
}

export const tokenOf = ({ params }: FastifyRequest): string => (params as { token: string }).token;

export const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1).join('');

const homeOf = ({ prefix }: Link['visited'], request: FastifyRequest): string =>
  `/${prefix}/${tokenOf(request)}`;

/** Whether a request counts as a visit: players and resumed downloads fetch a file in many parts, which count once. */
export const isVisit = ({ method, headers: { range } }: FastifyRequest): boolean =>
  method === 'GET' && (range === undefined || /^bytes=0-/.test(range));
