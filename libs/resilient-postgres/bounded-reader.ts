import { BufferReader } from 'pg-protocol/dist/buffer-reader.js';

interface Position {
  readonly buffer: Buffer;
  readonly offset: number;
}

let isBounded = false;

/**
 * Makes the parser of `pg` refuse to read behind the end of what it was sent. It reads the fields of an error or a notice up to
 * a zero byte (PostgreSQL, 54.8 "Error and Notice Message Fields"); where that byte arrives changed it would read for ever, and
 * with it the whole process.
 */
export function boundReader(): void {
  if (isBounded) return;
  isBounded = true;
  const { prototype } = BufferReader;
  for (const name of ['string', 'cstring'] as const) {
    const read = prototype[name] as (length?: number) => string;
    Object.assign(prototype, {
      [name](this: Position, length?: number) {
        const text = read.call(this, length);
        if (this.offset > this.buffer.length) throw new RangeError('A message of the database has no end');
        return text;
      },
    });
  }
}
