import { Injectable } from '@nestjs/common';
import type { UnitOfWork } from '../database/index.js';

/** Something that happened; its payload is ids. */
export interface EventKind<Payload extends object> {
  readonly name: string;
  /** Only here for the type of the payload. */
  readonly payload?: Payload;
}

export function defineEvent<Payload extends object>(name: string): EventKind<Payload> {
  return { name };
}

type Handler = (unit: UnitOfWork, payload: never) => Promise<void>;

/**
 * How a feature publishes what happens to those above it, without knowing them. Handlers run inside the publisher's
 * transaction: they add rows and jobs that commit with it, and leave slow work to the jobs.
 */
@Injectable()
export class Events {
  private readonly handlers = new Map<string, Handler[]>();

  on<P extends object>(kind: EventKind<P>, handler: (unit: UnitOfWork, payload: P) => Promise<void>): void {
    this.handlers.set(kind.name, [...(this.handlers.get(kind.name) ?? []), handler as Handler]);
  }

  async publish<P extends object>(unit: UnitOfWork, kind: EventKind<P>, payload: P): Promise<void> {
    for (const handler of this.handlers.get(kind.name) ?? []) await handler(unit, payload as never);
  }
}
