import { Field } from '../../platform/dto/index.js';
import { AGENT_NAME } from '../subagents/index.js';
import { ToolView } from '../tools/index.js';

export class ListAgentTools {
  @Field.id('The workspace')
  workspace_id: string;

  @Field.text('As this subagent of the workspace may use them; absent: as the default assistant', {
    ...AGENT_NAME,
    optional: true,
  })
  agent_name?: string;
}

export class AgentToolView extends ToolView {
  @Field.boolean('Whether only agents can call it, and not `POST …/tools/{name}`', { example: false })
  agents_only: boolean;

  @Field.text("The name or glob of the agent's list that allows it; null: no list limits it, or none does", {
    nullable: true,
    example: 'read_*',
  })
  allowed_by: string | null;
}

export class AgentToolListView {
  @Field.object('The tools', () => AgentToolView, { list: true })
  items: AgentToolView[];
}
