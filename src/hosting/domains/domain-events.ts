import { defineEvent } from '../../platform/events/index.js';
import type { HostedKind } from '../hosts/index.js';

/** The host of a site or a server, by its name and what it leads to. */
export interface DomainIds {
  readonly kind: HostedKind;
  readonly target_id: string;
  readonly host: string;
}

/** The record of a host that is served is not found any more, for the first time. */
export const domainFailing = defineEvent<DomainIds>('domain.failing');
/** A host is served no more. */
export const domainFailed = defineEvent<DomainIds>('domain.failed');
