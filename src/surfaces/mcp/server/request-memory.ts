import { hkdfSync } from 'node:crypto';
import {
  createRequestStateCodec,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import { TokenKey } from '../../../identity/sessions/index.js';
import type { McpCall } from '../call/mcp-call.js';

/** As long as a person may take to answer. */
const LIFE_SECONDS = 15 * 60;

/**
 * What a client is given to bring back with the answers to what it was asked (`requestState`, 2026-07-28): signed, and good
 * for the same person and the same method only.
 */
@Injectable()
export class RequestMemory {
  private codec: RequestStateCodec | undefined;

  constructor(private readonly key: TokenKey) {}

  close(value: unknown, context: ServerContext): Promise<string> {
    return this.current().mint(value, context);
  }

  /** Rejects what was not closed here for this caller, or is too old. */
  open(closed: string, context: ServerContext): Promise<unknown> {
    return this.current().verify(closed, context);
  }

  /** The installation knows its key once modules are initialised. */
  private current(): RequestStateCodec {
    this.codec ??= createRequestStateCodec({
      key: new Uint8Array(hkdfSync('sha256', this.key.value, '', 'atelier mcp request state', 32)),
      ttlSeconds: LIFE_SECONDS,
      bind: ({ mcpReq, http }) => `${mcpReq.method} ${callOf(http?.authInfo)?.actor.id ?? ''}`,
    });
    return this.codec;
  }
}

/** The call that our own way in put beside the credential. */
export const callOf = (authInfo: { extra?: Record<string, unknown> } | undefined): McpCall | undefined =>
  authInfo?.extra?.call as McpCall | undefined;
