import { Injectable } from '@nestjs/common';
import { type Actor, requireScope, type WorkspacePermission } from '../../platform/access/index.js';
import { Action, Subject } from '../../platform/actions/index.js';
import { Database } from '../../platform/database/index.js';
import { ById } from '../../platform/dto/index.js';
import { Forbidden, NotFound, unseenAs } from '../../platform/errors/index.js';
import type { EventLog, LogPage, Watched } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { type VisibleWorkspace, WorkspacesStore } from '../core/index.js';
import { OperationView, operationView, WatchOperation } from './operations.dto.js';
import { isOver, type Operation, OperationsStore, operationTopic } from './operations.store.js';

/** The state of an operation; a watcher sees only the latest. */
export class OperationEvents implements EventLog {
  readonly topic: Topic;

  constructor(
    private readonly operations: OperationsStore,
    private readonly id: string,
  ) {
    this.topic = operationTopic(id);
  }

  async read(after: number): Promise<LogPage> {
    const row = await this.operations.find(this.id);
    if (!row) return { events: [], isLast: true };
    const isLast = isOver(row);
    if (row.version <= after && !isLast) return { events: [] };
    const event = isLast ? `operation.${row.state}` : 'operation.progress';
    return { events: [{ id: row.version, event, data: operationView(row) }], isLast };
  }
}

/** Everyone who sees the workspace of an operation sees the operation. */
@Injectable()
export class OperationsService {
  constructor(
    private readonly database: Database,
    private readonly operations: OperationsStore,
    private readonly workspaces: WorkspacesStore,
  ) {}

  @Action('operation_get', 'GET /api/operations/:id', {
    on: { id: 'operation' },
    summary: 'Tell how a long operation stands',
    permission: 'workspace.read',
    input: ById({ id: 'The operation' }),
    output: OperationView,
    refuses: { 404: 'No such operation' },
  })
  async read(actor: Actor, { id }: ById): Promise<OperationView> {
    return operationView(await this.require(actor, id));
  }

  @Action('operation_watch', {
    on: { id: 'operation' },
    summary: 'Stream how a long operation goes on, to its end',
    permission: 'workspace.read',
    input: WatchOperation,
    output: OperationView,
    restOnly: true,
    refuses: { 404: 'No such operation' },
  })
  async events(actor: Actor, { id }: WatchOperation): Promise<Watched> {
    const { subject_id } = await this.require(actor, id);
    return { workspaceId: subject_id, log: new OperationEvents(this.operations, id) };
  }

  @Action('operation_cancel', 'POST /api/operations/:id/cancel', {
    on: { id: 'operation' },
    summary: 'Cancel a long operation; what it made so far is removed',
    effect: 'write',
    permission: 'workspace.read',
    input: ById({ id: 'The operation' }),
    output: OperationView,
    commitsAnswer: true,
    refuses: { 404: 'No such operation' },
  })
  async cancel(actor: Actor, { id }: ById): Promise<OperationView> {
    const row = await this.require(actor, id);
    if (row.actor_id !== actor.id) throw new Forbidden('Only who began an operation can cancel it');
    return this.database.transaction(async unit => {
      const changed = await this.operations.requestCancel(unit, id);
      return unit.answers(operationView(changed ?? row));
    });
  }

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
