import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const ID_BYTES = 16;
const MAX_COUNT = 0xffff_ffff;

/** Random bytes for ids: many at once, as each call for some takes longer than an id. */
class Entropy {
  private readonly bytes = Buffer.alloc(ID_BYTES * 256);
  private used = this.bytes.length;

  /** Of one id: good until the next call. */
  take(): Buffer {
    if (this.used === this.bytes.length) {
      randomFillSync(this.bytes);
      this.used = 0;
    }
    this.used += ID_BYTES;
    return this.bytes.subarray(this.used - ID_BYTES, this.used);
  }
}

const entropy = new Entropy();
let lastMs = 0;
let lastCount = 0;

/**
 * A new id: UUID version 7 (RFC 9562 section 5.7), so that ids sort by the time they were made; those of one millisecond by a
 * count that begins at random (section 6.2, method 1).
 */
export function newId(): string {
  const random = entropy.take();
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    lastCount = random.readUInt32BE(6) >>> 1;
  } else if (++lastCount > MAX_COUNT) {
    lastMs++;
    lastCount = 0;
  }
  return v7({ random, msecs: lastMs, seq: lastCount });
}
