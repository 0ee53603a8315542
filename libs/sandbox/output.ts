import { StringDecoder } from 'node:string_decoder';
import type { OutputChunk } from './sandbox.js';

type StreamName = OutputChunk['stream'];

/** A command that writes this many times what is kept is not producing output but filling the host. */
export const FLOOD_FACTOR = 64;
/** Output without a limit is passed on; of it so many characters are kept: enough to see how it began. */
const KEPT_WITHOUT_LIMIT = 64 * 1024;

/**
 * Keeps the first bytes of a command's output, as text, and counts the rest. Characters that arrive in
 * pieces are put together per stream; bytes that are no UTF-8 become U+FFFD.
 */
export class OutputCollector {
  truncated = false;
  private readonly decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  private readonly kept: OutputChunk[] = [];
  private seenBytes = 0;
  private keptLength = 0;

  constructor(
    private readonly limitBytes: number,
    private readonly onOutput?: (chunk: OutputChunk) => void,
  ) {}

  get flooded(): boolean {
    return this.seenBytes > this.limitBytes * FLOOD_FACTOR;
  }

  add(stream: StreamName, bytes: Buffer): void {
    const room = Math.max(0, this.limitBytes - this.seenBytes);
    this.seenBytes += bytes.length;
    if (bytes.length > room) this.truncated = true;
    if (room > 0) this.emit(stream, this.decoders[stream].write(bytes.subarray(0, room)));
  }

  /** The stream is over: an unfinished character is shown as U+FFFD, unless the cut made it unfinished. */
  end(stream: StreamName): void {
    const rest = this.decoders[stream].end();
    if (!this.truncated) this.emit(stream, rest);
  }

  text(stream?: StreamName): string {
    const chunks = stream ? this.kept.filter(chunk => chunk.stream === stream) : this.kept;
    return chunks.map(chunk => chunk.text).join('');
  }

  private emit(stream: StreamName, text: string): void {
    if (text === '') return;
    this.keep({ stream, text });
    this.onOutput?.({ stream, text });
  }

  private keep(chunk: OutputChunk): void {
    if (!Number.isFinite(this.limitBytes) && this.keptLength + chunk.text.length > KEPT_WITHOUT_LIMIT) return;
    this.keptLength += chunk.text.length;
    this.kept.push(chunk);
  }
}
