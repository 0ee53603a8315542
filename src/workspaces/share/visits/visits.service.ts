import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import {
  type Entry,
  type WorkspaceFs,
  WorkspaceFsError,
  type WorkspaceFsErrorCode,
} from '#libs/workspace-fs/index.js';
import { passwordMatches } from '../../../identity/accounts/index.js';
import { LoginProtection } from '../../../identity/auth/index.js';
import { hashSecret } from '../../../platform/access/index.js';
import { Database, newId } from '../../../platform/database/index.js';
import { Gone, NotFound, type Problem, problemOf } from '../../../platform/errors/index.js';
import { defineEvent, Events } from '../../../platform/events/index.js';
import { WorkspaceFolders } from '../../core/index.js';
import { pathBelow, VisitorPass } from '../../exposure/index.js';
import { stateOf } from '../links/link-views.js';
import { type Allowance, isStanding, type LinkRow, ShareLinksStore } from '../links/share-links.store.js';
import type { Place } from '../pages/location.js';

/** A link that was opened by somebody who may. Paths are taken below what it shares, and lead nowhere else. */
export class Visit {
  constructor(
    readonly link: LinkRow,
    readonly token: string,
    readonly files: WorkspaceFs,
  ) {}

  get allow(): Allowance {
    return this.link.allow;
  }

  get savable(): boolean {
    return this.allow === 'download';
  }

  get home(): string {
    return `/s/${this.token}`;
  }

  /** The name of what is shared. */
  get name(): string {
    return this.link.path.split('/').at(-1) || this.link.workspace_name;
  }

  place(within: string): Place {
    return { home: this.home, name: this.name, within };
  }

  pathOf(within: string): string {
    return pathBelow(this.link.path, within);
  }

  stat(within: string): Promise<Entry> {
    return this.files.stat(this.pathOf(within));
  }
}

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

/**
 * What visitors read of a failure; undefined for a bug of ours. Of a file they hear its own name: the folders above what
 * is shared are nothing to them.
 */
export function toldToVisitors(error: unknown): Problem | undefined {
  if (!(error instanceof WorkspaceFsError)) return problemOf(error);
  return problemOf(new WorkspaceFsError(error.code, error.path.slice(error.path.lastIndexOf('/') + 1)));
}

/** The visitor has to show that they know the password. */
export class Locked extends Error {}

/** Visitors have put files into the folder of a link. */
export const shareUploaded = defineEvent<{
  id: string;
  share_id: string;
  organization_id: string;
  workspace_id: string;
  path: string;
  created_by: string;
  files: number;
}>('share.uploaded');

/** Opening links: what anybody on the internet can ask of a share. */
@Injectable()
export class VisitsService {
  constructor(
    private readonly database: Database,
    private readonly events: Events,
    private readonly links: ShareLinksStore,
    private readonly folders: WorkspaceFolders,
    private readonly pass: VisitorPass,
    private readonly protection: LoginProtection,
  ) {}

  /** Throws NotFound, Gone, or {@link Locked} where the password is yet to be entered. */
  async open(token: string, request: FastifyRequest): Promise<Visit> {
    const link = await this.find(token);
    if (link.password_hash !== null && !this.pass.isShown(request, link)) throw new Locked();
    return new Visit(
      link,
      token,
      this.folders.open({ id: link.workspace_id, number: link.workspace_number }),
    );
  }

  /** The link, for the right password. Failures count for the link and the place they come from, in all processes. */
  async unlock(token: string, password: string, address: string): Promise<LinkRow | undefined> {
    const link = await this.find(token);
    const { id, password_hash } = link;
    if (password_hash === null) return link;
    return this.protection.attempt(`share ${id}`, address, async () =>
      (await passwordMatches(password_hash, password)) ? link : undefined,
    );
  }

  count({ link }: Visit, counter: 'views' | 'downloads'): Promise<void> {
    return this.links.count(link.id, counter, 1);
  }

  /** Files were put into the folder of the link. */
  uploaded({ link }: Visit, files: number): Promise<void> {
    const { id: share_id, organization_id, workspace_id, path, created_by } = link;
    const facts = { id: newId(), share_id, organization_id, workspace_id, path, created_by, files };
    return this.database.transaction(async unit => {
      await this.links.count(share_id, 'uploads', files, unit);
      await this.events.publish(unit, shareUploaded, facts);
    });
  }

  /** A link whose maker lost their access is as good as none, and so is any while sharing is turned off. */
  private async find(token: string): Promise<LinkRow> {
    const link = await this.links.findByTokenHash(hashSecret(token));
    if (!link || !isStanding(link)) throw new NotFound('No such link');
    if (stateOf(link) === 'expired') throw new Gone('This link has expired');
    return link;
  }
}
