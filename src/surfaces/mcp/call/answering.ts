import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { problemOf } from '../../../platform/errors/index.js';
import type { Log } from '../../../platform/log/index.js';

/** Runs a handler of the protocol. A refusal keeps its sentence; a fault of ours is logged, and the client sees nothing of it. */
export async function answering<T>(log: Log, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const problem = problemOf(error);
    if (problem) throw new ProtocolError(ProtocolErrorCode.InvalidParams, problem.detail);
    log.error({ err: error }, 'MCP request failed');
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal server error');
  }
}
