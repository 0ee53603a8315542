import { Injectable } from '@nestjs/common';
import type { ListName, Watch } from '#libs/mcp-http/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { Watches } from '../../../platform/streams/index.js';
import { Subscription, Topics } from '../../../platform/topics/index.js';
import { ChangesService, changesTopic, type WorkspaceHead } from '../../../workspaces/changes/index.js';
import { workspacesTopic } from '../../../workspaces/core/index.js';
import { changesLists, changesOf, quietly } from './resource-watch.js';

/** One stream follows no more workspaces than these, the oldest. */
const MAX_WORKSPACES = 1000;

/** What is watched, and for whom. */
interface Watched extends Pick<Watch, 'signal' | 'notice'> {
  readonly actor: Actor;
  readonly lists: readonly ListName[];
}

/** Tells when the lists are others: workspaces come or go or are renamed, files at their tops come or go, agents change. */
@Injectable()
export class ListsWatch {
  constructor(
    private readonly changes: ChangesService,
    private readonly topics: Topics,
    private readonly watches: Watches,
  ) {}

  /**
   * Once it resolves, `notice` is called for each change from then on, until `signal` is aborted. `over` resolves when that
   * is done, and rejects with a fault of ours.
   */
  async begin(watch: Watched): Promise<{ over: Promise<void> }> {
    if (watch.lists.length === 0) return { over: Promise.resolve() };
    const watched = new WatchedLists(watch, {
      topics: this.topics,
      changes: this.changes,
      watches: this.watches,
    });
    try {
      await watched.look();
    } catch (error) {
      await watched.end();
      throw error;
    }
    return { over: watched.keepLooking() };
  }
}

/** What one watcher sees, and what of it is watched. */
class WatchedLists {
  private readonly wakeUp: Subscription;
  private readonly organizations = new Map<string, () => void>();
  private readonly workspaces = new Map<string, WorkspaceWatch>();
  private names: string | undefined;
  private fault: { readonly error: unknown } | undefined;

  constructor(
    private readonly watch: Watched,
    private readonly sources: Omit<Parts, 'fail'>,
  ) {
    this.wakeUp = new Subscription(sources.topics, workspacesTopic(watch.actor.id));
  }

  async keepLooking(): Promise<void> {
    const { signal } = this.watch;
    try {
      for (;;) {
        await this.wakeUp.wait(signal);
        if (this.fault) throw this.fault.error;
        if (signal.aborted) return;
        await this.look();
      }
    } finally {
      await this.end();
    }
  }

  /** Looks until there is nothing new to listen to: what comes between a look and listening is in the next look. */
  async look(): Promise<void> {
    const { actor, lists, notice } = this.watch;
    for (let isNew = true; isNew; ) {
      let heads: WorkspaceHead[] = [];
      // A caller who has lost all access sees no workspaces.
      await quietly(async () => {
        heads = await this.sources.changes.heads(actor, MAX_WORKSPACES);
      });
      isNew = this.listen(heads);
      const names = JSON.stringify(heads.map(({ id, name }) => [id, name]));
      if (this.names !== undefined && names !== this.names) for (const list of lists) notice({ list });
      this.names = names;
    }
  }

  async end(): Promise<void> {
    this.wakeUp.close();
    for (const stop of this.organizations.values()) stop();
    await Promise.all([...this.workspaces.values()].map(workspace => workspace.end()));
  }

  /** Whether there is something that was not listened to before. */
  private listen(heads: readonly WorkspaceHead[]): boolean {
    let isNew = false;
    this.forget(new Set(heads.map(({ id }) => id)));
    for (const head of heads) {
      const { id, organization_id } = head;
      const known = this.workspaces.get(id);
      known?.compare(head);
      if (known && this.organizations.has(organization_id)) continue;
      isNew = true;
      if (!known) this.workspaces.set(id, this.watchFiles(head));
      if (this.organizations.has(organization_id)) continue;
      const topic = workspacesTopic(organization_id);
      this.organizations.set(
        organization_id,
        this.sources.topics.subscribe(topic, () => this.wakeUp.wake()),
      );
    }
    return isNew;
  }

  private forget(seen: ReadonlySet<string>): void {
    for (const [id, workspace] of this.workspaces) {
      if (seen.has(id)) continue;
      this.workspaces.delete(id);
      void workspace.end();
    }
  }

  private watchFiles(head: WorkspaceHead): WorkspaceWatch {
    const fail = (error: unknown) => {
      this.fault ??= { error };
      this.wakeUp.wake();
    };
    return new WorkspaceWatch(head, this.watch, { ...this.sources, fail });
  }
}

interface Parts {
  readonly topics: Topics;
  readonly changes: ChangesService;
  readonly watches: Watches;
  readonly fail: (error: unknown) => void;
}

/** The files of one workspace: nothing is asked about them before something happens there. */
class WorkspaceWatch {
  private readonly ending = new AbortController();
  private readonly stopListening: () => void;
  private following: Promise<void> | undefined;
  /** Number of the last change that was looked at. */
  private position: number;

  constructor(
    private readonly head: WorkspaceHead,
    private readonly watch: Watched,
    private readonly parts: Parts,
  ) {
    this.position = head.position;
    this.stopListening = parts.topics.subscribe(changesTopic(head.id), () => this.begin());
  }

  /** Begins where something happened between a look at the log and listening to it. */
  compare({ position, isUnsettled }: WorkspaceHead): void {
    if (isUnsettled || position > this.position) this.begin();
  }

  async end(): Promise<void> {
    this.ending.abort();
    this.stopListening();
    await this.following;
  }

  private begin(): void {
    if (this.following || this.ending.signal.aborted) return;
    this.following = this.follow()
      .catch(this.parts.fail)
      .finally(() => {
        // A caller who lost access to the workspace may get it again.
        this.following = undefined;
      });
  }

  private async follow(): Promise<void> {
    const { actor, lists, notice } = this.watch;
    const signal = AbortSignal.any([this.ending.signal, this.watch.signal]);
    await quietly(async () => {
      const open = () => this.parts.changes.events(actor, { workspace_id: this.head.id });
      const log = await this.parts.watches.open(actor, open);
      for await (const batch of log.follow(this.position, signal)) {
        this.position = batch.at(-1)?.id ?? this.position;
        const changes = changesOf(batch);
        for (const list of lists)
          if (changes?.some(change => changesLists(list, change)) ?? true) notice({ list });
      }
    });
  }
}
