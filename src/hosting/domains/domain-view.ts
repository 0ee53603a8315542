import { isoOrNull } from '../../platform/database/index.js';
import type { DomainView } from './domains.dto.js';
import type { DomainRow } from './domains.store.js';
import { recordOf } from './host-proofs.js';

export const viewOf = ({ name, state, proof, problem, checked_at, verified_at }: DomainRow): DomainView => ({
  host: name,
  state,
  record: recordOf(name, proof ?? ''),
  problem,
  checked_at: isoOrNull(checked_at),
  verified_at: isoOrNull(verified_at),
});
