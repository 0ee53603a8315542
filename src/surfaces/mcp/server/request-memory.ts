import {
  createRequestStateCodec,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import { callOf } from '#libs/mcp-http/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import type { McpCall } from '../call/mcp-call.js';

/** As long as a person may take to answer. */
const LIFE_SECONDS = 15 * 60;

/**
 * What a client is given to bring back with the answers to what it was asked (`requestState`, 2026-07-28): signed, and good
 * for the same person and the same method only.
 */
@Injectable()
export class RequestMemory {
  private readonly seal: Seal;

  constructor(vault: Vault) {
    this.seal = vault.seal('mcp request state');
  }

  close(value: unknown, context: ServerContext): Promise<string> {
    const [current] = this.codecs();
    if (!current) throw new Error('There is no key');
    return current.mint(value, context);
  }

  /** Rejects what was not closed here for this caller, or is too old. */
  async open(closed: string, context: ServerContext): Promise<unknown> {
    const attempts = await Promise.allSettled(this.codecs().map(codec => codec.verify(closed, context)));
    const opened = attempts.find(({ status }) => status === 'fulfilled') ?? attempts[0];
    if (opened?.status === 'fulfilled') return opened.value;
    throw opened?.reason;
  }

  /** One for each key that may have signed, the current one first. */
  private codecs(): RequestStateCodec[] {
    return this.seal.keys().map(key =>
      createRequestStateCodec({
        key: new Uint8Array(key),
        ttlSeconds: LIFE_SECONDS,
        bind: ({ mcpReq, http }) => `${mcpReq.method} ${callOf<McpCall>(http?.authInfo)?.actor.id ?? ''}`,
      }),
    );
  }
}
