import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Entry, WorkspaceFs } from '#libs/workspace-fs/index.js';
import { hashSecret } from '../../../platform/access/index.js';
import { Database, newId } from '../../../platform/database/index.js';
import { defineEvent, Events } from '../../../platform/events/index.js';
import { WorkspaceFolders } from '../../../workspaces/core/index.js';
import { ALLOWANCES, type Allowance, LinkAccess, pathBelow } from '../../exposure/index.js';
import { SHARE_LINK, type ShareLinkRow, ShareLinksStore } from '../links/share-links.store.js';
import type { Location } from '../pages/location.js';
import { VisitCounts } from './visit-counts.js';

/** A link that was opened by a permitted visitor. Paths are taken below what it shares, and lead nowhere else. */
export class Visit {
  constructor(
    readonly link: ShareLinkRow,
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

  count({ link }: Visit, counter: 'views' | 'downloads'): void {
    this.counts.add(link.id, counter);
  }

  uploaded({ link }: Visit, files: number): Promise<void> {
    const { id: share_id, organization_id, workspace_id, path, created_by } = link;
    const facts = { id: newId(), share_id, organization_id, workspace_id, path, created_by, files };
    return this.database.transaction(async unit => {
      await this.links.countUploads(unit, share_id, files);
      await this.events.publish(unit, shareUploaded, facts);
    });
  }

  /** Throws NotFound or Gone. */
  async find(token: string): Promise<ShareLinkRow> {
    return SHARE_LINK.requireActive(await this.links.findByTokenHash(hashSecret(token)));
  }
}
