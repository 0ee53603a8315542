import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type Entry,
  type WorkspaceFs,
  WorkspaceFsError,
  type WorkspaceFsErrorCode,
} from '#libs/workspace-fs/index.js';
import { hashSecret } from '../../../platform/access/index.js';
import { Database, newId } from '../../../platform/database/index.js';
import { type Problem, problemOf } from '../../../platform/errors/index.js';
import { defineEvent, Events } from '../../../platform/events/index.js';
import { WorkspaceFolders } from '../../../workspaces/core/index.js';
import { ALLOWANCES, type Allowance, LinkAccess, pathBelow } from '../../exposure/index.js';

import { type LinkRow, ShareLinksStore } from '../links/share-links.store.js';
import type { Location } from '../pages/location.js';
import { VisitCounts } from './visit-counts.js';

/** A link that was opened by a permitted visitor. Paths are taken below what it shares, and lead nowhere else. */
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
    return ALLOWANCES[this.allow].saves;
  }

  get home(): string {
    return `/s/${this.token}`;
  }

  /** The name of what is shared. */
  get name(): string {
    return this.link.path.split('/').at(-1) || this.link.workspace_name;
  }

  location(within: string): Location {
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
    private readonly counts: VisitCounts,
    private readonly folders: WorkspaceFolders,
    private readonly access: LinkAccess,
  ) {}

  /** Throws NotFound, Gone, or Locked where the password is yet to be entered. */
  async open(token: string, request: FastifyRequest): Promise<Visit> {
    const link = await this.find(token);
    this.access.requirePass(request, link);
    const workspace = { id: link.workspace_id, number: link.workspace_number };
    return new Visit(link, token, this.folders.open(workspace));
  }

  /** Lets the visitor in for the right password; else false. */
  async unlock(reply: FastifyReply, token: string, password: string, address: string): Promise<boolean> {
    const link = await this.find(token);
    const isRight = await this.access.isPassword(link, password, address);
    if (isRight) this.access.givePass(reply, link, `/s/${token}`);
    return isRight;
  }

  count({ link }: Visit, counter: 'views' | 'downloads'): void {
    this.counts.add(link.id, counter);
  }

  /** Files were put into the folder of the link. */
  uploaded({ link }: Visit, files: number): Promise<void> {
    const { id: share_id, organization_id, workspace_id, path, created_by } = link;
    const facts = { id: newId(), share_id, organization_id, workspace_id, path, created_by, files };
    return this.database.transaction(async unit => {
      await this.links.countUploads(unit, share_id, files);
      await this.events.publish(unit, shareUploaded, facts);
    });
  }

  private async find(token: string): Promise<LinkRow> {
    return this.access.requireActive(await this.links.findByTokenHash(hashSecret(token)));
  }
}
