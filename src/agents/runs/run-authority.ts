import { Injectable } from '@nestjs/common';
import { Credentials } from '../../platform/access/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { ChatsStore } from '../chats/index.js';
import type { RunRow } from './run.js';

/** Whoever started the run may not have it run any more. */
export class AuthorityLost extends Error {}

const AGENTS_OFF = 'The feature agents is turned off in this workspace';

/**
 * Whether a run still has the authority that it was started with. The database marks runs for which that may have
 * changed, when a key is revoked or a member is removed or gets another role, and wakes whoever carries them. A lower role
 * alone ends nothing: each call is refused what it lacks.
 */
@Injectable()
export class RunAuthority {
  constructor(
    private readonly chats: ChatsStore,
    private readonly credentials: Credentials,
  ) {}

  /** Throws AuthorityLost, saying why; nothing has to be asked for a run that is not marked. */
  async require({
    actor,
    chat_id,
    authority_changed,
  }: Pick<RunRow, 'actor' | 'chat_id' | 'authority_changed'>): Promise<void> {
    if (!authority_changed) return;
    // A session is renewed, so what it started outlives it.
    if (actor.credential.type !== 'session' && !(await this.credentials.stands(actor.credential)))
      throw new AuthorityLost(
        'The key or the grant with which this run was started has been revoked or has run out',
      );
    try {
      const { features_off } = await this.chats.require(actor, 'chat.read', chat_id);
      if (features_off.includes('agents')) throw new AuthorityLost(AGENTS_OFF);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      throw new AuthorityLost(`${actor.name}, who started this run, has no access to its chat any more`);
    }
  }
}
