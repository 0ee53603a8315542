import { readdirSync, readFileSync, statSync } from 'node:fs';

/** Everything below looks at processes that may end at any moment, which answers with these. */
const goneCodes = new Set(['ENOENT', 'ESRCH', 'ENOTDIR']);

function orIfGone<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if (goneCodes.has((error as NodeJS.ErrnoException).code ?? '')) return otherwise;
    throw error;
  }
}

/** A process and all its descendants; in a pid namespace, from its first process, that is everyone. */
export function processTree(root: number): number[] {
  const tree = [root];
  for (const pid of tree) tree.push(...childrenOf(pid));
  return tree;
}

function childrenOf(pid: number): number[] {
  const threads = orIfGone(() => readdirSync(`/proc/${pid}/task`), []);
  return threads.flatMap(thread => {
    const children = orIfGone(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'), '');
    return children.split(' ').filter(Boolean).map(Number);
  });
}

/** Memory that a process holds and the kernel cannot take back: anonymous, shared, swapped out, page tables. */
export function heldBytes(pid: number): number {
  const status = orIfGone(() => readFileSync(`/proc/${pid}/status`, 'utf8'), '');
  const fields = status.matchAll(/^(?:RssAnon|RssShmem|VmSwap|VmPTE):\s+(\d+) kB$/gm);
  return Array.from(fields).reduce((sum, field) => sum + Number(field[1]) * 1024, 0);
}

/** How many processes and threads a user has, the ended ones that nobody has reaped included. */
export function countTasks(uid: number): number {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return pids.reduce((sum, pid) => sum + orIfGone(() => tasksIfOwned(pid, uid), 0), 0);
}

function tasksIfOwned(pid: string, uid: number): number {
  return statSync(`/proc/${pid}`).uid === uid ? readdirSync(`/proc/${pid}/task`).length : 0;
}
