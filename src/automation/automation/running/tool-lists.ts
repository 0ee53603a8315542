import { allows } from '../../../platform/actions/index.js';
import type { RunContext } from './run-context.js';

/** Commands, calls of any action and requests to other services: what a stranger would want most. */
const NAMED_ONLY = ['bash', 'actions_run', 'integration_request'];

/**
 * The lists of tools that limit a run; `known` are the names of all tools that are ours. Where strangers have a part in what came
 * in, a glob stands for our own tools but the ones above, and those of connectors: these have to be named.
 */
export function limitTools({ pinned, delivery }: RunContext, known: readonly string[]): string[][] {
  const { tools, actions } = pinned.definition;
  const given = delivery?.untrusted ? tools.flatMap(pattern => safelyNamed(pattern, known)) : tools;
  return [[...given, ...actions.map(action => `action:${action}`), 'read_input']];
}

function safelyNamed(pattern: string, known: readonly string[]): readonly string[] {
  if (!pattern.includes('*')) return [pattern];
  return known.filter(name => allows([pattern], name) && !NAMED_ONLY.includes(name));
}
