import { Injectable } from '@nestjs/common';
import {
  accessTopic,
  hashSecret,
  randomSecret,
  rolesWith,
  workspaceAccessTopic,
} from '../../../platform/access/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { TopicCache, Topics } from '../../../platform/topics/index.js';
import { HOSTED } from '../hosts/hosted-kinds.js';
import { type HostedTarget } from '../hosts/hosted-targets.js';
import { hostedAccessTopic } from './access-policies.js';
import { AccessTokensStore } from './access-tokens.store.js';

const PREFIX = 'ath_';
const TOKEN = /^ath_[\w-]{43}$/;
/** Browsers cannot set headers on WebSockets, so the token is sent as a subprotocol. */
const SUBPROTOCOL = 'atelier.access.';
const MAX_TOKENS = 5_000;
const TTL_MS = 30_000;
const DAY_MS = 24 * 3_600_000;

export const newAccessToken = (): string => PREFIX + randomSecret();

/** Tokens with which programs open a site or server. Valid while their creator could create another. */
@Injectable()
export class AccessTokens {
  private readonly tokens: TopicCache<boolean>;

  constructor(
    private readonly store: AccessTokensStore,
    topics: Topics,
  ) {
    const kinds = [accessTopic, workspaceAccessTopic, hostedAccessTopic];
    this.tokens = new TopicCache(topics, kinds, { max: MAX_TOKENS, ttlMs: TTL_MS });
  }

  /** Synchronous if cached. */
  opens(token: string, target: HostedTarget): boolean | Promise<boolean> {
    if (!TOKEN.test(token)) return false;
    return this.tokens.find(`${target.id} ${token}`, () => this.look(token, target));
  }

  private async look(token: string, target: HostedTarget): Promise<boolean> {
    const role = (await this.store.find(hashSecret(token), target))?.role;
    return !!role && rolesWith(HOSTED[target.kind].open).includes(role);
  }

  @Chore('hosted_tokens', { everyMs: DAY_MS })
  deleteEnded(): Promise<void> {
    return this.store.deleteEnded();
  }
}

/** Reads the token from the header or the WebSocket subprotocol. */
export function shownToken(headers: NodeJS.Dict<string | string[]>): string | undefined {
  const { 'x-atelier-access': header, 'sec-websocket-protocol': protocols = '' } = headers;
  if (header !== undefined) return String(header);
  if (protocols === '') return undefined;
  const names = String(protocols)
    .split(',')
    .map(name => name.trim());
  return names.find(name => name.startsWith(SUBPROTOCOL))?.slice(SUBPROTOCOL.length);
}
