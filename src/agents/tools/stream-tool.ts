import { problemOf } from '../../platform/errors/index.js';
import type { EventStream } from '../../platform/streams/index.js';
import type { ToolContext } from './tool.js';
import type { ToolRunView } from './tools.dto.js';

type Run = (hooks: Pick<ToolContext, 'signal' | 'onOutput'>) => Promise<ToolRunView>;

/** Runs a tool while its client watches: `tool.output` events as it writes, then `tool.finished`. */
export async function streamTool(stream: EventStream, run: Run): Promise<void> {
  let id = 0;
  let sent = Promise.resolve();
  const send = (event: string, data: unknown) => stream.send([{ id: ++id, event, data }]);
  try {
    // What a client is too slow for it finds in the result.
    const onOutput = (text: string) => {
      if (!stream.isFull) sent = send('tool.output', { text });
    };
    const result = await run({ signal: stream.signal, onOutput });
    await sent;
    await send('tool.finished', result);
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
    await sent;
    // The answer has begun, so a status is too late.
    await send('tool.finished', {
      output: problem.detail,
      is_error: true,
      duration_ms: 0,
      new_session: null,
    });
  } finally {
    stream.end();
  }
}
