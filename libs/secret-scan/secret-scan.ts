import { createHash } from 'node:crypto';
import { MAX_MATCH, RULES } from './rules.js';

export interface FoundSecret {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly rule: string;
  readonly fingerprint: string;
}

/** Findings of one file; more say nothing new. */
const MAX_FINDINGS = 100;
const SAMPLE_BYTES = 1024;

/** Scans one file, whose chunks are given in their order. */
export class SecretScan {
  private readonly found: FoundSecret[] = [];
  private decode: ((chunk: Buffer, isLast: boolean) => string) | undefined;
  private text = '';
  private line = 1;

  constructor(private readonly path: string) {}

  add(chunk: Buffer): void {
    this.decode ??= decoderFor(chunk);
    this.text += this.decode(chunk, false);
    // What begins near the end may go on in the next chunk.
    this.scan(Math.max(0, this.text.length - MAX_MATCH));
  }

  end(): FoundSecret[] {
    this.text += this.decode?.(Buffer.alloc(0), true) ?? '';
    this.scan(this.text.length);
    return this.found.sort((a, b) => a.line - b.line);
  }

  /** Reports what begins before `end`, and forgets the text up to there. */
  private scan(end: number): void {
    const starts: [number, string, string][] = [];
    for (const { name, pattern, isSecret } of RULES)
      for (const match of this.text.matchAll(pattern)) {
        if (match.index >= end) break;
        const secret = match[1] ?? match[0];
        if (!isSecret || isSecret(secret)) starts.push([match.index, name, secret]);
      }
    let at = 0;
    for (const [start, rule, secret] of starts.sort(([a], [b]) => a - b)) {
      this.line += newlines(this.text, at, start);
      at = start;
      if (this.found.length < MAX_FINDINGS) this.found.push(this.finding(rule, secret));
    }
    this.line += newlines(this.text, at, end);
    this.text = this.text.slice(end);
  }

  private finding(rule: string, secret: string): FoundSecret {
    const hash = createHash('sha256').update(JSON.stringify([this.path, rule, secret]));
    return { path: this.path, line: this.line, rule, fingerprint: hash.digest('hex').slice(0, 32) };
  }
}

function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** Secrets are ASCII: whatever is not UTF-16 is read byte by byte. */
function decoderFor(first: Buffer): (chunk: Buffer, isLast: boolean) => string {
  const encoding = utf16Of(first);
  if (!encoding) return chunk => chunk.toString('latin1');
  const decoder = new TextDecoder(encoding);
  return (chunk, isLast) => decoder.decode(chunk, { stream: !isLast });
}

function utf16Of(first: Buffer): 'utf-16le' | 'utf-16be' | null {
  if (first[0] === 0xff && first[1] === 0xfe) return 'utf-16le';
  if (first[0] === 0xfe && first[1] === 0xff) return 'utf-16be';
  const sample = first.subarray(0, SAMPLE_BYTES);
  let [even, odd] = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) index % 2 ? odd++ : even++;
  const most = sample.length / 4;
  if (odd > most && even < odd / 4) return 'utf-16le';
  return even > most && odd < even / 4 ? 'utf-16be' : null;
}
