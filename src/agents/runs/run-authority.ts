import { Injectable } from '@nestjs/common';
import {
  accessTopic,
  Credentials,
  credentialTopic,
  workspaceAccessTopic,
} from '../../platform/access/index.js';
import { RecentChecks } from '../../platform/credentials/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { Topics } from '../../platform/topics/index.js';
import { AuthorityLost } from '../../workspaces/core/index.js';
import { type ChatStanding, ChatsStore } from '../chats/index.js';
import type { Steering } from './run-limits.js';
import type { ClaimedRun } from './run-queue.store.js';
import { claimTopic, RunLost, type RunRow } from './run-state.js';
import { RunsStore } from './runs.store.js';

type Authorized = Pick<RunRow, 'actor' | 'chat_id'> & Pick<ClaimedRun, 'checked' | 'checkedSince'>;
type Claimed = Authorized & Pick<RunRow, 'id' | 'attempt' | 'workspace_id'>;

/**
 * Whether a run still has the authority that it was started with. Checked when an attempt begins, and while it goes on when a
 * key is revoked or a member is removed or gets another role. A lower role alone ends nothing: each call is refused what it
 * lacks.
 */
@Injectable()
export class RunAuthority {
  constructor(
    private readonly chats: ChatsStore,
    private readonly credentials: Credentials,
    private readonly runs: RunsStore,
    private readonly topics: Topics,
    private readonly checks: RecentChecks,
  ) {}

  watch(run: Claimed, steering: Steering): ClaimWatch {
    return new ClaimWatch(this.runs, this.topics, run, steering, this);
  }

  /**
   * Throws AuthorityLost, saying why, before an attempt begins. A run that begins with its request, or is claimed soon after,
   * was checked with that; so it is checked again only where something about anyone's access has changed in between.
   */
  async require(run: Authorized): Promise<void> {
    if (this.checks.isNewest(run.checked) || this.checks.holdsSince(run.checkedSince)) return;
    const { features_off } = await this.requireAccess(run);
    if (features_off.includes('agents'))
      throw new AuthorityLost('The feature agents is turned off in this workspace');
  }

  /** The same for one under way: those are stopped when the agents of their workspace are turned off. */
  async requireAccess({ actor, chat_id }: Authorized): Promise<Pick<ChatStanding, 'features_off'>> {
    const { credential } = actor;
    // Whether its credential may read chats does not matter.
    const onlooker = { ...actor, credential: { ...credential, scopes: null } };
    const [stands, standing] = await Promise.allSettled([
      // A session is renewed and a key replaced, so what they started outlives them.
      credential.type === 'session' || this.credentials.stands(credential, { evenExpired: true }),
      this.chats.require(onlooker, 'chat.read', chat_id),
    ]);
    if (stands.status === 'rejected') throw stands.reason;
    if (!stands.value)
      throw new AuthorityLost('The key or the grant with which this run was started has been revoked');
    if (standing.status === 'fulfilled') return standing.value;
    if (!problemOf(standing.reason)) throw standing.reason;
    throw new AuthorityLost(`${actor.name}, who started this run, has no access to its chat any more`);
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
