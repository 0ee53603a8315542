import { defineEvent } from '../../../platform/events/index.js';
import { type HostedKind } from '../hosts/hosting-domain.js';

export interface DomainIds {
  readonly kind: HostedKind;
  readonly target_id: string;
  readonly host: string;
}

/** The record of a served host was not found, for the first time. */
export const domainFailing = defineEvent<DomainIds>('domain.failing');
/** A host is no longer served. */
export const domainFailed = defineEvent<DomainIds>('domain.failed');
