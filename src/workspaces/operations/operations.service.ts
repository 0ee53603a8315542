import { Injectable } from '@nestjs/common';
import {
  type Actor,
  Credentials,
  requireScope,
  type WorkspacePermission,
} from '../../platform/access/index.js';
import { Action, Subject } from '../../platform/actions/index.js';
import { Database } from '../../platform/database/index.js';
import { Forbidden, NotFound, unseenAs } from '../../platform/errors/index.js';
import { type ServerEvent, stillMay, whileAllowed } from '../../platform/streams/index.js';
import { Subscription, Topics } from '../../platform/topics/index.js';
import { type VisibleWorkspace, WorkspacesStore } from '../core/index.js';
import { isOver, type Operation } from './operation.js';
import { OperationId, OperationView, operationView, WatchOperation } from './operations.dto.js';
import { OperationsStore, operationTopic } from './operations.store.js';

/** Watching and ending long operations. Who sees the workspace that one works on sees it. */
@Injectable()
export class OperationsService {
  constructor(
    private readonly database: Database,
    private readonly operations: OperationsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly topics: Topics,
    private readonly credentials: Credentials,
  ) {}

  @Action({
    name: 'operation_get',
    on: { id: 'operation' },
    summary: 'Tell how a long operation stands',
    effect: 'read',
    permission: 'workspace.read',
    input: OperationId,
    output: OperationView,
    refuses: { 404: 'No such operation' },
  })
  async read(actor: Actor, { id }: OperationId): Promise<OperationView> {
    return operationView(await this.require(actor, id));
  }

  @Action({
    name: 'operation_watch',
    on: { id: 'operation' },
    summary: 'Stream how a long operation goes on, to its end',
    effect: 'read',
    permission: 'workspace.read',
    input: WatchOperation,
    output: OperationView,
    restOnly: true,
    refuses: { 404: 'No such operation' },
  })
  async events(
    actor: Actor,
    { id }: WatchOperation,
  ): Promise<(after: number, signal: AbortSignal) => AsyncIterable<ServerEvent[]>> {
    const { subject_id } = await this.require(actor, id);
    const may = () => stillMay(this.credentials, actor, () => this.require(actor, id));
    const watcher = { actor, workspaceId: subject_id, may };
    return (after, signal) =>
      whileAllowed(this.topics, watcher, within => this.follow(id, after, within), signal);
  }

  @Action({
    name: 'operation_cancel',
    on: { id: 'operation' },
    summary: 'Cancel a long operation; what it made so far is removed',
    effect: 'write',
    permission: 'workspace.read',
    input: OperationId,
    output: OperationView,
    commitsAnswer: true,
    refuses: { 404: 'No such operation' },
  })
  async cancel(actor: Actor, { id }: OperationId): Promise<OperationView> {
    const row = await this.require(actor, id);
    if (row.actor_id !== actor.id) throw new Forbidden('Only who began an operation can cancel it');
    return this.database.transaction(async unit => {
      const changed = await this.operations.requestCancel(unit, id);
      return unit.answers(operationView(changed ?? row));
    });
  }

  private async *follow(id: string, after: number, signal: AbortSignal): AsyncGenerator<ServerEvent[]> {
    const wakeUp = new Subscription(this.topics, operationTopic(id));
    let seen = after;
    try {
      while (!signal.aborted) {
        const row = await this.operations.find(id);
        if (!row) return;
        const event = isOver(row) ? `operation.${row.state}` : 'operation.progress';
        if (row.version > seen || isOver(row)) yield [{ id: row.version, event, data: operationView(row) }];
        seen = row.version;
        if (isOver(row)) return;
        await wakeUp.wait(signal);
      }
    } finally {
      wakeUp.close();
    }
  }

  /** Whether the caller may do that to the operation, as its workspace says. */
  @Subject('operation', 'workspace', ({ id, organization_id }: VisibleWorkspace) => ({
    organization_id,
    workspace_id: id,
  }))
  async requireStanding(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
  ): Promise<VisibleWorkspace> {
    const { subject_id } = await this.require(actor, id);
    return this.workspaces.require(actor, permission, subject_id);
  }

  private async require(actor: Actor, id: string): Promise<Operation> {
    requireScope(actor, 'workspace.read');
    const row = await this.operations.find(id);
    if (!row) throw new NotFound('No such operation');
    await unseenAs('No such operation', this.workspaces.require(actor, 'workspace.read', row.subject_id));
    return row;
  }
}
