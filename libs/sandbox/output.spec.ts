import { OutputCollector } from './output.js';
import type { OutputChunk } from './sandbox.js';

function collect(limit: number): { collector: OutputCollector; chunks: OutputChunk[] } {
  const chunks: OutputChunk[] = [];
  return { collector: new OutputCollector(limit, chunk => chunks.push(chunk)), chunks };
}

describe('OutputCollector', () => {
  it('puts characters together that arrive in pieces, per stream', () => {
    const { collector, chunks } = collect(100);
    const euro = Buffer.from('€');
    collector.add('stdout', euro.subarray(0, 1));
    collector.add('stderr', Buffer.from('x'));
    collector.add('stdout', euro.subarray(1));
    expect(chunks).toEqual([
      { stream: 'stderr', text: 'x' },
      { stream: 'stdout', text: '€' },
    ]);
  });

  it('keeps the first bytes of both streams together and counts on', () => {
    const { collector } = collect(4);
    collector.add('stdout', Buffer.from('abc'));
    collector.add('stderr', Buffer.from('def'));
    collector.add('stdout', Buffer.from('ghi'));
    expect(collector.text()).toBe('abcd');
    expect(collector.text('stderr')).toBe('d');
    expect(collector.truncated).toBe(true);
    expect(collector.flooded).toBe(false);
  });

  it('drops a character that the limit cuts in two', () => {
    const { collector } = collect(4);
    collector.add('stdout', Buffer.from('ab€'));
    collector.end('stdout');
    expect(collector.text()).toBe('ab');
  });

  it('shows an unfinished character at the end, and bytes that are no text, as replacement characters', () => {
    const { collector } = collect(100);
    collector.add('stdout', Buffer.from([0x61, 0xff, 0xe2, 0x82]));
    collector.end('stdout');
    expect(collector.text()).toBe('a\ufffd\ufffd');
  });

  it('calls 64 times the limit a flood', () => {
    const { collector } = collect(1);
    collector.add('stdout', Buffer.alloc(64));
    expect(collector.flooded).toBe(false);
    collector.add('stdout', Buffer.alloc(1));
    expect(collector.flooded).toBe(true);
  });

  it('passes everything on and keeps only the beginning without a limit', () => {
    const { collector, chunks } = collect(Number.POSITIVE_INFINITY);
    collector.add('stderr', Buffer.from('began'));
    collector.add('stdout', Buffer.alloc(100_000, 'x'));
    expect(chunks).toHaveLength(2);
    expect(collector.text()).toBe('began');
    expect([collector.truncated, collector.flooded]).toEqual([false, false]);
  });
});
