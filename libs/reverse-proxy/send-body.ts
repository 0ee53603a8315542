import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Sends the body of a request on, no faster than the server takes it, and ends it. Chunks that came at once go on as one.
 * Returns what stops it: the rest of the body is dropped then.
 */
export function sendBody(
  from: IncomingMessage,
  to: ClientRequest,
  counted: (bytes: number) => void,
): () => void {
  const send = () => {
    while (!to.writableNeedDrain) {
      const data: Buffer | null = from.read();
      if (!data) return;
      counted(data.length);
      to.write(data);
    }
  };
  const end = () => void to.end();
  to.flushHeaders();
  to.on('drain', send);
  from.on('readable', send).once('end', end);
  return () => {
    to.off('drain', send);
    from.off('readable', send).off('end', end).resume();
  };
}
