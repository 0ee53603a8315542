import { Inject, Injectable } from '@nestjs/common';
import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/actor.js';
import { Invalid, NotFound } from '../../platform/http/problem.js';
import { WorkspaceFolders, WorkspacesStore } from '../../workspaces/index.js';
import { parseSubagent, type Subagent, SubagentSyntaxError } from './subagent.js';

/** Where a workspace keeps its agents. */
const FOLDERS = ['.agents', '.agents/agents'];
const MOST_BYTES = 256 * 1024;

/** The agents that a workspace defines in its `.agents/` folder. */
@Injectable()
export class SubagentsService {
  constructor(
    @Inject(WorkspacesStore) private readonly workspaces: WorkspacesStore,
    @Inject(WorkspaceFolders) private readonly folders: WorkspaceFolders,
  ) {}

  /** The agent called `name`: 404 where no file defines it, 422 where its file is not valid. */
  async require(actor: Actor, workspaceId: string, name: string): Promise<Subagent> {
    const workspace = await this.workspaces.require(actor, 'file.read', workspaceId);
    const files = this.folders.open(workspace);
    const faults: string[] = [];
    for (const path of await definitions(files)) {
      const agent = await readDefinition(files, path, fault => faults.push(fault));
      if (agent?.name === name) return agent;
    }
    const fault = faults.find(text => text.includes(`/${name}.md:`));
    if (fault) throw new Invalid(`agent_name: ${fault}`);
    throw new NotFound(`No agent "${name}" is defined in the .agents/ folder of this workspace`);
  }
}

async function definitions(files: WorkspaceFs): Promise<string[]> {
  const found: string[] = [];
  for (const folder of FOLDERS) {
    try {
      const { entries } = await files.list(folder, { limit: 1000 });
      found.push(
        ...entries
          .filter(({ path, type }) => type === 'file' && path.endsWith('.md'))
          .map(({ path }) => path),
      );
    } catch (error) {
      if (!(error instanceof WorkspaceFsError)) throw error;
    }
  }
  return found;
}

async function readDefinition(
  files: WorkspaceFs,
  path: string,
  onFault: (fault: string) => void,
): Promise<Subagent | undefined> {
  try {
    const { content } = await files.readText(path, { max_bytes: MOST_BYTES });
    return parseSubagent(path.split('/').at(-1) ?? path, content);
  } catch (error) {
    if (!(error instanceof SubagentSyntaxError || error instanceof WorkspaceFsError)) throw error;
    onFault(`${path}: ${error.message}`);
    return undefined;
  }
}
