import { ASK_A_PERSON, isGrave, type Limit } from '../../platform/actions/index.js';
import type { Row } from '../../platform/database/index.js';
import type { ApprovalPolicy } from '../approvals/index.js';
import type { Run } from '../runs/index.js';
import type { AgentGuide } from '../subagents/index.js';

/**
 * What a script in the sandbox of a run may not do, though its agent may, since nobody can be asked there: a policy that
 * somebody has set binds it, and what destroys or exposes takes more than a file that names it. Files can be written by
 * scripts, too, so the file counts as a person saved it. What exposes is done only in a run that they or their own program
 * started, and where all agents above name the action as well.
 */
export function limitOfScripts(
  { actor, depth, parent_id }: Pick<Row<Run>, 'actor' | 'depth' | 'parent_id'>,
  { allowlists }: AgentGuide,
  isFileTheirs: boolean,
  policy: () => ApprovalPolicy,
): Limit {
  const isStartedByThem = ['session', 'api_key'].includes(actor.credential.type);
  // An agent above that has no list of its own names nothing.
  const allNameIt = allowlists.length > depth && (parent_id === null || depth > 0);
  return ({ name, effect }) => {
    const { is_default, [effect]: verdict } = policy();
    if (!is_default && verdict === 'deny')
      return `${name} is ${effect}, and the policy of the workspace denies that`;
    if (!is_default && verdict === 'ask')
      return `${name} is ${effect} and needs an approval. ${ASK_A_PERSON}`;
    if (!isGrave(effect)) return undefined;
    const isExposing = effect === 'expose';
    const reason =
      (isExposing && !isStartedByThem && 'this run was not started by a person or their own key') ||
      (!isFileTheirs && 'the file of this agent was not last saved by a person') ||
      (isExposing && !allNameIt && 'not every agent above names it');
    if (!reason) return undefined;
    const does = isExposing ? 'opens something to others or grants rights' : 'is destructive';
    return `${name} ${does}, and ${reason}. ${ASK_A_PERSON}`;
  };
}
