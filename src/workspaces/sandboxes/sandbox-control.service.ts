import { Injectable, OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { iso } from '../../platform/database/index.js';
import { DEFAULT_LIMIT, DeletedView, decodeCursor, type Page, pageOf } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { FeatureEnds, WorkspacesStore } from '../core/index.js';
import { RunningSandboxes } from './running-sandboxes.js';
import type { RunningSandboxRow } from './running-sandboxes.store.js';
import { ListSandboxes, SandboxPage, SandboxRef, type SandboxView } from './sandboxes.dto.js';

/** Seeing and ending what runs in a workspace, wherever it runs. */
@Injectable()
export class SandboxControlService implements OnModuleInit {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly running: RunningSandboxes,
    private readonly features: FeatureEnds,
  ) {}

  onModuleInit(): void {
    this.features.add('sandbox', async id => {
      await this.running.end(id, null);
    });
  }

  @Action({
    name: 'sandbox_list',
    route: 'GET /api/workspaces/:workspaceId/sandboxes',
    on: 'workspace_id',
    summary: 'List what runs in the sandboxes of a workspace now',
    effect: 'read',
    permission: 'workspace.read',
    input: ListSandboxes,
    output: SandboxPage,
  })
  async list(actor: Actor, input: ListSandboxes): Promise<Page<SandboxView>> {
    const { workspace_id, cursor, limit = DEFAULT_LIMIT } = input;
    const [after] = decodeCursor(cursor, 'id');
    await this.workspaces.require(actor, 'workspace.read', workspace_id);
    const rows = await this.running.list(workspace_id, after, limit + 1);
    return pageOf(rows, limit, viewOf, ({ id }) => [id]);
  }

  @Action({
    name: 'sandbox_stop',
    route: 'DELETE /api/workspaces/:workspaceId/sandboxes/:sandboxId',
    on: 'workspace_id',
    summary: 'End what runs in a sandbox, with all its processes',
    effect: 'destructive',
    consequence:
      'Processes are killed, and what they had only in memory or outside the workspace is lost; the files of the workspace stay.',
    permission: 'sandbox.end',
    input: SandboxRef,
    output: DeletedView,
    refuses: { 404: 'No such workspace, or nothing that runs' },
  })
  async end(actor: Actor, { workspace_id, sandbox_id }: SandboxRef): Promise<DeletedView> {
    await this.workspaces.require(actor, 'sandbox.end', workspace_id);
    if (!(await this.running.end(workspace_id, sandbox_id))) throw new NotFound('No such sandbox is running');
    return { id: sandbox_id, deleted: true };
  }
}

function viewOf(row: RunningSandboxRow): SandboxView {
  const { id, name, command, kind, caller_kind, caller_id, node, started_at, processes } = row;
  return {
    ...{ id, command, kind, name, node, processes },
    caller: { kind: caller_kind, id: caller_id },
    started_at: iso(started_at),
    memory_bytes: numberOf(row.memory_bytes),
    cpu_ms: numberOf(row.cpu_ms),
  };
}

const numberOf = (text: string | null) => (text === null ? null : Number(text));
