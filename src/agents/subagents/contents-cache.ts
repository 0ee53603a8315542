import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Fingerprint, WorkspaceFs } from '#libs/workspace-fs/index.js';
import type { AgentsFolderContents } from './agent-guide.js';
import { pathsOf, SOURCES } from './agents-folder.js';
import { SETTLED_MS } from './reading-cache.js';

/** Most workspaces of which the contents are kept. */
const MAX_WORKSPACES = 500;
/** Most paths of a workspace that are compared: looking at more costs as much as reading them. */
const MAX_PATHS = 64;

interface Kept {
  readonly paths: readonly string[];
  readonly fingerprint: string;
  readonly contents: AgentsFolderContents;
}

/** What was read of the instructions, agents and skills of workspaces, for as long as their files stay as they are. */
@Injectable()
export class ContentsCache {
  private readonly kept = new LRUCache<string, Kept>({ max: MAX_WORKSPACES });

  /** What `read` made of the files as they are now, in this call or an earlier one. */
  async of(
    workspaceId: string,
    files: WorkspaceFs,
    read: () => Promise<AgentsFolderContents>,
  ): Promise<AgentsFolderContents> {
    const found = this.kept.get(workspaceId);
    if (found && (await files.fingerprint(found.paths)).text === found.fingerprint) return found.contents;
    this.kept.delete(workspaceId);
    const beganAt = Date.now();
    const before = await files.fingerprint(SOURCES);
    const contents = await read();
    if (isFaulty(contents)) return contents;
    const paths = pathsOf(contents);
    if (paths.length > MAX_PATHS) return contents;
    const now = await files.fingerprint(paths);
    // The sources come first in both.
    if (now.text.startsWith(`${before.text}\n`) && isSettled(now, beganAt))
      this.kept.set(workspaceId, { paths, fingerprint: now.text, contents });
    return contents;
  }
}

/** What could not be read may be readable the next time, though nothing has changed. */
function isFaulty({ findings, agents, skills }: AgentsFolderContents): boolean {
  return findings.length > 0 || [...agents, ...skills].some(({ value }) => value === null);
}

/** Whether nothing has changed since, for certain: two changes within one tick of the clock of files look like one. */
const isSettled = ({ changedAt }: Fingerprint, beganAt: number) => beganAt - changedAt > SETTLED_MS;
