import { Field } from '../../platform/dto/index.js';
import { WorkspaceId } from '../core/index.js';

const MEANING = {
  agents: 'Messages to agents, and their runs',
  mcp: 'The workspace over MCP: its files, tools, chats and actions at /mcp',
  sandbox: 'Commands in the sandbox, of people and of agents',
  sharing: 'Share links and file invitations: making them, and what they open',
};

export class UpdateFeatures extends WorkspaceId {
  @Field.boolean(MEANING.agents, { optional: true })
  agents?: boolean;

  @Field.boolean(MEANING.mcp, { optional: true })
  mcp?: boolean;

  @Field.boolean(MEANING.sandbox, { optional: true })
  sandbox?: boolean;

  @Field.boolean(MEANING.sharing, { optional: true, shown: true })
  sharing?: boolean;
}

export class FeaturesView {
  @Field.boolean(MEANING.agents)
  agents: boolean;

  @Field.boolean(MEANING.mcp)
  mcp: boolean;

  @Field.boolean(MEANING.sandbox)
  sandbox: boolean;

  @Field.boolean(MEANING.sharing)
  sharing: boolean;
}
