import { Inject, Injectable } from '@nestjs/common';
import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import type { ListName, Watch } from '#libs/mcp-http/index.js';
import { parentOf } from '#libs/workspace-fs/index.js';
import { RunsService } from '../../../agents/runs/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { Watches } from '../../../platform/streams/index.js';
import { ChangesService, type ChangeView } from '../../../workspaces/changes/index.js';
import { MCP_EXTENSION, type McpExtension } from '../call/mcp-tool.js';
import { noSuchResource, parseResourceUri } from '../resources/resource-uri.js';

type Change = Pick<ChangeView, 'path' | 'from' | 'kind'>;

/** What a batch of a workspace's log tells; undefined where changes are not kept any more, so that anything may be another. */
export function changesOf(batch: readonly ServerEvent[]): Change[] | undefined {
  if (batch.some(({ event }) => event === 'reset')) return undefined;
  return batch.map(({ data }) => data as ChangeView);
}

/** Whether what a client reads at `path` is another after the change: a file that is it, or an entry of a folder. */
export function isChangedBy(path: string, change: Change): boolean {
  return pathsOf(change).some(
    each => each === path || parentOf(each) === path || path.startsWith(`${each}/`),
  );
}

/** Whether the list is another after the change: of resources, what is at the top; of prompts, the agents. */
export function changesLists(list: ListName, change: Change): boolean {
  if (list === 'prompts')
    return pathsOf(change).some(path => path.startsWith('.agents/') || path === '.agents');
  return change.kind !== 'modified' && pathsOf(change).some(path => !path.includes('/'));
}

const pathsOf = ({ path, from }: Change): string[] => (from === null ? [path] : [path, from]);

/** Reports changes to resources that the caller may read, from any process, for as long as they may. */
@Injectable()
export class ResourceWatch {
  constructor(
    private readonly changes: ChangesService,
    private readonly runs: RunsService,
    private readonly watches: Watches,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
  ) {}

  /** 404 and 403 for what the actor may not follow. A file may be followed that is yet to come. */
  async requireVisible(actor: Actor, uri: string): Promise<void> {
    const name = parseResourceUri(uri);
    if (name?.kind === 'run') await this.runs.status(actor, { call_id: name.callId });
    else if (name) await this.changes.position(actor, { workspace_id: name.workspaceId });
    else if (!this.extension.readResource(uri)) throw noSuchResource(uri);
  }

  async isVisible(actor: Actor, uri: string): Promise<boolean> {
    let visible = false;
    await quietly(async () => {
      await this.requireVisible(actor, uri);
      visible = true;
    });
    return visible;
  }

  /** Calls `notice` until `signal` is aborted. What is not, or no longer, the actor's to read is passed over. */
  async follow(
    actor: Actor,
    uris: readonly string[],
    { signal, notice, positions = new Map() }: Watch,
  ): Promise<void> {
    const files = new Map<string, { uri: string; path: string }[]>();
    const runs: { uri: string; callId: string }[] = [];
    for (const uri of uris) {
      const name = parseResourceUri(uri);
      if (name?.kind === 'run') runs.push({ uri, callId: name.callId });
      if (name?.kind !== 'file') continue;
      files.set(name.workspaceId, [...(files.get(name.workspaceId) ?? []), { uri, path: name.path }]);
    }
    await Promise.all([
      ...[...files].map(([id, resources]) =>
        this.followFiles(actor, id, { resources, signal, notice, positions }),
      ),
      ...runs.map(run => this.followRun(actor, run, signal, notice)),
    ]);
  }

  private async followFiles(actor: Actor, workspace_id: string, one: WatchedWorkspace): Promise<void> {
    const { resources, signal, notice, positions } = one;
    await quietly(async () => {
      const from = positions.get(workspace_id) ?? (await this.changes.position(actor, { workspace_id }));
      positions.set(workspace_id, from);
      const watch = await this.watches.open(actor, () => this.changes.events(actor, { workspace_id }));
      for await (const batch of watch.follow(from, signal)) {
        const changes = changesOf(batch);
        for (const { uri, path } of resources)
          if (changes?.some(change => isChangedBy(path, change)) ?? true) notice({ uri });
        positions.set(workspace_id, batch.at(-1)?.id ?? from);
      }
    });
  }

  /** Notices the end of a run: until then its status only says that it goes on. */
  private async followRun(
    actor: Actor,
    { uri, callId: call_id }: { uri: string; callId: string },
    signal: AbortSignal,
    notice: Watch['notice'],
  ): Promise<void> {
    await quietly(async () => {
      if ((await this.runs.status(actor, { call_id })).status !== 'pending') return;
      const watch = await this.watches.open(actor, () => this.runs.events(actor, { call_id }));
      for await (const _ of watch.follow(0, signal));
      if (!signal.aborted) notice({ uri });
    });
  }
}

interface WatchedWorkspace extends Required<Watch> {
  readonly resources: readonly { uri: string; path: string }[];
}

/** Ends without an error where the actor may see nothing: they are refused when they read. */
export async function quietly(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!problemOf(error)) throw error;
  }
}
