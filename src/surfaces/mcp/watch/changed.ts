import type { ListName } from '#libs/mcp-http/index.js';
import type { ServerEvent } from '../../../platform/streams/index.js';
import type { ChangeView } from '../../../workspaces/changes/index.js';

type Change = Pick<ChangeView, 'path' | 'from' | 'kind'>;

/** What a batch of a workspace's log tells; undefined where changes are not kept any more, so that anything may be another. */
export function changesOf(batch: readonly ServerEvent[]): Change[] | undefined {
  if (batch.some(({ event }) => event === 'reset')) return undefined;
  return batch.map(({ data }) => data as ChangeView);
}

/** Whether what a client reads at `path` is another after the change: a file that is it, or an entry of a folder. */
export function isChangedBy(path: string, change: Change): boolean {
  return pathsOf(change).some(
    each => each === path || parentOf(each) === path || path.startsWith(`${each}/`),
  );
}

/** Whether the list is another after the change: of resources, what is at the top; of prompts, the agents. */
export function changesLists(list: ListName, change: Change): boolean {
  if (list === 'prompts')
    return pathsOf(change).some(path => path.startsWith('.agents/') || path === '.agents');
  return change.kind !== 'modified' && pathsOf(change).some(path => !path.includes('/'));
}

const pathsOf = ({ path, from }: Change): string[] => (from === null ? [path] : [path, from]);
const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
