import type { ServerEvent } from '@modelcontextprotocol/server';
import { Inject, Injectable } from '@nestjs/common';
import type { ChangeSource, ListName, Watch } from '#libs/mcp-http/index.js';
import { Log } from '../../../platform/log/index.js';
import { Watches } from '../../../platform/streams/index.js';
import { answering, type McpCall } from '../call/mcp-call.js';
import { MCP_EXTENSION, type McpExtension } from '../call/mcp-tool.js';
import { ListsWatch } from './lists-watch.js';
import { ResourceWatch } from './resource-watch.js';

/** What changes of what a caller may see. */
@Injectable()
export class VisibleChanges implements ChangeSource<McpCall> {
  constructor(
    private readonly resources: ResourceWatch,
    private readonly lists: ListsWatch,
    private readonly watches: Watches,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
    private readonly log: Log,
  ) {}

  requireVisible({ actor }: McpCall, uri: string): Promise<void> {
    return answering(this.log, () => this.resources.requireVisible(actor, uri));
  }

  isVisible({ actor }: McpCall, uri: string): Promise<boolean> {
    return this.resources.isVisible(actor, uri);
  }

  followResources({ actor }: McpCall, uris: readonly string[], watch: Watch): Promise<void> {
    return this.resources.follow(actor, uris, watch);
  }

  followLists(
    { actor }: McpCall,
    lists: readonly ListName[],
    { signal, notice }: Watch,
  ): Promise<{ over: Promise<void> }> {
    return this.lists.begin({ actor, lists, signal, notice });
  }

  followHost(listener: (event: ServerEvent) => void): () => void {
    return this.extension.watch(listener);
  }

  /** Calls `lost` once the credential is revoked or has expired, at once where it is already; returns what ends that. */
  untilLost({ actor }: McpCall, lost: () => void): () => void {
    const access = this.watches.accessOf({ actor, workspaceId: null, require: () => Promise.resolve() });
    access.signal.addEventListener('abort', lost, { once: true });
    void access.ask();
    return () => access.close();
  }
}
