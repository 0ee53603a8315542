import { Injectable, OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { type Notification } from '../types/notification.js';
import { PREFERRED_CHANNEL_NAMES } from '../types/types.js';

/** It is read, and nothing is sent. */
const INBOX = 'in_app';

export interface Delivery {
  /** The same in every attempt, so that a receiver can know a second copy as one. */
  readonly id: string;
  /** One of those that `targets` named. */
  readonly target: string;
  readonly userId: string;
  /** One; several where it is a digest (`modes` of the channel), oldest first. */
  readonly notifications: readonly Notification[];
}

/** Where a person gets something; with a reason, for them to read, where that is nowhere. */
export type Targets =
  | { readonly targets: readonly string[] }
  | { readonly targets: readonly []; readonly reason: string };

/** What is to be written in the transaction that marks a delivery as sent. */
export type HandOver = (unit: UnitOfWork) => Promise<void>;

/**
 * The target may take it later: it is tried again after the next of the channel's `retryDelays`. Where the target itself asks to
 * wait longer (`retryAfterMs` of `libs/guarded-fetch`), it is given that time, see {@link delayOf}.
 */
export class RetryLater extends Error {
  constructor(
    reason: string,
    readonly askedMs?: number,
  ) {
    super(reason);
  }
}

/** What a target asks for is granted up to here. */
const MAX_ASKED_MS = 10 * 3_600_000;

/** How long before the next attempt: as planned, and not before the time that the target asked for. */
export const delayOf = (plannedMs: number, askedMs = 0): number =>
  Math.max(plannedMs, Math.min(askedMs, MAX_ASKED_MS));

/** The target will never take anything again. The channel has forgotten it. */
export class TargetGone extends Error {}

/**
 * A way by which notifications reach people or their programs, besides the inbox.
 *
 * A channel knows targets and how to send; whether something is sent is decided before: the person's access to what it is
 * about, preferences and quiet hours are checked when it happens and again before each attempt.
 *
 * `targets` is asked inside a transaction and again before each attempt: a target that it no longer names is not sent to.
 * It does nothing outside the database, and asks that once for all that it is given, which are notifications of one thing for
 * many people.
 *
 * `send` is called outside any transaction, perhaps by several processes for different deliveries, and perhaps again for
 * one whose process was lost: the id of the delivery is the receiver's way to know it. It
 * - resolves with nothing when the target has it;
 * - resolves with a {@link HandOver} where the channel has a queue of its own (mail): that is committed together with the
 *   mark that it was sent, so it happens once;
 * - throws {@link RetryLater} or {@link TargetGone}; their messages are kept as the reason, and hold no secrets;
 * - throws anything else for a fault of ours, which is logged and tried again as any job is.
 */
export abstract class NotificationChannel {
  /** Kept with each delivery: never change it. A name of `PREFERRED_CHANNELS` is subject to people's preferences. */
  abstract readonly name: string;
  /** Milliseconds before each further attempt; after the last one a delivery has failed. */
  abstract readonly retryDelays: readonly number[];
  /** Whether it reaches a person directly, so that quiet hours hold it back. */
  abstract readonly disturbs: boolean;

  /** In the order of the notifications. */
  abstract targets(unit: UnitOfWork, notifications: readonly Notification[]): Promise<Targets[]>;
  abstract send(delivery: Delivery): Promise<HandOver | undefined>;
}

/** All channels: every provider that is one. */
@Injectable()
export class NotificationChannels implements OnModuleInit {
  private readonly channels = new Map<string, NotificationChannel>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const { instance } of this.discovery.getProviders()) {
      if (!(instance instanceof NotificationChannel)) continue;
      if (this.channels.has(instance.name)) throw new Error(`Two channels are called ${instance.name}`);
      this.channels.set(instance.name, instance);
    }
    const absent = PREFERRED_CHANNEL_NAMES.filter(name => name !== INBOX && !this.channels.has(name));
    if (absent.length > 0) throw new Error(`No provider is the channel ${absent.join(', ')}`);
  }

  get all(): NotificationChannel[] {
    return [...this.channels.values()];
  }

  /** Throws for one of another version, whose processes send what is theirs. */
  get(name: string): NotificationChannel {
    const channel = this.channels.get(name);
    if (!channel) throw new Error(`This version has no channel ${name}`);
    return channel;
  }
}
