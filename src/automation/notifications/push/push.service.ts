import { createECDH } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { type Actor, requireScope } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Database } from '../../../platform/database/index.js';
import { DeletedView } from '../../../platform/dto/index.js';
import { Conflict, Forbidden, Invalid, NotFound } from '../../../platform/errors/index.js';
import { requireReachable } from '../channels/outgoing.js';
import {
  CreatePushSubscription,
  DeletePushSubscription,
  PushKeyView,
  PushSubscriptionView,
} from './push.dto.js';
import { SubscriptionsStore } from './subscriptions.store.js';
import { PUSH_IS_OFF, VapidKeys } from './vapid-keys.js';

const CURVE = 'prime256v1';
const AUTH_BYTES = 16;

/** Browsers of a person that get their notifications, also while no page is open. */
@Injectable()
export class PushService {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: SubscriptionsStore,
    private readonly vapid: VapidKeys,
    private readonly outgoing: GuardedFetch,
  ) {}

  @Action('push_key_get', 'GET /api/notifications/push/key', {
    summary: 'Get the key with which browsers are subscribed to notifications',
    permission: 'notification.read',
    input: null,
    output: PushKeyView,
  })
  async key(actor: Actor): Promise<PushKeyView> {
    requireScope(actor, 'notification.read');
    if (!this.vapid.subject) return { key: null, reason: PUSH_IS_OFF };
    return { key: (await this.vapid.pair()).publicKey, reason: null };
  }

  @Action('push_subscription_create', 'POST /api/notifications/push', {
    summary:
      'Subscribe a browser to your notifications; what it got before for somebody else, it gets no more',
    permission: 'preference.update',
    personOnly: true,
    input: CreatePushSubscription,
    output: PushSubscriptionView,
    commitsAnswer: true,
    refuses: { 409: 'There is no push here; or: the endpoint is known with other keys' },
  })
  async subscribe(actor: Actor, { endpoint, keys }: CreatePushSubscription): Promise<PushSubscriptionView> {
    requireScope(actor, 'preference.update');
    requireUnbound(actor);
    refuseInvalidKeys(keys);
    requireReachable(this.outgoing, endpoint, 'endpoint');
    if (!this.vapid.subject) throw new Conflict(PUSH_IS_OFF);
    return this.database.transaction(async unit =>
      unit.answers({ id: await this.subscriptions.put(unit, actor.id, { endpoint, keys }), endpoint }),
    );
  }

  @Action('push_subscription_delete', 'DELETE /api/notifications/push', {
    summary: 'End the subscription of a browser of yours',
    permission: 'preference.update',
    input: DeletePushSubscription,
    output: DeletedView,
  })
  async unsubscribe(actor: Actor, { endpoint }: DeletePushSubscription): Promise<DeletedView> {
    requireScope(actor, 'preference.update');
    return this.database.transaction(async unit => {
      const id = await this.subscriptions.delete(unit, actor.id, { endpoint });
      if (!id) throw new NotFound('No such subscription');
      return DeletedView.of(id);
    });
  }
}

/** A subscription receives every notification of its person. */
function requireUnbound({ type, credential }: Actor): void {
  if (type !== 'user') throw new Forbidden('A service account gets no notifications');
  if (credential.organization_id)
    throw new Forbidden('This key sees not everything that you are notified of; use one that is not limited');
}

/** Refuses keys that nothing can be encrypted with (RFC 8291). */
function refuseInvalidKeys({ p256dh, auth }: CreatePushSubscription['keys']): void {
  const own = createECDH(CURVE);
  own.generateKeys();
  try {
    own.computeSecret(Buffer.from(p256dh, 'base64url'));
  } catch {
    throw new Invalid('keys.p256dh must be the public key that the browser gave');
  }
  if (Buffer.from(auth, 'base64url').length !== AUTH_BYTES)
    throw new Invalid('keys.auth must be the secret that the browser gave');
}
