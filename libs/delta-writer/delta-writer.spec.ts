import { describe, expect, it, jest } from '@jest/globals';
import { DeltaWriter, type StreamedEvent } from './delta-writer.js';

/** A journal whose writes end when they are told to. */
class Journal {
  readonly written: StreamedEvent[][] = [];
  private readonly ends: { resolve: () => void; reject: (error: unknown) => void }[] = [];

  readonly write = (events: StreamedEvent[]): Promise<void> => {
    this.written.push(events);
    return new Promise((resolve, reject) => this.ends.push({ resolve, reject }));
  };

  end(): void {
    this.ends.shift()?.resolve();
  }

  fail(error: unknown): void {
    this.ends.shift()?.reject(error);
  }
}

const delta = (text: string, step = 1): StreamedEvent => ({ type: 'text.delta', data: { step, text } });
const never = () => {
  throw new Error('no fault was to be expected');
};

describe('DeltaWriter', () => {
  it('writes what comes first at once, and together what comes meanwhile', async () => {
    const journal = new Journal();
    const deltas = new DeltaWriter(journal.write, never);
    deltas.add('text.delta', 'a', { step: 1 });
    await new Promise(setImmediate);
    expect(journal.written).toEqual([[delta('a')]]);
    for (const text of ['b', 'c']) deltas.add('text.delta', text, { step: 1 });
    expect(journal.written).toEqual([[delta('a')]]);
    const settled = deltas.settle();
    journal.end();
    await Promise.resolve();
    await new Promise(setImmediate);
    expect(journal.written).toEqual([[delta('a')], [delta('bc')]]);
    journal.end();
    await settled;
  });

  it('writes what is left after a pause, without being asked', async () => {
    const written: StreamedEvent[][] = [];
    const seen = new Promise<void>(resolve => {
      const deltas = new DeltaWriter(async events => {
        written.push(events);
        if (written.length === 1) deltas.add('text.delta', 'b', { step: 1 });
        else resolve();
      }, never);
      deltas.add('text.delta', 'a', { step: 1 });
    });
    await seen;
    expect(written).toEqual([[delta('a')], [delta('b')]]);
  });

  it('writes what nobody watches after a pause, without being asked', async () => {
    const written: StreamedEvent[][] = [];
    await new Promise<void>(resolve => {
      const write = async (events: StreamedEvent[]) => {
        written.push(events);
        resolve();
      };
      const deltas = new DeltaWriter(write, never, () => false);
      deltas.add('text.delta', 'a', { step: 1 });
    });
    expect(written).toEqual([[delta('a')]]);
  });

  it('hands over what nobody watches without writing it', async () => {
    const deltas = new DeltaWriter(never, never, () => false);
    deltas.add('text.delta', 'a', { step: 1 });
    expect(await deltas.handOver()).toEqual([delta('a')]);
  });

  it('keeps apart what belongs to different things, in order', async () => {
    const written: StreamedEvent[] = [];
    const deltas = new DeltaWriter(async events => void written.push(...events), never);
    deltas.add('text.delta', 'a', { step: 1 });
    deltas.add('text.delta', 'b', { step: 2 });
    deltas.add('reasoning.delta', 'c', { step: 2 });
    deltas.add('reasoning.delta', 'd', { step: 2 });
    deltas.add('tool.output', 'e', { id: 'x' });
    deltas.add('tool.output', 'f', { id: 'y' });
    await deltas.settle();
    expect(written).toEqual([
      delta('a'),
      delta('b', 2),
      { type: 'reasoning.delta', data: { step: 2, text: 'cd' } },
      { type: 'tool.output', data: { id: 'x', text: 'e' } },
      { type: 'tool.output', data: { id: 'y', text: 'f' } },
    ]);
  });

  it('loses nothing of a flood, and keeps events of a bearable size', async () => {
    const written: StreamedEvent[] = [];
    const deltas = new DeltaWriter(async events => void written.push(...events), never);
    const pieces = Array.from({ length: 5_000 }, (_, n) => `piece ${n} `);
    for (const piece of pieces) deltas.add('text.delta', piece, { step: 1 });
    await deltas.settle();
    expect(written.map(({ data }) => data.text).join('')).toBe(pieces.join(''));
    for (const { data } of written) expect(String(data.text).length).toBeLessThanOrEqual(16_384);
  });

  it('forgets what is not written when the step begins anew, after what is on its way', async () => {
    const journal = new Journal();
    const deltas = new DeltaWriter(journal.write, never);
    const restarted: StreamedEvent = { type: 'step.restarted', data: { step: 1 } };
    deltas.add('text.delta', 'wrong ', { step: 1 });
    await new Promise(setImmediate);
    deltas.add('text.delta', 'beginning', { step: 1 });
    deltas.restart(restarted);
    deltas.add('text.delta', 'right', { step: 1 });
    expect(journal.written).toEqual([[delta('wrong ')]]);
    const settled = deltas.settle();
    journal.end();
    await new Promise(setImmediate);
    journal.end();
    await settled;
    expect(journal.written).toEqual([[delta('wrong ')], [restarted, delta('right')]]);
  });

  it('tells of a write that failed at once, and to who waits, and writes no more', async () => {
    const journal = new Journal();
    const onFault = jest.fn();
    const deltas = new DeltaWriter(journal.write, onFault);
    const fault = new Error('the database is gone');
    deltas.add('text.delta', 'a', { step: 1 });
    await new Promise(setImmediate);
    journal.fail(fault);
    await new Promise(setImmediate);
    expect(onFault).toHaveBeenCalledWith(fault);
    deltas.add('text.delta', 'b', { step: 1 });
    await expect(deltas.settle()).rejects.toBe(fault);
    expect(journal.written).toEqual([[delta('a')]]);
  });

  it('settles at once when there is nothing to write', async () => {
    await new DeltaWriter(never, never).settle();
  });
});
