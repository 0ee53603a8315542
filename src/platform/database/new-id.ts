import { v7 } from 'uuid';

/** A new id: UUID version 7 (RFC 9562 section 5.7), so that ids sort by the time they were made. */
export function newId(): string {
  return v7();
}
