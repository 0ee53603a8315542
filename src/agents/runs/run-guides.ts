import { Injectable } from '@nestjs/common';
import { CONNECTOR_TOOL } from '../../connections/connectors/index.js';
import { FileAuthorsStore } from '../../workspaces/changes/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { AgentFiles, AgentGuide, requireAgent } from '../subagents/index.js';
import type { ExecutedRun } from './run-queue.store.js';

/** Finds what runs go by: the agent of their chat, as its file in the workspace says. */
@Injectable()
export class RunGuides {
  constructor(
    private readonly agents: AgentFiles,
    private readonly workspaces: WorkspacesStore,
    private readonly authors: FileAuthorsStore,
  ) {}

  async of(run: ExecutedRun): Promise<AgentGuide> {
    const { actor, workspace_id, agent_name, tools_above, parent_id, pinned } = run;
    const isTask = parent_id !== null;
    if (workspace_id === null) return new AgentGuide(null, null, tools_above, isTask);
    const contents = await this.agents.read(actor, workspace_id);
    const agent = pinned ?? (agent_name ? requireAgent(contents.agents, agent_name) : null);
    return new AgentGuide(agent, contents, tools_above, isTask);
  }

  /** Whether a person saved the file that says what the agent may; only of interest where it names an action, or a tool of a connector. */
  async isFileTheirs(
    { actor, workspace_id, pinned }: ExecutedRun,
    { agent, file }: AgentGuide,
  ): Promise<boolean> {
    // Whoever deployed it was asked about that.
    if (pinned) return true;
    if (!workspace_id || !file || !agent?.tools.some(isNamedInFull)) return false;
    const workspace = await this.workspaces.require(actor, 'file.read', workspace_id);
    return this.authors.isSavedByPerson(workspace, file);
  }
}

/** What an agent's list names so that nobody is asked about it, where a person wrote the list. */
const isNamedInFull = (tool: string): boolean =>
  tool.startsWith('action:') || tool.startsWith(CONNECTOR_TOOL);
