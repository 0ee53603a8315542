import { Injectable } from '@nestjs/common';
import {
  accessTopic,
  credentialTopic,
  type Feature,
  workspaceAccessTopic,
} from '../../platform/access/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { Topics } from '../../platform/topics/index.js';
import { AuthorityLost } from '../../workspaces/core/index.js';
import { requireInChat } from '../chats/index.js';
import type { Steering } from './run-limits.js';
import { claimTopic, RunLost, type RunRow } from './run-state.js';
import { RunsStore } from './runs.store.js';

type Authorized = Pick<RunRow, 'actor' | 'chat_id'>;
type Claimed = Authorized & Pick<RunRow, 'id' | 'attempt' | 'workspace_id'>;

/**
 * Whether a run still has the authority that it was started with. The database is asked when an attempt begins and before each
 * tool call; topics that tell of a revoked key or a removed member end earlier what is under way. A lower role alone ends
 * nothing: each call is refused what it lacks.
 */
@Injectable()
export class RunAuthority {
  constructor(
    private readonly runs: RunsStore,
    private readonly topics: Topics,
  ) {}

  watch(run: Claimed, steering: Steering): ClaimWatch {
    return new ClaimWatch(this.runs, this.topics, run, steering, this);
  }

  /** Before an attempt begins: throws AuthorityLost, saying why. */
  async require(run: Authorized): Promise<void> {
    if ((await this.requireAccess(run)).includes('agents'))
      throw new AuthorityLost('The feature agents is turned off in this workspace');
  }

  /**
   * The same for one under way, which is stopped where the agents of its workspace are turned off. Returns what is turned off
   * there.
   */
  async requireAccess({ actor, chat_id }: Authorized): Promise<readonly Feature[]> {
    // Whether its credential may read chats does not matter.
    const onlooker = { ...actor, credential: { ...actor.credential, scopes: null } };
    const { stands, role, features_off } = await this.runs.standing(onlooker, chat_id);
    if (!stands)
      throw new AuthorityLost('The key or the grant with which this run was started has been revoked');
    try {
      requireInChat(onlooker, 'chat.read', { role, features_off }, 'No such chat');
    } catch (error) {
      if (!problemOf(error)) throw error;
      throw new AuthorityLost(`${actor.name}, who started this run, has no access to its chat any more`);
    }
    return features_off;
  }
}

/**
 * Watches whether an attempt's claim still stands. Once the run is gone, has lost its authority or was claimed by another
 * worker, what is still under way for it, such as a command in a sandbox, is of no use and ends. It also learns of messages
 * that are to enter.
 */
class ClaimWatch {
  private readonly lost = new AbortController();
  private readonly unsubscribe: (() => void)[];

  constructor(
    private readonly runs: RunsStore,
    topics: Topics,
    private readonly run: Claimed,
    private readonly steering: Steering,
    private readonly authority: RunAuthority,
  ) {
    const { id, workspace_id, actor } = run;
    const ofAccess = [accessTopic(actor.id), credentialTopic(actor.credential.id)];
    if (workspace_id) ofAccess.push(workspaceAccessTopic(workspace_id));
    this.unsubscribe = [
      topics.subscribe(claimTopic(id), () => void this.look()),
      ...ofAccess.map(topic => topics.subscribe(topic, () => void this.lookAtAccess())),
    ];
  }

  /** Aborted, with the reason, when the claim is lost. */
  get signal(): AbortSignal {
    return this.lost.signal;
  }

  close(): void {
    for (const end of this.unsubscribe) end();
  }

  private async look(): Promise<void> {
    try {
      const now = await this.runs.find(this.run.id);
      if (now?.attempt !== this.run.attempt || now.status !== 'pending') this.lost.abort(new RunLost());
      else this.steering.note(now.steers);
    } catch (error) {
      // Whether the run is still ours is not known, so the attempt does not go on.
      this.lost.abort(error);
    }
  }

  private async lookAtAccess(): Promise<void> {
    await this.look();
    if (this.lost.signal.aborted) return;
    try {
      await this.authority.requireAccess(this.run);
    } catch (error) {
      this.lost.abort(error);
    }
  }
}
