import type { FastifyReply } from 'fastify';
import { problemOf } from '../../platform/http/problem.js';
import { EventStream } from '../../platform/http/sse.js';
import type { ToolContext } from './tool.js';
import type { ToolRunView } from './tools.dto.js';

type Run = (hooks: Pick<ToolContext, 'signal' | 'onOutput'>) => Promise<ToolRunView>;

/** Runs a tool while its client watches: `tool.output` events as it writes, then `tool.finished`. */
export async function streamTool(reply: FastifyReply, run: Run): Promise<void> {
  const stream = EventStream.start(reply);
  let id = 0;
  let sent = Promise.resolve();
  const send = (event: string, data: unknown) => {
    const events = [{ id: ++id, event, data }];
    sent = sent.then(() => stream.send(events));
    return sent;
  };
  try {
    const onOutput = (text: string) => void send('tool.output', { text });
    await send('tool.finished', await run({ signal: stream.signal, onOutput }));
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
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
