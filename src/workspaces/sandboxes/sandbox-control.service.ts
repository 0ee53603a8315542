import { Injectable, OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { ById, DeletedView, Field, type Page, PageOf, toView } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { FeatureEnds, ListOfWorkspace, WorkspacesStore } from '../core/index.js';
import { RunningSandboxes } from './running-sandboxes.js';
import { type RunningSandboxRow, SANDBOX_CALLERS, SANDBOX_KINDS } from './running-sandboxes.store.js';

export class SandboxCallerView {
  @Field.choice(
    'For what it runs: an agent, a person who used a tool, the service itself, or the build of a site',
    SANDBOX_CALLERS,
  )
  kind: string;

  @Field.id('The run, who used the tool, or the version that is built', { nullable: true }) id: string | null;
}

export class SandboxView {
  @Field.id('The sandbox') id: string;
  @Field.choice('One command alone, or a session that lasts over several', SANDBOX_KINDS) kind: string;

  @Field.text('Name by which its caller goes on in the session', { nullable: true, example: 'build' })
  name: string | null;

  @Field.text('What runs in it, or was the first to, shortened', { max: 501, example: 'npm test' })
  command: string;

  @Field.object('For whom it runs', () => SandboxCallerView) caller: SandboxCallerView;
  @Field.text('The machine that it runs on', { example: 'worker-1' }) node: string;
  @Field.time('When it was started') started_at: string;

  @Field.integer('Bytes of memory that its processes hold', { min: 0, nullable: true, example: 20_971_520 })
  memory_bytes: number | null;

  @Field.integer('Milliseconds of CPU time that its processes have taken', {
    min: 0,
    nullable: true,
    example: 840,
  })
  cpu_ms: number | null;

  @Field.integer('Processes that run in it', { min: 0, nullable: true, example: 3 }) processes: number | null;
}

export const SandboxPage = PageOf(SandboxView, 'SandboxPage');

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

  @Action('sandbox_list', 'GET /api/workspaces/:workspaceId/sandboxes', {
    summary: 'List what runs in the sandboxes of a workspace now',
    permission: 'workspace.read',
    input: ListOfWorkspace,
    output: SandboxPage,
  })
  async list(actor: Actor, input: ListOfWorkspace): Promise<Page<SandboxView>> {
    await this.workspaces.require(actor, 'workspace.read', input.workspace_id);
    const page = await this.running.list(input.workspace_id, input);
    return { ...page, items: page.items.map(viewOf) };
  }

  @Action('sandbox_stop', 'DELETE /api/workspaces/:workspaceId/sandboxes/:sandboxId', {
    summary: 'End what runs in a sandbox, with all its processes',
    consequence:
      'Processes are killed, and what they had only in memory or outside the workspace is lost; the files of the workspace stay.',
    permission: 'sandbox.end',
    input: ById({ workspace_id: 'The workspace', sandbox_id: 'The sandbox' }),
    output: DeletedView,
    refuses: { 404: 'No such workspace, or nothing that runs' },
  })
  async end(
    actor: Actor,
    { workspace_id, sandbox_id }: ById<'workspace_id' | 'sandbox_id'>,
  ): Promise<DeletedView> {
    await this.workspaces.require(actor, 'sandbox.end', workspace_id);
    if (!(await this.running.end(workspace_id, sandbox_id))) throw new NotFound('No such sandbox is running');
    return { id: sandbox_id, deleted: true };
  }
}

function viewOf(row: RunningSandboxRow): SandboxView {
  const { caller_kind, caller_id } = row;
  return toView(SandboxView, row, {
    caller: { kind: caller_kind, id: caller_id },
    memory_bytes: numberOf(row.memory_bytes),
    cpu_ms: numberOf(row.cpu_ms),
  });
}

const numberOf = (text: string | null) => (text === null ? null : Number(text));
