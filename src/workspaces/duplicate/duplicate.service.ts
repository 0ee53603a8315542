import { Injectable } from '@nestjs/common';
import { OrganizationsStore } from '../../identity/organizations/index.js';
import type { Actor, Visibility } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { Field, NAME } from '../../platform/dto/index.js';
import { TooManyRequests } from '../../platform/errors/index.js';
import { defineJob, Jobs } from '../../platform/jobs/index.js';
import { WorkspaceFolders, WorkspaceId, WorkspacesStore } from '../core/index.js';
import { defineOperation, OperationsStore } from '../operations/index.js';

export class DuplicateWorkspace extends WorkspaceId {
  @Field.text('Name of the new workspace', { ...NAME, example: 'Research (copy)' }) name: string;

  @Field.id('The organization it is to belong to; absent: the same', { optional: true })
  organization_id?: string;
}

export class StartedOperationView {
  @Field.id('The operation, to be watched below /api/operations') operation_id: string;
}

export interface DuplicateInput {
  readonly target_id: string;
  readonly visibility: Visibility;
}
export const workspaceDuplicate = defineOperation<DuplicateInput>(
  'workspace_duplicate',
  'The copy failed; try again',
);
/** Copies of one organization that run or wait. */
const MAX_UNDER_WAY = 100;
/** The queue of copies of workspaces. */
export const OPERATIONS = 'operations';

export const duplicateFiles = defineJob('duplicate_files', { queue: OPERATIONS, payload: ['operation_id'] });

type Inherit = (unit: UnitOfWork, from: string, to: Row<'workspace'>) => Promise<void>;

@Injectable()
export class DuplicateService {
  private readonly inheritances: Inherit[] = [];

  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly organizations: OrganizationsStore,
    private readonly folders: WorkspaceFolders,
    private readonly operations: OperationsStore,
    private readonly jobs: Jobs,
    private readonly audit: Audit,
  ) {}

  /** `inherit` copies what restricts a workspace, so that the copy never allows more than its source. */
  inheritWith(inherit: Inherit): void {
    this.inheritances.push(inherit);
  }

  @Action('workspace_duplicate', 'POST /api/workspaces/:workspaceId/duplicate', {
    summary:
      'Copy a workspace’s files, approval policy, budget and features into a new one, in the background',
    description:
      'The copy has what was there when it began, each file whole and as it is when its turn comes: what changes ' +
      'meanwhile comes in its old or its new version, never in a mixture; what is added later is not copied; what is ' +
      'removed before its turn, never rests, or is larger than a file may be, is listed under `skipped`, and so is what ' +
      'does not come along: members, chats, share links, invitations, and the hosts that sandboxes may connect to.',
    effect: 'expose',
    consequence:
      'The copy is open to whoever its visibility lets in, in the organization that it is made in.',
    permission: 'file.read',
    input: DuplicateWorkspace,
    output: StartedOperationView,
    refuses: { 429: 'Too many copies of the organization are under way or wait' },
    commitsAnswer: true,
  })
  async duplicate(actor: Actor, input: DuplicateWorkspace): Promise<StartedOperationView> {
    const source = await this.workspaces.require(actor, 'file.read', input.workspace_id);
    const organizationId = input.organization_id ?? source.organization_id;
    await this.organizations.require(actor, 'workspace.create', organizationId);
    const id = newId();
    const name = input.name.trim();
    await this.requireFewWaiting(organizationId);
    return this.database.transaction(async unit => {
      await this.organizations.keep(unit, organizationId);
      // Only the caller sees it before it is complete.
      const target = await this.workspaces.add(unit, {
        organization_id: organizationId,
        name,
        visibility: 'private',
        created_by: actor.id,
      });
      for (const inherit of this.inheritances) await inherit(unit, source.id, target);
      await this.operations.add(unit, workspaceDuplicate, {
        id,
        actor_id: actor.id,
        organization_id: organizationId,
        subject_id: source.id,
        input: { target_id: target.id, visibility: source.visibility },
      });
      const audited = {
        type: 'workspace',
        id: target.id,
        organization_id: organizationId,
        workspace_id: target.id,
      };
      await this.audit.record(unit, actor, 'workspace.duplicate', audited, { name, from: source.id });
      await this.folders.create(target);
      await this.jobs.enqueue(unit, duplicateFiles, newId(), { operation_id: id });
      return unit.answers({ operation_id: id });
    });
  }

  private async requireFewWaiting(organizationId: string): Promise<void> {
    if ((await this.operations.countUnderWay(organizationId, workspaceDuplicate)) >= MAX_UNDER_WAY)
      throw new TooManyRequests(
        `${MAX_UNDER_WAY} copies of this organization are under way or wait; try again when some are done`,
      );
  }
}
